package cpu

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// A kvCache holds keys and values of one sequence: per layer [rows, G, Dh] of each, in one region.
type kvCache struct {
	spec   core.CacheSpec
	kv     core.KVType
	layers []kvLayer
	region *pages.Region
}

// A kvLayer is the cache of one layer. Position p lies in row p % rows, which for full layers is p.
type kvLayer struct {
	k, v []byte
	rows int
	// stride is the bytes of one row, all heads.
	stride int
}

func kvBytes(kv core.KVType) int {
	if kv == core.KVFloat32 {
		return 4
	}
	return 2
}

func newCache(cfg *core.Config, kv core.KVType, spec core.CacheSpec) (*kvCache, error) {
	if spec.MaxContext < 1 || spec.Ring < 1 {
		return nil, fmt.Errorf("cpu: KV cache of %d positions, ring of %d rows: want at least 1 of each: %w",
			spec.MaxContext, spec.Ring, ErrShape)
	}
	c := &kvCache{spec: spec, kv: kv, layers: make([]kvLayer, len(cfg.Layers))}
	total := 0
	for i, l := range cfg.Layers {
		rows := min(spec.Ring, spec.MaxContext)
		if l.Full {
			rows = spec.MaxContext
		}
		c.layers[i] = kvLayer{rows: rows, stride: l.KVHeads * l.HeadDim * kvBytes(kv)}
		total += 2 * alignUp(rows*c.layers[i].stride)
	}
	region, err := pages.Alloc("kv", total)
	if err != nil {
		return nil, fmt.Errorf("cpu: KV cache: %w", err)
	}
	c.region = region
	free := region.Bytes()
	take := func(n int) []byte {
		part := free[:n:n]
		free = free[alignUp(n):]
		return part
	}
	for i := range c.layers {
		l := &c.layers[i]
		l.k = take(l.rows * l.stride)
		l.v = take(l.rows * l.stride)
	}
	return c, nil
}

func alignUp(n int) int { return (n + arenaAlign - 1) &^ (arenaAlign - 1) }

func (c *kvCache) Spec() core.CacheSpec { return c.spec }

func (c *kvCache) Layer(layer gturbo.LayerID) (k, v []byte) {
	return c.layers[layer].k, c.layers[layer].v
}

func (c *kvCache) SizeBytes() int64 { return int64(len(c.region.Bytes())) }

func (c *kvCache) Close() error { return c.region.Close() }

// runs calls f for the stored rows of positions [lo, hi), which are at most l.rows: once, or twice around the ring's
// end. first is the position of the first row given.
func (l *kvLayer) runs(lo, hi int, f func(first, row, count int)) {
	row := lo % l.rows
	count := min(hi-lo, l.rows-row)
	f(lo, row, count)
	if rest := hi - lo - count; rest > 0 {
		f(lo+count, 0, rest)
	}
}

// store writes one row of keys or values, rounded to FP16 or as it is.
func (k *kernelSet) store(dst []byte, x []float32, kv core.KVType) {
	if kv == core.KVFloat32 {
		copy(dst, byteView(x))
		return
	}
	k.half(dst, x)
}

// plainHalf rounds to the nearest FP16, ties to even.
func plainHalf(dst []byte, x []float32) {
	for i, f := range x {
		binary.LittleEndian.PutUint16(dst[2*i:], bf16.HalfBits(f))
	}
}

// widenKV reads len(dst) stored elements.
func widenKV(dst []float32, src []byte, kv core.KVType) {
	if kv == core.KVFloat32 {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
		return
	}
	for i := range dst {
		dst[i] = bf16.HalfFloat32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}
