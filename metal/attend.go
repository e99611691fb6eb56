package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// Attend queues the attention half of a layer. The keys and values of all rows are stored before any row attends.
func (e *executor) Attend(layer gturbo.LayerID, b *core.Batch, c core.Cache) error {
	cache, ok := c.(*kvCache)
	if !ok {
		panic(fmt.Sprintf("BUG: metal: cache of type %T", c))
	}
	n := len(b.Tokens)
	if b.Pos+n > cache.spec.MaxContext {
		panic(fmt.Sprintf("BUG: metal: positions up to %d in a cache of %d", b.Pos+n, cache.spec.MaxContext))
	}
	p, kv := &e.layers[layer], &cache.layers[layer]
	e.s.label = p.label.attend
	keys, values := in(kv.buffer), inAt(kv.buffer, kv.values())

	e.normRows(e.k.norm, &p.inputNorm, n, in(e.residual), in(e.normed))
	e.product(&p.qkv, p.bits.qkv, n, in(e.normed), in(e.qkv))

	e.at.heads = p.heads
	e.at.heads.Pos, e.at.heads.KVRows = u32(b.Pos), u32(kv.rows)
	turn, ends := e.chunk.slidingTurn, e.chunk.slidingEnd
	if p.config.Full {
		turn, ends = e.chunk.fullTurn, e.chunk.fullEnd
	}
	heads := ceil(int(p.heads.Heads+2*p.heads.KVHeads), shaders.HeadSimds)
	e.s.dispatch(e.k.heads, driver.D2(heads, n), in(e.region.buffer), in(turn), in(e.qkv), keys, values,
		inBytes(shaders.Bytes(&e.at.heads)))

	e.at.attend = p.attend
	e.at.attend.Rows, e.at.attend.Pos, e.at.attend.KVRows = u32(n), u32(b.Pos), u32(kv.rows)
	if n == 1 {
		if err := e.attendSplit(p, b, keys, values, in(ends)); err != nil {
			return err
		}
	} else {
		k, tile := e.k.attend[p.config.HeadDim], shaders.AttendTile
		if t := e.k.tensor.attend[p.config.HeadDim]; t != nil && n > shaders.ProductRows {
			k, tile = t, shaders.TensorQueries
		}
		e.s.dispatch(k, driver.D2(ceil(n*int(p.attend.Group), tile), p.config.KVHeads), in(e.qkv), keys, values, in(ends),
			inBytes(shaders.Bytes(&e.at.attend)))
	}
	e.product(&p.output, p.bits.output, n, in(e.qkv), in(e.out))
	e.normRows(e.k.normAdd, &p.postAttentionNorm, n, in(e.out), in(e.residual))
	return e.end()
}

// attendSplit gives the blocks of one row to threadgroups of their own and joins the parts.
func (e *executor) attendSplit(p *layerPlan, b *core.Batch, keys, values, ends argument) error {
	low, high, width := 0, b.FullEnd[0], p.config.HeadDim
	if !p.config.Full {
		low, high = max(0, b.Pos+1-e.w.Config.Window), b.SlidingEnd[0]
	}
	first, last := low/shaders.AttendBlock, ceil(high, shaders.AttendBlock)
	blocks, heads := last-first, e.w.Config.Heads
	if err := e.grow(&e.parts, 8*capacity(blocks)*heads, "attention parts"); err != nil {
		return err
	}
	if err := e.grow(&e.sums, 4*capacity(blocks)*heads*width, "attention sums"); err != nil {
		return err
	}
	e.at.attend.FirstBlock, e.at.attend.Blocks = u32(first), u32(blocks)
	params := inBytes(shaders.Bytes(&e.at.attend))
	tiles := ceil(int(p.attend.Group), shaders.AttendTile)
	e.s.dispatch(e.k.attendSplit[width], driver.D3(blocks, tiles, p.config.KVHeads), in(e.qkv), keys, values, ends,
		in(e.parts), in(e.sums), params)
	e.s.dispatchThreads(e.k.attendJoin[width], driver.D3(width/2, heads, 1), in(e.parts), in(e.sums), in(e.qkv), params)
	return nil
}

// capacity rounds a number of blocks up so that a growing sequence seldom needs new buffers.
func capacity(blocks int) int { return (blocks + 63) &^ 63 }
