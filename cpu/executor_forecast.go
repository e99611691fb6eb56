package cpu

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

var _ core.Forecaster = (*executor)(nil)

// Forecast scores the experts of the next layer from the residual stream of one row as Tail would leave it now: with
// the shared expert and those of the chosen ones that have run. It uses the block's scratch, which no stage keeps
// anything in.
func (e *executor) Forecast(layer gturbo.LayerID, b *core.Batch) ([]gturbo.ExpertID, error) {
	c, l := &e.w.Config, &e.w.Layers[layer]
	if e.forecast.experts == nil {
		e.forecast.experts = make([]gturbo.ExpertID, c.TopK)
		e.forecast.weights = make([]float32, c.TopK)
	}
	input, x := e.worker[0][:c.Hidden], e.out[:c.Hidden]
	clear(input)
	for rank, ran := range e.ran {
		if ran {
			e.addExpert(input, 0, rank)
		}
	}
	copy(x, e.residualRow(0))
	e.join(x, input, 0)
	e.k.routerInput(input, x, l.RouterScale, c.RMSNormEps)
	e.k.pack(e.packedRow(0), input, l.Router.Bits)
	e.input(1).add(l.Router, e.scores, c.Experts).run(e.pool)
	choose(e.forecast.experts, e.forecast.weights, e.scores[:c.Experts], l.PerExpertScale)
	return e.forecast.experts, nil
}
