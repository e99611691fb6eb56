package core_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/residency"
)

// tinyConfig has every feature of the family in sizes that a naive float64 loop runs in no time: two kinds of
// layers, grouped heads, K=V, a window shorter than most prompts.
func tinyConfig() core.Config {
	sliding := core.LayerConfig{KVHeads: 2, HeadDim: 16}
	full := core.LayerConfig{Full: true, KVHeads: 1, HeadDim: 32, ValueFromKey: true}
	return core.Config{
		Hidden: 64, Layers: []core.LayerConfig{sliding, full, sliding}, Heads: 4, Window: 9, SharedWidth: 64,
		ExpertWidth: 64, Experts: 12, TopK: 3, Vocab: 150, RMSNormEps: 1e-6, LogitSoftcap: 30, EmbedScale: 8,
		MaxPositions: 4096, RopeTheta: 1e4, FullRopeTheta: 1e6, FullRotary: 4, EOS: []int32{1},
	}
}

// A builder lays random tensors out one after another, as an install does: 2-byte aligned and no more.
type builder struct {
	rng *rand.Rand
	buf []byte
}

func (b *builder) vector(n int, mean, spread float64) core.Vector {
	at := len(b.buf)
	for range n {
		b.buf = binary.LittleEndian.AppendUint16(b.buf, bf16.Bits(float32(mean+spread*(b.rng.Float64()-0.5))))
	}
	return core.Vector(b.buf[at:])
}

// affine makes a matrix whose rows have about unit gain; half of the scales are negative.
func (b *builder) affine(out, in, bits int, gain float64) core.Affine {
	m := core.Affine{Out: out, In: in, Bits: bits}
	at := len(b.buf)
	for range out * in * bits / 8 {
		b.buf = append(b.buf, byte(b.rng.Uint32()))
	}
	m.Codes = b.buf[at:]
	steps := float64(int(1)<<bits - 1)
	at = len(b.buf)
	for range out * in / 64 {
		s := gain * (0.75 + 0.5*b.rng.Float64()) * math.Sqrt(12) / steps / math.Sqrt(float64(in))
		if b.rng.IntN(2) == 0 {
			s = -s
		}
		b.buf = binary.LittleEndian.AppendUint16(b.buf, bf16.Bits(float32(s)))
	}
	m.Scales = b.buf[at:]
	at = len(b.buf)
	for i := range out * in / 64 {
		s := bf16.Float32(binary.LittleEndian.Uint16(m.Scales[2*i:]))
		b.buf = binary.LittleEndian.AppendUint16(b.buf, bf16.Bits(float32(-steps/2)*s))
	}
	m.Biases = b.buf[at:]
	return m
}

// A tinyModel is random weights with the bytes of their experts; it is the Source of them.
type tinyModel struct {
	*core.Weights
	blobs [][]byte // per layer, experts one after another
}

const stride = 16384

func newTinyModel(seed uint64) *tinyModel {
	cfg := tinyConfig()
	b := &builder{rng: rand.New(rand.NewPCG(seed, 0)), buf: make([]byte, 0, 1<<20)}
	w := &core.Weights{Config: cfg}
	w.Embed = b.affine(cfg.Vocab, cfg.Hidden, 4, 1)
	for _, l := range cfg.Layers {
		w.Layers = append(w.Layers, b.layer(&cfg, l))
	}
	w.Norm = b.vector(cfg.Hidden, 1, 0.5)
	w.Region = b.buf
	m := &tinyModel{Weights: w}
	for range cfg.Layers {
		m.blobs = append(m.blobs, m.experts(b))
	}
	return m
}

func (b *builder) layer(cfg *core.Config, l core.LayerConfig) core.LayerWeights {
	d, h, g := cfg.Hidden, cfg.Heads*l.HeadDim, l.KVHeads*l.HeadDim
	var w core.LayerWeights
	w.Query, w.Key = b.affine(h, d, 4, 1), b.affine(g, d, 4, 1)
	if !l.ValueFromKey {
		w.Value = b.affine(g, d, 4, 1)
	}
	w.Output = b.affine(d, h, 4, 1)
	w.QueryNorm, w.KeyNorm = b.vector(l.HeadDim, 0.6, 0.3), b.vector(l.HeadDim, 0.6, 0.3)
	w.Router, w.RouterScale = b.affine(cfg.Experts, d, 8, 2), b.vector(d, 1, 0.5)
	w.PerExpertScale = b.vector(cfg.Experts, 1, 0.5)
	w.Gate, w.Up = b.affine(cfg.SharedWidth, d, 4, 1), b.affine(cfg.SharedWidth, d, 4, 1)
	w.Down = b.affine(d, cfg.SharedWidth, 4, 1)
	for _, v := range []*core.Vector{&w.InputNorm, &w.PostAttentionNorm, &w.PreSharedNorm, &w.PreRoutedNorm,
		&w.PostSharedNorm, &w.PostRoutedNorm, &w.PostFFNNorm} {
		*v = b.vector(d, 1, 0.5)
	}
	b.vector(1, 0, 0) // shifts what follows by two bytes, as a layer scalar does in the file
	w.Scalar = 0.875
	return w
}

// experts makes the blobs of one layer and sets the layout.
func (m *tinyModel) experts(b *builder) []byte {
	cfg := &m.Config
	layer := make([]byte, 0, cfg.Experts*stride)
	for range cfg.Experts {
		e := &builder{rng: b.rng}
		place := func(out, in int) core.AffineRange {
			at := len(e.buf)
			w := e.affine(out, in, 4, 1)
			return core.AffineRange{
				Codes: at, Scales: at + len(w.Codes), Biases: at + len(w.Codes) + len(w.Scales),
				Out: out, In: in, Bits: 4,
			}
		}
		m.Expert = core.ExpertLayout{
			Stride: stride,
			Gate:   place(cfg.ExpertWidth, cfg.Hidden),
			Up:     place(cfg.ExpertWidth, cfg.Hidden),
			Down:   place(cfg.Hidden, cfg.ExpertWidth),
		}
		layer = append(layer, e.buf...)
		layer = append(layer, make([]byte, stride-len(e.buf))...)
	}
	return layer
}

func (m *tinyModel) OpenLayer(l gturbo.LayerID) (residency.File, error) {
	return struct {
		io.ReaderAt
		io.Closer
	}{bytes.NewReader(m.blobs[l]), io.NopCloser(nil)}, nil
}

func (m *tinyModel) ExpertOffset(_ gturbo.LayerID, e gturbo.ExpertID) int64 { return int64(e) * stride }

// load starts a runtime on the tiny model; change may adjust the options.
func (m *tinyModel) load(t testing.TB, change func(*core.Options)) *core.Runtime {
	t.Helper()
	opts := core.Options{Backend: refBackend{}, KV: core.KVFloat32, MaxContext: 400, PrefillChunk: 16}
	opts.Experts.Slots = 4
	if change != nil {
		change(&opts)
	}
	rt, err := core.NewRuntime(t.Context(), m.Weights, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

func newSession(t testing.TB, rt *core.Runtime) *core.Session {
	t.Helper()
	s, err := rt.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomPrompt returns n ids without stop ids.
func randomPrompt(seed uint64, n, vocab int) *core.Prompt {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &core.Prompt{}
	for range n {
		p.Tokens = append(p.Tokens, int32(2+rng.IntN(vocab-2)))
	}
	return p
}

func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// relative returns the largest difference of got to want in units of want's largest value.
func relative[G, W float32 | float64](got []G, want []W) float64 {
	diff, largest := 0.0, 0.0
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if d != d {
			return math.Inf(1)
		}
		diff, largest = max(diff, d), max(largest, math.Abs(float64(want[i])))
	}
	return diff / largest
}
