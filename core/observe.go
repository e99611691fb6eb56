package core

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// An Observer watches the forward program and changes nothing. Its functions are called on the session's goroutine
// while the runtime is busy: they must not call back into it. Slices are valid during the call only. Any number of
// observers may watch; an unset function costs one nil test.
type Observer struct {
	// Residual sees the residual stream of a chunk, [N, D]: after embed with layer -1, then after the tail of each
	// layer. It costs a wait for the backend and a copy each time.
	Residual func(layer gturbo.LayerID, b *Batch, x []float32)
	// Route sees the router's choice of each layer for a chunk.
	Route func(layer gturbo.LayerID, b *Batch, r Routing)
}

type observers struct{ list []*Observer }

func (o *observers) add(n *Observer) { o.list = append(slices.Clone(o.list), n) }
func (o *observers) remove(n *Observer) {
	o.list = slices.DeleteFunc(slices.Clone(o.list), func(x *Observer) bool { return x == n })
}

func (o *observers) route(l gturbo.LayerID, b *Batch, r Routing) {
	for _, n := range o.list {
		if n.Route != nil {
			n.Route(l, b, r)
		}
	}
}

func (p *program) observeResidual(l gturbo.LayerID, b *Batch) error {
	copied := false
	for _, n := range p.observers.list {
		if n.Residual == nil {
			continue
		}
		if !copied {
			if err := p.readResidual(b); err != nil {
				return err
			}
			copied = true
		}
		n.Residual(l, b, p.residual)
	}
	return nil
}

func (p *program) readResidual(b *Batch) error {
	n := len(b.Tokens) * p.cfg.Hidden
	if cap(p.residual) < n {
		p.residual = make([]float32, n)
	}
	p.residual = p.residual[:n]
	return p.exec.Residual(b, p.residual)
}
