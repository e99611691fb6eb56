package core

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A Forecaster is an Executor that can tell early which experts a layer will probably choose. Found by one type
// assertion, when Options.Lookahead asks for it.
type Forecaster interface {
	// Forecast applies the router of layer to the residual stream as it stands, of a batch of one row, and returns the K
	// experts that it would choose, valid until the next Forecast. It is called between Route and Tail of the layer
	// before, and changes nothing that later stages read.
	Forecast(layer gturbo.LayerID, b *Batch) ([]gturbo.ExpertID, error)
}

// A lookahead guesses the next layer's experts from this layer's input, so that their reads can start early. Guesses
// never reach the output: a layer's own router decides.
type lookahead struct {
	forecaster Forecaster
	layer      gturbo.LayerID // that foretold is for
	foretold   []gturbo.ExpertID

	chosen, right int64 // experts chosen where there was a forecast, and those of them that it had named
}

// foretell starts reads for the layer after l. It is called after the demands of l are queued, which go first. Chunks of
// more rows want nearly every expert: there is nothing to guess.
func (p *program) foretell(l gturbo.LayerID, b *Batch) error {
	a := &p.lookahead
	if a.forecaster == nil || len(b.Tokens) != 1 || int(l)+1 >= len(p.cfg.Layers) {
		return nil
	}
	experts, err := a.forecaster.Forecast(l+1, b)
	if err != nil {
		return err
	}
	a.layer, a.foretold = l+1, append(a.foretold[:0], experts...)
	p.experts.Prefetch(l+1, experts)
	return nil
}

// judge counts how much of a layer's choice was foretold.
func (a *lookahead) judge(l gturbo.LayerID, chosen []gturbo.ExpertID) {
	if len(a.foretold) == 0 || a.layer != l {
		return
	}
	for _, e := range chosen {
		a.chosen++
		if slices.Contains(a.foretold, e) {
			a.right++
		}
	}
	a.foretold = a.foretold[:0]
}
