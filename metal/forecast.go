package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

var _ core.Forecaster = (*executor)(nil)

// A forecast has buffers of its own: it runs while later stages still need those of route.
type forecast struct {
	input, expertIn, scores, chosen, shares driver.Buffer

	experts []gturbo.ExpertID
	at      struct{ choose shaders.ChooseParams }
}

// Forecast applies a later layer's router to the residual stream of one row, and waits.
func (e *executor) Forecast(layer gturbo.LayerID, _ *core.Batch) ([]gturbo.ExpertID, error) {
	c, p, f := &e.w.Config, &e.layers[layer], &e.ahead
	for _, b := range []part{
		{&f.input, 4 * c.Hidden, "forecast input"}, {&f.expertIn, 4 * c.Hidden, "forecast input"},
		{&f.scores, 4 * c.Experts, "forecast scores"}, {&f.chosen, 4 * c.TopK, "forecast"}, {&f.shares, 4 * c.TopK, "forecast"},
	} {
		if err := e.grow(b.buffer, b.bytes, b.label); err != nil {
			return nil, err
		}
	}
	e.s.label = "forecast"
	e.s.dispatch(e.k.routerInput, driver.D1(1), in(e.region.buffer), in(e.residual), in(f.input), in(f.expertIn),
		inBytes(shaders.Bytes(&p.routerInput)))
	e.product(&p.router, p.bits.router, 1, in(f.input), in(f.scores))
	f.at.choose = p.choose
	f.at.choose.Rows = 1
	e.s.dispatch(e.k.choose, driver.D1(1), in(e.region.buffer), in(f.scores), in(f.chosen), in(f.shares),
		inBytes(shaders.Bytes(&f.at.choose)))
	if err := e.s.wait(); err != nil {
		return nil, err
	}
	f.experts = f.experts[:0]
	for _, id := range words(f.chosen)[:c.TopK] {
		f.experts = append(f.experts, gturbo.ExpertID(id))
	}
	return f.experts, nil
}
