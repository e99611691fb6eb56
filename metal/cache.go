package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
)

// A kvCache holds keys and values of one sequence: a buffer per layer, [rows, G, Dh] keys, then values.
type kvCache struct {
	spec   core.CacheSpec
	layers []kvLayer
}

type kvLayer struct {
	buffer driver.Buffer
	rows   int // position p lies in row p % rows, which for full layers is p
	size   int // bytes of the keys, and of the values
}

// values is where the values begin. Offsets of bindings are multiples of 256 on every device.
func (l *kvLayer) values() int { return (l.size + 255) &^ 255 }

func kvBytes(kv core.KVType) int {
	if kv == core.KVFloat32 {
		return 4
	}
	return 2
}

// NewCache allocates zeroed keys and values.
func (e *executor) NewCache(spec core.CacheSpec) (core.Cache, error) {
	if spec.MaxContext < 1 || spec.Ring < 1 {
		return nil, fmt.Errorf("metal: KV cache of %d positions, ring of %d rows: want at least 1 of each: %w",
			spec.MaxContext, spec.Ring, ErrShape)
	}
	c := &kvCache{spec: spec}
	for _, l := range e.w.Config.Layers {
		kv := kvLayer{rows: min(spec.Ring, spec.MaxContext)}
		if l.Full {
			kv.rows = spec.MaxContext
		}
		kv.size = kv.rows * l.KVHeads * l.HeadDim * kvBytes(e.opts.KV)
		var err error
		if kv.buffer, err = e.b.device.NewBuffer(kv.values() + kv.size); err != nil {
			c.Close()
			return nil, fmt.Errorf("metal: KV cache: %w", err)
		}
		kv.buffer.SetLabel("kv")
		c.layers = append(c.layers, kv)
	}
	return c, nil
}

func (c *kvCache) Spec() core.CacheSpec { return c.spec }

func (c *kvCache) Layer(layer gturbo.LayerID) (k, v []byte) {
	l := &c.layers[layer]
	all := l.buffer.Bytes()
	return all[:l.size:l.size], all[l.values():][:l.size]
}

func (c *kvCache) SizeBytes() int64 {
	n := int64(0)
	for i := range c.layers {
		n += int64(c.layers[i].buffer.Len())
	}
	return n
}

// Close gives the memory back; queued work that uses it still completes.
func (c *kvCache) Close() error {
	for i := range c.layers {
		c.layers[i].buffer.Free()
	}
	c.layers = nil
	return nil
}
