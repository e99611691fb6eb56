package core_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/residency"
)

// refBackend implements core.Backend in float64 from the formulas, as the contract reads. It checks what a caller
// owes: order of stages, sizes, picks. fault, if set, is asked before each stage.
type refBackend struct {
	fault func(stage string, layer int) error
	spoil func(stage string, layer int) bool // make the stage's output NaN
}

func (refBackend) Name() string { return "reference (float64)" }

func (b refBackend) NewExecutor(w *core.Weights, opts core.ExecutorOptions) (core.Executor, error) {
	if opts.KV != core.KVFloat32 {
		return nil, fmt.Errorf("KV type %d", opts.KV)
	}
	return &refExecutor{refBackend: b, w: w, d: denseCache{}, maxRows: opts.MaxRows}, nil
}

type refExecutor struct {
	refBackend
	w       *core.Weights
	d       denseCache
	maxRows int

	x, shared [][]float64   // [N, D]
	routing   core.Routing  // weights as float32, as the contract has them
	parts     [][][]float64 // [N][K]: weighted results of routed experts
}

func (e *refExecutor) enter(stage string, layer int, b *core.Batch) error {
	if n := len(b.Tokens); n < 1 || n > e.maxRows || len(b.SlidingEnd) != n || len(b.FullEnd) != n {
		panic(fmt.Sprintf("chunk of %d rows (ends %d, %d), at most %d", n, len(b.SlidingEnd), len(b.FullEnd), e.maxRows))
	}
	if e.fault != nil {
		return e.fault(stage, layer)
	}
	return nil
}

func (e *refExecutor) leave(stage string, layer int, rows [][]float64) error {
	if e.spoil != nil && e.spoil(stage, layer) {
		rows[len(rows)-1][0] = math.NaN()
	}
	return nil
}

func (e *refExecutor) Embed(b *core.Batch) error {
	if err := e.enter("embed", -1, b); err != nil {
		return err
	}
	e.x = nil
	for _, id := range b.Tokens {
		e.x = append(e.x, embedRow(e.d, e.w, id))
	}
	for _, s := range b.Soft {
		for i, v := range s.Data {
			e.x[s.Row][i] = float64(v)
		}
	}
	return e.leave("embed", -1, e.x)
}

func (e *refExecutor) Attend(layer gturbo.LayerID, b *core.Batch, c core.Cache) error {
	if err := e.enter("attend", int(layer), b); err != nil {
		return err
	}
	cache, lc := c.(*refCache), e.w.Config.Layers[layer]
	var queries [][][]float64
	for row, x := range e.x {
		q, k, v := qkv(e.d, e.w, int(layer), b.Pos+row, x)
		queries = append(queries, q)
		cache.put(layer, b.Pos+row, k, v)
	}
	for row := range e.x {
		lo, hi := 0, b.FullEnd[row]
		if !lc.Full {
			lo, hi = max(0, b.Pos+row-e.w.Config.Window+1), b.SlidingEnd[row]
		}
		var heads []float64
		for h, q := range queries[row] {
			keys, values := cache.get(layer, lo, hi, h/(e.w.Config.Heads/lc.KVHeads))
			heads = append(heads, attendTo(q, keys, values)...)
		}
		e.x[row] = attentionOut(e.d, e.w, int(layer), e.x[row], heads)
	}
	return e.leave("attend", int(layer), e.x)
}

func (e *refExecutor) Route(layer gturbo.LayerID, b *core.Batch) (core.Routing, error) {
	if err := e.enter("route", int(layer), b); err != nil {
		return core.Routing{}, err
	}
	e.routing = core.Routing{}
	e.parts = make([][][]float64, len(e.x))
	for row, x := range e.x {
		ids, weights := chooseExperts(e.d, e.w, int(layer), x)
		e.routing.Experts = append(e.routing.Experts, ids...)
		for _, w := range weights {
			e.routing.Weights = append(e.routing.Weights, float32(w))
		}
		e.parts[row] = make([][]float64, len(ids))
	}
	return e.routing, nil
}

func (e *refExecutor) Shared(layer gturbo.LayerID, b *core.Batch) error {
	if err := e.enter("shared", int(layer), b); err != nil {
		return err
	}
	e.shared = nil
	for _, x := range e.x {
		e.shared = append(e.shared, sharedOut(e.d, e.w, int(layer), x))
	}
	return e.leave("shared", int(layer), e.shared)
}

func (e *refExecutor) Routed(layer gturbo.LayerID, b *core.Batch, run core.ExpertRun) (residency.Fence, error) {
	if err := e.enter("routed", int(layer), b); err != nil {
		return nil, err
	}
	k, d := e.w.Config.TopK, denseCache{}
	for _, p := range run.Picks {
		if e.routing.Experts[int(p.Row)*k+int(p.Rank)] != run.Expert {
			panic("a pick names another expert than the router chose")
		}
		if e.parts[p.Row][p.Rank] != nil {
			panic("a pick was run twice")
		}
		y := expertOut(d, e.w, int(layer), run.Bytes, e.x[p.Row])
		for i := range y {
			y[i] *= float64(e.routing.Weights[int(p.Row)*k+int(p.Rank)])
		}
		e.parts[p.Row][p.Rank] = y
	}
	return nil, nil
}

func (e *refExecutor) Tail(layer gturbo.LayerID, b *core.Batch) error {
	if err := e.enter("tail", int(layer), b); err != nil {
		return err
	}
	for row, parts := range e.parts {
		routed := make([]float64, e.w.Config.Hidden)
		for _, p := range parts {
			if p == nil {
				panic("a chosen expert was not run")
			}
			routed = add(routed, p)
		}
		e.x[row] = layerOut(e.w, int(layer), e.x[row], e.shared[row], routed)
	}
	return e.leave("tail", int(layer), e.x)
}

func (e *refExecutor) Head(b *core.Batch, rows []int, dst []float32) error {
	if err := e.enter("head", -1, b); err != nil {
		return err
	}
	for i, row := range rows {
		z := logitsOf(e.d, e.w, e.x[row])
		if e.spoil != nil && e.spoil("head", -1) {
			z[3] = math.Inf(1)
		}
		for j, v := range z {
			dst[i*len(z)+j] = float32(v)
		}
	}
	return nil
}

func (e *refExecutor) Residual(b *core.Batch, dst []float32) error {
	for row, x := range e.x {
		for i, v := range x {
			dst[row*len(x)+i] = float32(v)
		}
	}
	return nil
}

func (e *refExecutor) Drain() error { return nil }
func (e *refExecutor) Close() error { return nil }

// refCache keeps float32 rows.
type refCache struct {
	spec   core.CacheSpec
	cfg    *core.Config
	layers []struct{ k, v *pages.Region }
}

func (e *refExecutor) NewCache(spec core.CacheSpec) (core.Cache, error) {
	c := &refCache{spec: spec, cfg: &e.w.Config, layers: make([]struct{ k, v *pages.Region }, len(e.w.Config.Layers))}
	for l, lc := range e.w.Config.Layers {
		size := c.rows(lc) * lc.KVHeads * lc.HeadDim * 4
		for _, r := range []**pages.Region{&c.layers[l].k, &c.layers[l].v} {
			var err error
			if *r, err = pages.Alloc("kv", size); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func (c *refCache) rows(lc core.LayerConfig) int {
	if lc.Full {
		return c.spec.MaxContext
	}
	return c.spec.Ring
}

func (c *refCache) row(layer gturbo.LayerID, side []byte, pos, head int) []byte {
	lc := c.cfg.Layers[layer]
	size := lc.HeadDim * 4
	return side[(pos%c.rows(lc)*lc.KVHeads+head)*size:][:size]
}

func (c *refCache) put(layer gturbo.LayerID, pos int, k, v [][]float64) {
	key, value := c.Layer(layer)
	for head := range k {
		for i := range k[head] {
			binary.LittleEndian.PutUint32(c.row(layer, key, pos, head)[4*i:], math.Float32bits(float32(k[head][i])))
			binary.LittleEndian.PutUint32(c.row(layer, value, pos, head)[4*i:], math.Float32bits(float32(v[head][i])))
		}
	}
}

func (c *refCache) get(layer gturbo.LayerID, lo, hi, head int) (keys, values [][]float64) {
	key, value := c.Layer(layer)
	read := func(b []byte) []float64 {
		out := make([]float64, len(b)/4)
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
		return out
	}
	for pos := lo; pos < hi; pos++ {
		keys = append(keys, read(c.row(layer, key, pos, head)))
		values = append(values, read(c.row(layer, value, pos, head)))
	}
	return keys, values
}

func (c *refCache) Spec() core.CacheSpec { return c.spec }

func (c *refCache) Layer(l gturbo.LayerID) (k, v []byte) {
	return c.layers[l].k.Bytes(), c.layers[l].v.Bytes()
}

func (c *refCache) SizeBytes() int64 {
	n := 0
	for _, l := range c.layers {
		n += len(l.k.Bytes()) + len(l.v.Bytes())
	}
	return int64(n)
}

func (c *refCache) Close() error {
	for _, l := range c.layers {
		l.k.Close()
		l.v.Close()
	}
	return nil
}
