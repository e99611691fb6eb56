package core

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A Forecaster is an Executor that can tell early which experts a layer will probably choose. Found by one type
// assertion, when Options.Lookahead asks for it.
type Forecaster interface {
	// Forecast applies the router of layer to the residual stream of a batch of one row, and returns the K experts that
	// it would choose, the likeliest first, valid until the next Forecast. It is called between Shared and Tail of the
	// layer before, may count what that layer's experts have added so far, and changes nothing that later stages read.
	Forecast(layer gturbo.LayerID, b *Batch) ([]gturbo.ExpertID, error)
}

// A lookahead guesses the next layer's experts from what this layer has made so far, so that their reads can start
// early. Guesses never reach the output: a layer's own router decides.
type lookahead struct {
	forecaster Forecaster
	layer      gturbo.LayerID // that foretold is for
	foretold   []gturbo.ExpertID

	chosen, right int64 // experts chosen where there was a forecast, and those of them that it had named
}

// foretell starts reads for the layer after l, when at most one expert of l is still to come: then the guess knows most
// of what l does, its arithmetic runs while the last read does, and demands of l leave the disk free. Chunks of more
// rows want nearly every expert: there is nothing to guess.
func (p *program) foretell(l gturbo.LayerID, b *Batch) error {
	a := &p.lookahead
	if a.forecaster == nil || a.layer == l+1 || len(b.Tokens) != 1 || int(l)+1 >= len(p.cfg.Layers) ||
		p.pass.fetch.Left() > 1 || p.pass.fetch.Ready() {
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
	a.reset()
}

// reset forgets a forecast that was judged, or whose pass has failed.
func (a *lookahead) reset() { a.foretold, a.layer = a.foretold[:0], -1 }
