package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// Embed fills the residual stream and prepares the rotations of the chunk's positions.
func (e *executor) Embed(b *core.Batch) error {
	e.checkBatch(b)
	e.at.batch = b
	e.eachRow(len(b.Tokens), (*executor).embedToken)
	for _, s := range b.Soft {
		copy(e.residualRow(s.Row), s.Data)
	}
	return nil
}

func (e *executor) checkBatch(b *core.Batch) {
	n := len(b.Tokens)
	if n > e.opts.MaxRows || len(b.SlidingEnd) != n || len(b.FullEnd) != n {
		panic(fmt.Sprintf("BUG: cpu: batch of %d tokens, %d and %d ends; executor of %d rows",
			n, len(b.SlidingEnd), len(b.FullEnd), e.opts.MaxRows))
	}
}

func (e *executor) embedToken(_, row int) {
	id := int(e.at.batch.Tokens[row])
	if id < 0 || id >= e.w.Config.Vocab {
		panic(fmt.Sprintf("BUG: cpu: token %d of a vocabulary of %d", id, e.w.Config.Vocab))
	}
	embedRow(e.residualRow(row), e.w.Embed, id, e.w.Config.EmbedScale)
}

// Attend adds the attention half of a layer to the residual stream, block of rows by block. The keys and values of all
// rows are stored before any row attends.
func (e *executor) Attend(layer gturbo.LayerID, b *core.Batch, c core.Cache) error {
	cache, ok := c.(*kvCache)
	if !ok {
		panic(fmt.Sprintf("BUG: cpu: cache of type %T", c))
	}
	n := len(b.Tokens)
	if b.Pos+n > cache.spec.MaxContext {
		panic(fmt.Sprintf("BUG: cpu: positions up to %d in a cache of %d", b.Pos+n, cache.spec.MaxContext))
	}
	e.at.layer, e.at.config, e.at.batch = &e.w.Layers[layer], e.w.Config.Layers[layer], b
	e.at.kv = &cache.layers[layer]
	e.at.rope = e.sliding
	if e.at.config.Full {
		e.at.rope = e.full
	}
	e.at.rope.fill(b.Pos, n)
	single := n <= rowBlock
	for base := 0; base < n; base += rowBlock {
		e.project(base, min(rowBlock, n-base), single, true)
	}
	for base := 0; base < n; base += rowBlock {
		rows := min(rowBlock, n-base)
		if !single {
			e.project(base, rows, true, false)
		}
		e.attendBlock(rows, cache.kv)
	}
	return nil
}

// project norms a block of rows and makes its queries, its keys and values (stored at once), or all three.
func (e *executor) project(base, rows int, query, keyValue bool) {
	l, c := e.at.layer, e.at.config
	e.at.base = base
	e.eachRow(rows, (*executor).normInput)
	job := e.input(rows)
	kv := c.KVHeads * c.HeadDim
	if query {
		width := e.w.Config.Heads * c.HeadDim
		job.add(l.Query, e.query, width)
	}
	if keyValue {
		job.add(l.Key, e.key, kv)
		if !c.ValueFromKey {
			job.add(l.Value, e.value, kv)
		}
	}
	job.run(e.pool)
	if keyValue {
		e.eachRow(rows, (*executor).storeKeyValue)
	}
	if query {
		e.eachRow(rows, (*executor).finishQuery)
	}
}

func (e *executor) normInput(worker, row int) {
	normed := e.worker[worker][:e.w.Config.Hidden]
	e.k.norm(normed, e.residualRow(e.at.base+row), e.at.layer.InputNorm, e.w.Config.RMSNormEps)
	e.k.pack(e.packedRow(row), normed, e.at.layer.Query.Bits)
}

// storeKeyValue norms and rotates the row's keys, norms its values, and writes both to the cache. Values have no
// weight and no rotation; where the layer has no v_proj they come from the keys as projected, before norm and rotation.
func (e *executor) storeKeyValue(worker, row int) {
	c, eps := e.at.config, e.w.Config.RMSNormEps
	width := c.KVHeads * c.HeadDim
	key := e.key[row*width:][:width]
	value := e.value[row*width:][:width]
	if c.ValueFromKey {
		value = key
	}
	at := e.at.base + row
	kv := e.at.kv
	slot := (e.at.batch.Pos + at) % kv.rows * kv.stride
	head := e.worker[worker][:c.HeadDim]
	size := c.HeadDim * kvBytes(e.opts.KV)
	for g := range c.KVHeads {
		e.k.norm(head, value[g*c.HeadDim:][:c.HeadDim], nil, eps)
		e.k.store(kv.v[slot+g*size:][:size], head, e.opts.KV)
		e.k.norm(head, key[g*c.HeadDim:][:c.HeadDim], e.at.layer.KeyNorm, eps)
		e.at.rope.rotate(head, at)
		e.k.store(kv.k[slot+g*size:][:size], head, e.opts.KV)
	}
}

func (e *executor) finishQuery(_, row int) {
	dh := e.at.config.HeadDim
	for h := range e.w.Config.Heads {
		head := e.query[(row*e.w.Config.Heads+h)*dh:][:dh]
		e.k.norm(head, head, e.at.layer.QueryNorm, e.w.Config.RMSNormEps)
		e.at.rope.rotate(head, e.at.base+row)
	}
}

// attendBlock runs attention and output projection of the block whose queries are ready, and adds the result.
func (e *executor) attendBlock(rows int, typ core.KVType) {
	c := e.at.config
	ends, window := e.at.batch.SlidingEnd, e.w.Config.Window
	if c.Full {
		ends, window = e.at.batch.FullEnd, 0
	}
	e.attend = attendJob{
		k: e.k, q: e.query, dh: c.HeadDim, groups: c.KVHeads, perGroup: e.w.Config.Heads / c.KVHeads,
		ends: ends[e.at.base:][:rows], pos: e.at.batch.Pos + e.at.base, window: window,
		layer: e.at.kv, typ: typ, scratch: e.worker, partials: e.partials,
	}
	e.attend.run(e.pool, rows)
	e.eachRow(rows, (*executor).packAttention)
	e.fineInput(rows).add(e.at.layer.Output, e.out, e.w.Config.Hidden).run(e.pool)
	e.eachRow(rows, (*executor).addAttention)
}

func (e *executor) packAttention(_, row int) {
	width := e.w.Config.Heads * e.at.config.HeadDim
	e.fine.k.pack(e.packedRow(row), e.query[row*width:][:width], e.at.layer.Output.Bits)
}

func (e *executor) addAttention(_, row int) {
	d := e.w.Config.Hidden
	out := e.out[row*d:][:d]
	e.k.norm(out, out, e.at.layer.PostAttentionNorm, e.w.Config.RMSNormEps)
	e.k.combine(e.residualRow(e.at.base+row), 1, 1, out)
}
