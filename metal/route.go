package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// Route scores the experts from the residual stream, prepares what the chosen ones will see, and waits.
func (e *executor) Route(layer gturbo.LayerID, b *core.Batch) (core.Routing, error) {
	p, n := &e.layers[layer], len(b.Tokens)
	e.s.label = p.label.attend
	e.s.dispatch(e.k.routerInput, driver.D1(n), in(e.region.buffer), in(e.residual), in(e.normed), in(e.expertIn),
		inBytes(shaders.Bytes(&p.routerInput)))
	e.product(&p.router, p.bits.router, n, in(e.normed), in(e.scores))
	e.at.choose = p.choose
	e.at.choose.Rows = u32(n)
	e.s.dispatch(e.k.choose, driver.D1(ceil(n, shaders.RouterSimds)), in(e.region.buffer), in(e.scores), in(e.chosen),
		in(e.shares), inBytes(shaders.Bytes(&e.at.choose)))
	e.commit()
	if err := e.s.wait(); err != nil {
		return core.Routing{}, err
	}
	count := n * e.w.Config.TopK
	for i, id := range words(e.chosen)[:count] {
		e.experts[i] = gturbo.ExpertID(id)
	}
	copy(e.weights, floats(e.shares)[:count])
	return core.Routing{Experts: e.experts[:count], Weights: e.weights[:count]}, nil
}

// Shared queues the shared expert and sends it off, so that the GPU works while experts are read. Its post norm is part
// of tail.
func (e *executor) Shared(layer gturbo.LayerID, b *core.Batch) error {
	p, n := &e.layers[layer], len(b.Tokens)
	e.s.label = p.label.shared
	e.normRows(e.k.norm, &p.preSharedNorm, n, in(e.residual), in(e.normed))
	e.at.geglu = p.up
	e.at.geglu.Rows = u32(n)
	k, width, height := e.gegluGrid(p.bits.up, int(p.up.Outputs), n)
	e.s.dispatch(k, driver.D2(width, height), in(e.region.buffer), in(e.normed), in(e.act),
		inBytes(shaders.Bytes(&e.at.geglu)))
	e.product(&p.down, p.bits.down, n, in(e.act), in(e.shared))
	e.commit()
	return e.s.err
}

// Tail queues the join of the branches. The last layer's is sent off; others go with the next layer's attend.
func (e *executor) Tail(layer gturbo.LayerID, b *core.Batch) error {
	e.flushRuns()
	p := &e.layers[layer]
	e.s.label = p.label.tail
	e.s.threadgroupMemory(4 * e.w.Config.Hidden)
	e.s.dispatch(e.k.tail, driver.D1(len(b.Tokens)), in(e.region.buffer), in(e.shared), in(e.routed), in(e.shares),
		in(e.residual), inBytes(shaders.Bytes(&p.tail)))
	if int(layer) == len(e.layers)-1 {
		e.commit()
	}
	return e.end()
}
