package install

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
)

// rangeDigestDomain opens the byte stream under a range's digest.
const rangeDigestDomain = "TurboFieldfare.RemoteRangeDestination.v1"

// stream writes the two primitives that the reference's hashes are made of.
type stream struct{ h hash.Hash }

func newStream(domain string) stream {
	s := stream{sha256.New()}
	s.text(domain)
	return s
}

func (s stream) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	s.h.Write(b[:])
}

func (s stream) text(t string) {
	s.number(int64(len(t)))
	io.WriteString(s.h, t)
}

func (s stream) hex() string { return hex.EncodeToString(s.h.Sum(nil)) }

// Fingerprint identifies the plan: format version, chunk, outputs and every range with its destinations. It does not
// depend on where the output lies. The encoding is the reference's, so that either program recognises the other's
// unfinished work.
func (p *Plan) Fingerprint() string {
	s := newStream(p.domain)
	s.number(1)
	s.number(0)
	s.number(p.Chunk)
	s.text(p.layout)
	s.text(p.layoutOrder)
	s.text(p.indexSHA256)
	s.number(int64(len(p.Files)))
	for i := range p.Files {
		s.text(p.Files[i].Path)
		s.number(p.Files[i].Size)
	}
	s.number(int64(len(p.Ranges)))
	for i := range p.Ranges {
		r := &p.Ranges[i]
		s.text(r.ID)
		s.text(r.Shard)
		s.number(r.Offset)
		s.number(r.Size)
		s.number(int64(len(r.Parts)))
		for _, part := range r.Parts {
			s.text(p.Files[part.File].Path)
			s.number(part.To)
			s.number(part.From)
			s.number(part.Size)
		}
	}
	return s.hex()
}
