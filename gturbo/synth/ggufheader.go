package synth

import (
	"encoding/binary"
	"math"
)

// A ggufKind is how the elements of a tensor are stored: by blocks along the rows.
type ggufKind struct {
	id            uint32
	blockElements int64
	blockBytes    int64
}

var (
	ggufF32  = ggufKind{id: 0, blockElements: 1, blockBytes: 4}
	ggufQ4_0 = ggufKind{id: 2, blockElements: 32, blockBytes: 18}
	ggufQ6_K = ggufKind{id: 14, blockElements: 256, blockBytes: 210}
)

// A ggufTensor has its row length first, as GGUF counts. fill writes blocks.
type ggufTensor struct {
	name   string
	kind   ggufKind
	shape  []int64
	offset int64 // from the end of the header
	fill   fill
}

func (t *ggufTensor) blocks() int64 {
	n := int64(1)
	for _, d := range t.shape {
		n *= d
	}
	return n / t.kind.blockElements
}

// end is where the tensor's bytes end, from the end of the header.
func (t *ggufTensor) end() int64 { return t.offset + t.blocks()*t.kind.blockBytes }

// ggufAlign is the alignment of header and tensors when a file states none.
const ggufAlign = 32

func ggufAligned(n int64) int64 { return (n + ggufAlign - 1) / ggufAlign * ggufAlign }

// A gguf is a file that is planned: its header, padded, and its tensors with their places.
type gguf struct {
	header  []byte
	tensors []ggufTensor
}

func (g *gguf) size() int64 {
	return int64(len(g.header)) + ggufAligned(g.tensors[len(g.tensors)-1].end())
}

// newGGUF gives every tensor its place and writes the header of version 3: magic, version, counts, metadata, tensors.
func newGGUF(meta *ggufMeta, tensors []ggufTensor) *gguf {
	h := append([]byte("GGUF"), 3, 0, 0, 0)
	h = binary.LittleEndian.AppendUint64(h, uint64(len(tensors)))
	h = binary.LittleEndian.AppendUint64(h, meta.n)
	h = append(h, meta.buf...)
	at := int64(0)
	for i := range tensors {
		t := &tensors[i]
		t.offset = ggufAligned(at)
		at = t.end()
		h = appendText(h, t.name)
		h = binary.LittleEndian.AppendUint32(h, uint32(len(t.shape)))
		for _, d := range t.shape {
			h = binary.LittleEndian.AppendUint64(h, uint64(d))
		}
		h = binary.LittleEndian.AppendUint32(h, t.kind.id)
		h = binary.LittleEndian.AppendUint64(h, uint64(t.offset))
	}
	return &gguf{header: append(h, make([]byte, ggufAligned(int64(len(h)))-int64(len(h)))...), tensors: tensors}
}

// Types of metadata values.
const (
	ggufUint32 = 4
	ggufInt32  = 5
	ggufFloat  = 6
	ggufBool   = 7
	ggufText   = 8
	ggufArray  = 9
)

// A ggufMeta collects metadata.
type ggufMeta struct {
	buf []byte
	n   uint64
}

func (m *ggufMeta) key(name string, kind uint32) {
	m.buf = binary.LittleEndian.AppendUint32(appendText(m.buf, name), kind)
	m.n++
}

func (m *ggufMeta) array(name string, kind uint32, n int) {
	m.key(name, ggufArray)
	m.buf = binary.LittleEndian.AppendUint32(m.buf, kind)
	m.buf = binary.LittleEndian.AppendUint64(m.buf, uint64(n))
}

func (m *ggufMeta) count(name string, v int) {
	m.key(name, ggufUint32)
	m.buf = binary.LittleEndian.AppendUint32(m.buf, uint32(v))
}

func (m *ggufMeta) float(name string, v float64) {
	m.key(name, ggufFloat)
	m.buf = binary.LittleEndian.AppendUint32(m.buf, math.Float32bits(float32(v)))
}

func (m *ggufMeta) flag(name string, v bool) {
	m.key(name, ggufBool)
	m.buf = appendFlag(m.buf, v)
}

func (m *ggufMeta) text(name, v string) {
	m.key(name, ggufText)
	m.buf = appendText(m.buf, v)
}

func (m *ggufMeta) texts(name string, v []string) {
	m.array(name, ggufText, len(v))
	for _, s := range v {
		m.buf = appendText(m.buf, s)
	}
}

func (m *ggufMeta) integers(name string, v []int32) {
	m.array(name, ggufInt32, len(v))
	for _, i := range v {
		m.buf = binary.LittleEndian.AppendUint32(m.buf, uint32(i))
	}
}

func (m *ggufMeta) flags(name string, v []bool) {
	m.array(name, ggufBool, len(v))
	for _, b := range v {
		m.buf = appendFlag(m.buf, b)
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func appendFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
