package cpu

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

var _ core.Forecaster = (*executor)(nil)

// Forecast scores the experts of a later layer from the residual stream of one row. It uses the block's scratch, which
// no stage keeps anything in.
func (e *executor) Forecast(layer gturbo.LayerID, b *core.Batch) ([]gturbo.ExpertID, error) {
	c, l := &e.w.Config, &e.w.Layers[layer]
	if e.forecast.experts == nil {
		e.forecast.experts = make([]gturbo.ExpertID, c.TopK)
		e.forecast.weights = make([]float32, c.TopK)
	}
	input := e.worker[0][:c.Hidden]
	e.k.routerInput(input, e.residualRow(0), l.RouterScale, c.RMSNormEps)
	e.k.pack(e.packedRow(0), input, l.Router.Bits)
	e.input(1).add(l.Router, e.scores, c.Experts).run(e.pool)
	choose(e.forecast.experts, e.forecast.weights, e.scores[:c.Experts], l.PerExpertScale)
	return e.forecast.experts, nil
}
