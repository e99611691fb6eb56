package png

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// chunk is one chunk as it lies in the file.
type chunk struct {
	at      int
	checked []byte // type and payload: what the checksum covers
	payload []byte
	sum     uint32
}

func (c chunk) name() string { return string(c.checked[:4]) }

// next is the offset of the chunk behind c.
func (c chunk) next() int { return c.at + 12 + len(c.payload) }

func readChunk(data []byte, pos int) (chunk, error) {
	if len(data)-pos < 12 {
		return chunk{}, fmt.Errorf("%w: file ends at byte %d without its last chunk", ErrTruncated, len(data))
	}
	n := binary.BigEndian.Uint32(data[pos:])
	if n > 1<<31-1 {
		return chunk{}, fmt.Errorf("%w: chunk of %d bytes at byte %d", ErrDamaged, n, pos)
	}
	if left := len(data) - pos - 12; int(n) > left {
		return chunk{}, fmt.Errorf("%w: chunk at byte %d needs %d bytes, %d are left", ErrTruncated, pos, n, left)
	}
	end := pos + 8 + int(n)
	return chunk{at: pos, checked: data[pos+4 : end], payload: data[pos+8 : end], sum: binary.BigEndian.Uint32(data[end:])}, nil
}

// check compares the chunk with its checksum.
func (c chunk) check() error {
	if got := crc32.ChecksumIEEE(c.checked); got != c.sum {
		return fmt.Errorf("%w: chunk %q at byte %d has checksum %08x, expected %08x", ErrDamaged, c.checked[:4], c.at, got, c.sum)
	}
	return nil
}

// chunks is the concatenation of the data chunks from pos on; each is compared with its checksum as it is reached.
type chunks struct {
	data  []byte
	pos   int
	frame bool // of one frame: up to the next frame control
	now   []byte
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.now) == 0 {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.now)
	c.now = c.now[n:]
	return n, nil
}

// advance moves to the next chunk; now stays empty if that has no data.
func (c *chunks) advance() error {
	next, err := readChunk(c.data, c.pos)
	if err != nil {
		return err
	}
	payload := next.payload
	switch name := next.name(); {
	case name == "IEND" || c.frame && name == "fcTL":
		return io.EOF
	case name == "IDAT":
	case name == "fdAT" && c.frame && len(payload) >= 4:
		payload = payload[4:] // sequence number
	default:
		payload = nil
	}
	c.pos = next.next()
	if len(payload) == 0 {
		return nil
	}
	c.now = payload
	return next.check()
}

// ReadByte spares the inflater a buffer.
func (c *chunks) ReadByte() (byte, error) {
	if len(c.now) == 0 {
		var b [1]byte
		_, err := c.Read(b[:])
		return b[0], err
	}
	b := c.now[0]
	c.now = c.now[1:]
	return b, nil
}

// trailer is the chunk that ends every file.
const trailer = "\x00\x00\x00\x00IEND\xae\x42\x60\x82"

// Complete reports an error unless data ends with the end chunk: lenient decoders show what a truncated file lacks
// in black.
func Complete(data []byte) error {
	if len(data) < len(trailer) || string(data[len(data)-len(trailer):]) != trailer {
		return fmt.Errorf("%w: the last 12 bytes are not the end chunk", ErrTruncated)
	}
	return nil
}
