package metal

import (
	"fmt"
	"slices"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/shaders"
)

// groupSize is the number of inputs that share a scale and a bias.
const groupSize = 64

// A shapeCheck collects what is wrong with the dimensions of a model, and finds where its tensors lie in region.
type shapeCheck struct {
	region   view
	problems []error
}

func (s *shapeCheck) want(ok bool, format string, args ...any) {
	if !ok {
		s.problems = append(s.problems, fmt.Errorf("%w: %s", ErrShape, fmt.Sprintf(format, args...)))
	}
}

// affine wants w to be a 4-bit or 8-bit matrix [out, in] in the region, and returns where it lies.
func (s *shapeCheck) affine(name string, w core.Affine, out, in int) shaders.Matrix {
	s.want(w.Out == out && w.In == in, "%s is [%d, %d], want [%d, %d]", name, w.Out, w.In, out, in)
	s.want(w.Bits == 4 || w.Bits == 8, "%s has %d bits, want 4 or 8", name, w.Bits)
	s.want(w.In > 0 && w.In%groupSize == 0, "%s has %d inputs, want a multiple of %d", name, w.In, groupSize)
	groups := 2 * w.Out * w.In / groupSize
	s.want(len(w.Codes) == w.Out*w.In*w.Bits/8 && len(w.Scales) == groups && len(w.Biases) == groups,
		"%s has %d, %d and %d bytes of codes, scales and biases, want %d, %d and %d", name,
		len(w.Codes), len(w.Scales), len(w.Biases), w.Out*w.In*w.Bits/8, groups, groups)
	m := shaders.Matrix{
		Codes: s.offset(name, w.Codes), Scales: s.offset(name, w.Scales), Biases: s.offset(name, w.Biases),
	}
	s.want(m.Scales%2 == 0 && m.Biases%2 == 0 && (w.Bits == 8 || m.Codes%2 == 0), "%s lies at odd addresses", name)
	return m
}

// vector wants v to hold n bf16 values, and returns where they lie, in elements.
func (s *shapeCheck) vector(name string, v core.Vector, n int) uint32 {
	s.want(len(v) == 2*n, "%s has %d bytes, want %d bf16 values", name, len(v), n)
	at := s.offset(name, v)
	s.want(at%2 == 0, "%s lies at an odd address", name)
	return at / 2
}

func (s *shapeCheck) offset(name string, part []byte) uint32 {
	at, ok := s.region.offset(part)
	s.want(ok, "%s does not lie in the first 4 GiB of the mapped weights", name)
	return at
}

// dimensions checks what does not depend on a tensor.
func (s *shapeCheck) dimensions(w *core.Weights, threadgroupMemory int) {
	c := &w.Config
	s.want(c.Hidden > 0 && c.Vocab > 0 && c.Heads > 0 && c.Window > 0, "hidden %d, vocabulary %d, heads %d, window %d: "+
		"want all positive", c.Hidden, c.Vocab, c.Heads, c.Window)
	s.want(c.Hidden%groupSize == 0, "hidden %d, want a multiple of %d", c.Hidden, groupSize)
	s.want(4*c.Hidden+4*shaders.RowThreads <= threadgroupMemory, "hidden %d takes more than %d bytes of threadgroup memory",
		c.Hidden, threadgroupMemory)
	s.want(c.Experts >= 1 && c.Experts <= shaders.MaxExperts, "%d experts, want 1 to %d", c.Experts, shaders.MaxExperts)
	s.want(c.TopK >= 1 && c.TopK <= min(c.Experts, shaders.MaxTopK), "%d experts per token of %d, want at most %d",
		c.TopK, c.Experts, shaders.MaxTopK)
	s.want(w.Embed.Bits == 4, "the token table has %d bits, want 4", w.Embed.Bits)
	s.want(len(w.Layers) == len(c.Layers) && len(c.Layers) > 0, "weights of %d layers, configuration of %d",
		len(w.Layers), len(c.Layers))
	for i, l := range c.Layers {
		s.want(slices.Contains(shaders.AttendWidths, l.HeadDim), "layer %d: heads of %d, want one of %v", i, l.HeadDim,
			shaders.AttendWidths)
		s.want(l.KVHeads > 0 && c.Heads%l.KVHeads == 0, "layer %d: %d heads over %d KV heads", i, c.Heads, l.KVHeads)
		s.want(!l.Full || c.FullRotary <= l.HeadDim/2, "layer %d: %d rotating pairs in heads of %d", i, c.FullRotary, l.HeadDim)
	}
}

// expert checks the layout of an expert's blob.
func (s *shapeCheck) expert(e core.ExpertLayout, c *core.Config) {
	for _, part := range []struct {
		name    string
		at      core.AffineRange
		out, in int
	}{
		{"gate_proj", e.Gate, c.ExpertWidth, c.Hidden},
		{"up_proj", e.Up, c.ExpertWidth, c.Hidden},
		{"down_proj", e.Down, c.Hidden, c.ExpertWidth},
	} {
		r := part.at
		s.want(r.Out == part.out && r.In == part.in && r.In > 0 && r.In%groupSize == 0 && r.Bits == 4,
			"expert %s is [%d, %d] of %d bits, want [%d, %d] of 4", part.name, r.Out, r.In, r.Bits, part.out, part.in)
		groups := 2 * r.Out * r.In / groupSize
		s.want(r.Codes+r.Out*r.In*r.Bits/8 <= e.Stride && r.Scales+groups <= e.Stride && r.Biases+groups <= e.Stride,
			"expert %s ends behind its blob of %d bytes", part.name, e.Stride)
		s.want(r.Codes%2 == 0 && r.Scales%2 == 0 && r.Biases%2 == 0, "expert %s lies at odd offsets", part.name)
	}
}
