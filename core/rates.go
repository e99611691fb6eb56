package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// Rates is how fast a backend computes when no bytes are missing.
type Rates struct {
	// Weights is the bytes of expert weights per second that one row is multiplied with, out of memory: decoding.
	Weights float64 `json:"weights_bytes_per_second"`
	// Rows is the rows per second of a chunk of 128 through all layers: prefill.
	Rows float64 `json:"prefill_rows_per_second"`
	// Spread is how much longer a slow call of decoding took than a fast one, as a share: what other programs and the
	// machine's neighbours add, a quarter of the time.
	Spread float64 `json:"spread"`
}

const (
	ratesRows  = 128
	ratesBytes = 192 << 20 // of experts: more than processors keep in their caches
	ratesSlice = 300 * time.Millisecond
	ratesCalls = 5 // at least
)

// MeasureRates runs b for about a second and a half on one layer of made-up weights with the dimensions of s. It takes
// some 250 MB for the 26B model and gives them back.
func MeasureRates(ctx context.Context, b Backend, s *Size) (Rates, error) {
	m, err := newRatesModel(s)
	if err != nil {
		return Rates{}, err
	}
	defer m.memory.Close()
	exec, err := b.NewExecutor(&m.weights, ExecutorOptions{MaxRows: ratesRows})
	if err != nil {
		return Rates{}, fmt.Errorf("measure %s: %w", b.Name(), err)
	}
	defer exec.Close()
	rows := min(ratesRows, s.Memory.MaxContext)
	cache, err := exec.NewCache(CacheSpec{MaxContext: rows, Ring: rows})
	if err != nil {
		return Rates{}, err
	}
	defer cache.Close()
	r := ratesRun{ctx: ctx, exec: exec, cache: cache, model: m}
	return r.measure(rows, s)
}

// A ratesModel is one sliding layer and some of its experts.
type ratesModel struct {
	memory  *pages.Region
	free    []byte
	need    int // bytes of the resident tensors
	weights Weights
	blobs   [][]byte
}

func newRatesModel(s *Size) (*ratesModel, error) {
	cfg := s.Config
	cfg.Vocab = min(cfg.Vocab, 64)
	for _, l := range cfg.Layers {
		if !l.Full {
			cfg.Layers = []LayerConfig{l}
			break
		}
	}
	cfg.Layers = cfg.Layers[:1]
	m := &ratesModel{weights: Weights{Config: cfg}}
	m.layOut(&cfg) // counts
	stride := s.Memory.Stride
	count := max(1, min(cfg.Experts, ratesBytes/stride))
	memory, err := pages.Alloc("probe", m.need+count*stride)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	m.memory, m.free, m.weights.Region = memory, memory.Bytes(), memory.Bytes()
	for i := range m.free { // not zeros, which a system may keep once for all pages
		m.free[i] = byte(i>>12) & 0x3f
	}
	m.layOut(&cfg)
	m.weights.Expert = ratesExpert(&cfg, stride)
	for i := range count {
		m.blobs = append(m.blobs, m.free[i*stride:][:stride])
	}
	return m, nil
}

// take cuts n bytes off the free memory. Before there is any, it only counts.
func (m *ratesModel) take(n int) []byte {
	if m.memory == nil {
		m.need += n
		return nil
	}
	part := m.free[:n:n]
	m.free = m.free[n:]
	return part
}

func (m *ratesModel) affine(out, in, bits int) Affine {
	return Affine{
		Codes: m.take(out * in * bits / 8), Scales: m.take(2 * out * (in / 64)), Biases: m.take(2 * out * (in / 64)),
		Out: out, In: in, Bits: bits,
	}
}

func (m *ratesModel) vector(n int) Vector { return m.take(2 * n) }

// layOut makes the resident tensors; 4 bits where the 26B model has them.
func (m *ratesModel) layOut(c *Config) {
	lc, d := c.Layers[0], c.Hidden
	q, kv := c.Heads*lc.HeadDim, lc.KVHeads*lc.HeadDim
	l := LayerWeights{
		Query: m.affine(q, d, 4), Key: m.affine(kv, d, 4), Output: m.affine(d, q, 4),
		QueryNorm: m.vector(lc.HeadDim), KeyNorm: m.vector(lc.HeadDim),
		Router: m.affine(c.Experts, d, 8), RouterScale: m.vector(d), PerExpertScale: m.vector(c.Experts),
		Gate: m.affine(c.SharedWidth, d, 4), Up: m.affine(c.SharedWidth, d, 4), Down: m.affine(d, c.SharedWidth, 4),
		InputNorm: m.vector(d), PostAttentionNorm: m.vector(d), PreSharedNorm: m.vector(d), PreRoutedNorm: m.vector(d),
		PostSharedNorm: m.vector(d), PostRoutedNorm: m.vector(d), PostFFNNorm: m.vector(d), Scalar: 1,
	}
	if !lc.ValueFromKey {
		l.Value = m.affine(kv, d, 4)
	}
	m.weights.Embed, m.weights.Norm, m.weights.Layers = m.affine(c.Vocab, d, 4), m.vector(d), []LayerWeights{l}
}

// ratesExpert lays the matrices of an expert out one after another.
func ratesExpert(c *Config, stride int) ExpertLayout {
	at := 0
	place := func(out, in int) AffineRange {
		r := AffineRange{Codes: at, Scales: at + out*in/2, Out: out, In: in, Bits: 4}
		r.Biases = r.Scales + 2*out*(in/64)
		at = r.Biases + 2*out*(in/64)
		return r
	}
	return ExpertLayout{
		Stride: stride,
		Gate:   place(c.ExpertWidth, c.Hidden), Up: place(c.ExpertWidth, c.Hidden), Down: place(c.Hidden, c.ExpertWidth),
	}
}

type ratesRun struct {
	ctx   context.Context
	exec  Executor
	cache Cache
	model *ratesModel
	batch Batch
}

func (r *ratesRun) measure(rows int, s *Size) (Rates, error) {
	cfg := &s.Config
	if err := r.prepare(1); err != nil {
		return Rates{}, err
	}
	each, slow, err := r.time(func(i int) error { return r.routed(i, 1) })
	if err != nil {
		return Rates{}, err
	}
	x := r.model.weights.Expert
	out := Rates{Weights: float64(x.Down.Biases+2*x.Down.Out*(x.Down.In/64)) / each, Spread: slow/each - 1}
	if err := r.prepare(rows); err != nil {
		return Rates{}, err
	}
	layer, _, err := r.time(func(int) error {
		if err := r.exec.Attend(0, &r.batch, r.cache); err != nil {
			return err
		}
		return r.exec.Shared(0, &r.batch)
	})
	if err != nil {
		return Rates{}, err
	}
	// A chunk's rows spread over the experts.
	picks := max(1, min(rows, rows*cfg.TopK/cfg.Experts))
	expert, _, err := r.time(func(i int) error { return r.routed(i, picks) })
	if err != nil {
		return Rates{}, err
	}
	perRow := float64(len(cfg.Layers)) * (layer/float64(rows) + float64(cfg.TopK)*expert/float64(picks))
	out.Rows = 1 / perRow
	return out, nil
}

// prepare brings the executor to where experts run.
func (r *ratesRun) prepare(rows int) error {
	r.batch.causal(0, rows)
	r.batch.Tokens = make([]int32, rows)
	if err := r.exec.Embed(&r.batch); err != nil {
		return err
	}
	if err := r.exec.Attend(0, &r.batch, r.cache); err != nil {
		return err
	}
	_, err := r.exec.Route(0, &r.batch)
	return err
}

// routed runs the i-th expert on the first rows.
func (r *ratesRun) routed(i, picks int) error {
	run := ExpertRun{Bytes: r.model.blobs[i%len(r.model.blobs)], Expert: gturbo.ExpertID(i % len(r.model.blobs))}
	for row := range picks {
		run.Picks = append(run.Picks, Pick{Row: int32(row)})
	}
	_, err := r.exec.Routed(0, &r.batch, run)
	return err
}

// time repeats f and returns the seconds of one call that nine in ten calls take or exceed (what other programs and
// sleeping threads add is not the backend's), and those that one in four does.
func (r *ratesRun) time(f func(i int) error) (fast, slow float64, err error) {
	var calls []float64
	for i, from := 0, time.Now(); i < ratesCalls || time.Since(from) < ratesSlice; i++ {
		if err := r.ctx.Err(); err != nil {
			return 0, 0, err
		}
		begin := time.Now()
		if err := f(i); err != nil {
			return 0, 0, err
		}
		if err := r.exec.Drain(); err != nil {
			return 0, 0, err
		}
		calls = append(calls, time.Since(begin).Seconds())
	}
	slices.Sort(calls)
	return calls[len(calls)/10], calls[len(calls)*3/4], nil
}
