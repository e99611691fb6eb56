package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// A benchModel is one sliding and one full layer of the 26B, with 48 experts that both share and an eighth of the token
// table: 0.4 GB, far more than caches hold.
type benchModel struct {
	w     *core.Weights
	blobs [][]byte
}

const benchExperts, benchVocabulary = 48, 32768

func newBenchModel(b *testing.B) *benchModel {
	b.Helper()
	sliding := core.LayerConfig{KVHeads: 8, HeadDim: 256}
	full := core.LayerConfig{Full: true, KVHeads: 2, HeadDim: 512, ValueFromKey: true}
	c := core.Config{
		Hidden: 2816, Layers: []core.LayerConfig{sliding, full}, Heads: 16, Window: 1024, SharedWidth: 2112, ExpertWidth: 704,
		Experts: 128, TopK: 8, Vocab: benchVocabulary, RMSNormEps: 1e-6, LogitSoftcap: 30, EmbedScale: 53,
		MaxPositions: 1 << 18,
		RopeTheta:    1e4, FullRopeTheta: 1e6, FullRotary: 64,
	}
	region, err := pages.Alloc("bench", 500<<20)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { region.Close() })
	free := region.Bytes()
	r := rand.New(rand.NewPCG(1, 2))
	affine := func(out, in, bits int) core.Affine {
		codes, groups := out*in*bits/8, 2*out*in/groupSize
		w := core.Affine{Codes: free[:codes], Scales: free[codes:][:groups], Biases: free[codes+groups:][:groups],
			Out: out, In: in, Bits: bits}
		free = free[codes+2*groups:]
		for i := 0; i < codes; i += 8 {
			v := r.Uint64()
			for j := range 8 {
				w.Codes[i+j] = byte(v >> (8 * j))
			}
		}
		for i := 0; i < groups; i += 2 { // 0.0078 and -0.0586: weights about zero
			w.Scales[i+1], w.Biases[i], w.Biases[i+1] = 0x3c, 0x70, 0xbd
		}
		return w
	}
	norm := func(n int) core.Vector { return randomVector(r, n, 1, 0.1) }
	d := c.Hidden
	m := &benchModel{w: &core.Weights{Config: c, Embed: affine(c.Vocab, d, 4), Norm: norm(d)}}
	for _, l := range c.Layers {
		lw := core.LayerWeights{
			Query: affine(c.Heads*l.HeadDim, d, 4), Key: affine(l.KVHeads*l.HeadDim, d, 4),
			Output:    affine(d, c.Heads*l.HeadDim, 4),
			QueryNorm: norm(l.HeadDim), KeyNorm: norm(l.HeadDim), Router: affine(c.Experts, d, 8), RouterScale: norm(d),
			PerExpertScale: norm(c.Experts), Gate: affine(c.SharedWidth, d, 4), Up: affine(c.SharedWidth, d, 4),
			Down: affine(d, c.SharedWidth, 4), InputNorm: norm(d), PostAttentionNorm: norm(d), PreSharedNorm: norm(d),
			PreRoutedNorm: norm(d), PostSharedNorm: norm(d), PostRoutedNorm: norm(d), PostFFNNorm: norm(d), Scalar: 1,
		}
		if !l.ValueFromKey {
			lw.Value = affine(l.KVHeads*l.HeadDim, d, 4)
		}
		m.w.Layers = append(m.w.Layers, lw)
	}
	place := func(out, in int, at *int) core.AffineRange {
		codes, groups := out*in/2, 2*out*in/groupSize
		x := core.AffineRange{Codes: *at, Scales: *at + codes, Biases: *at + codes + groups, Out: out, In: in, Bits: 4}
		*at += codes + 2*groups
		return x
	}
	x, at := &m.w.Expert, 0
	x.Gate, x.Up, x.Down = place(c.ExpertWidth, d, &at), place(c.ExpertWidth, d, &at), place(d, c.ExpertWidth, &at)
	x.Stride = at
	for range benchExperts {
		start := free
		affine(c.ExpertWidth, d, 4)
		affine(c.ExpertWidth, d, 4)
		affine(d, c.ExpertWidth, 4)
		m.blobs = append(m.blobs, start[:x.Stride])
	}
	return m
}

// layerBytes is the weights that one token reads in a layer.
func (m *benchModel) layerBytes(layer int) int {
	l := &m.w.Layers[layer]
	n := m.w.Config.TopK * m.w.Expert.Stride
	for _, w := range []core.Affine{l.Query, l.Key, l.Value, l.Output, l.Router, l.Gate, l.Up, l.Down} {
		n += len(w.Codes) + len(w.Scales) + len(w.Biases)
	}
	return n
}

// layer runs one layer on the batch; experts are spread over the rows as a router would.
func (m *benchModel) layer(b *testing.B, e core.Executor, c core.Cache, batch *core.Batch, layer, turn int,
	phases *[5]time.Duration) {
	b.Helper()
	id := gturbo.LayerID(layer)
	clock := time.Now()
	lap := func(i int) {
		now := time.Now()
		phases[i] += now.Sub(clock)
		clock = now
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(e.Attend(id, batch, c))
	lap(0)
	_, err := e.Route(id, batch)
	check(err)
	lap(1)
	check(e.Shared(id, batch))
	lap(2)
	k, n := m.w.Config.TopK, len(batch.Tokens)
	picks := map[int][]core.Pick{}
	for row := range n {
		for rank := range k {
			x := (row*7 + rank*5 + turn*k) % 128
			picks[x] = append(picks[x], core.Pick{Row: int32(row), Rank: int32(rank)})
		}
	}
	left := len(picks)
	for x, p := range picks {
		left--
		_, err := e.Routed(id, batch, core.ExpertRun{
			Expert: gturbo.ExpertID(x), Bytes: m.blobs[x%benchExperts], Picks: p, More: left > 0,
		})
		check(err)
	}
	lap(3)
	check(e.Tail(id, batch))
	lap(4)
}

// BenchmarkToken is one decoded token at position 1023 of the 26B: 25 sliding and 5 full layers and the head, from one
// layer of each kind and an eighth of the head. "of-read" compares the bytes a second of the best token with a plain
// read of the same memory.
func BenchmarkToken(b *testing.B) {
	m := newBenchModel(b)
	benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
		if k == plainKernels {
			b.Skip("seconds a token")
		}
		back := &Backend{kern: k, threads: p.threads}
		e, err := back.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		c, err := e.NewCache(core.CacheSpec{MaxContext: 1024, Ring: 1024})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		batch := &core.Batch{Tokens: []int32{7}, Pos: 1023, SlidingEnd: []int{1024}, FullEnd: []int{1024}}
		logits := make([]float32, benchVocabulary)
		read := bestRead(p, m.blobs[0][:benchExperts*m.w.Expert.Stride], m.layerBytes(0))
		var layers [2]stopwatch
		var head stopwatch
		var phases [5]time.Duration
		turn := 0
		for b.Loop() {
			e.Embed(batch)
			for l := range layers {
				layers[l].time(func() { m.layer(b, e, c, batch, l, turn, &phases) })
			}
			head.time(func() { e.Head(batch, []int{0}, logits) })
			turn++
		}
		token := 25*layers[0].best + 5*layers[1].best + 8*head.best
		bytes := float64(25*m.layerBytes(0) + 5*m.layerBytes(1) + 8*len(m.w.Embed.Codes)*9/8)
		b.ReportMetric(bytes/1e9, "GB/token")
		b.ReportMetric(1/token.Seconds(), "best-tok/s")
		b.ReportMetric(bytes/token.Seconds()/1e9, "best-GB/s")
		b.ReportMetric(bytes/token.Seconds()/read, "of-read")
		for i, name := range []string{"attend", "route", "shared", "routed", "tail"} {
			b.ReportMetric(phases[i].Seconds()*1e3/float64(2*b.N), name+"-ms")
		}
	})
}

// BenchmarkContext compares a token at position 32,767 with one at 1,023 in the same passes, put together as in
// BenchmarkToken: sliding layers, head and weights cost the same, attention of the full layers grows.
func BenchmarkContext(b *testing.B) {
	const short, long = 1024, 32768
	m := newBenchModel(b)
	benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
		if k == plainKernels {
			b.Skip("seconds a token")
		}
		back := &Backend{kern: k, threads: p.threads}
		e, err := back.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		c, err := e.NewCache(core.CacheSpec{MaxContext: long, Ring: 1024})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		for l := range m.w.Layers { // pages that nobody wrote to would all be one page of zeros
			keys, values := c.Layer(gturbo.LayerID(l))
			for _, rows := range [][]byte{keys, values} {
				for i := range rows {
					rows[i] = byte(i * 2654435761 >> 13 & 0x3b)
				}
			}
		}
		at := func(context int) *core.Batch {
			return &core.Batch{Tokens: []int32{7}, Pos: context - 1, SlidingEnd: []int{context}, FullEnd: []int{context}}
		}
		logits := make([]float32, benchVocabulary)
		var sliding, head stopwatch
		var full [2]stopwatch
		var phases [5]time.Duration
		turn := 0
		for b.Loop() {
			for i, batch := range []*core.Batch{at(short), at(long)} {
				e.Embed(batch)
				sliding.time(func() { m.layer(b, e, c, batch, 0, turn, &phases) })
				full[i].time(func() { m.layer(b, e, c, batch, 1, turn, &phases) })
				head.time(func() { e.Head(batch, []int{0}, logits) })
				turn++
			}
		}
		same := 25*sliding.best + 8*head.best
		b.ReportMetric((same+5*full[0].best).Seconds()*1e3, "1K-ms/token")
		b.ReportMetric((same+5*full[1].best).Seconds()*1e3, "32K-ms/token")
		b.ReportMetric((same+5*full[1].best).Seconds()/(same+5*full[0].best).Seconds(), "32K/1K")
	})
}

// BenchmarkPrompt is a chunk of rows through one sliding layer of the 26B, scaled to 30 layers.
func BenchmarkPrompt(b *testing.B) {
	m := newBenchModel(b)
	for _, rows := range []int{128, 512} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
				if k == plainKernels {
					b.Skip("minutes")
				}
				back := &Backend{kern: k, threads: p.threads}
				e, err := back.NewExecutor(m.w, core.ExecutorOptions{MaxRows: rows})
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				c, err := e.NewCache(core.CacheSpec{MaxContext: 2048, Ring: 2048})
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				s := refSequence{tokens: make([]int32, rows)}
				for i := range s.tokens {
					s.tokens[i] = int32(i * 37 % benchVocabulary)
				}
				batch := s.batch(0, rows)
				var w stopwatch
				var phases [5]time.Duration
				for b.Loop() {
					e.Embed(batch)
					w.time(func() { m.layer(b, e, c, batch, 0, 0, &phases) })
				}
				b.ReportMetric(float64(rows)/(30*w.best.Seconds()), "best-tok/s")
				for i, name := range []string{"attend", "route", "shared", "routed", "tail"} {
					b.ReportMetric(phases[i].Seconds()*1e3/float64(b.N), name+"-ms")
				}
			})
		})
	}
}
