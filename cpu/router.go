package cpu

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// routerInput is RMS(x) * w * D^(-1/2), the norm without a weight: dst is what the router's matrix sees.
func (k *kernelSet) routerInput(dst, x []float32, w core.Vector, eps float32) {
	k.norm(dst, x, nil, eps)
	factor := float32(1 / math.Sqrt(float64(len(x))))
	for i, v := range dst {
		dst[i] = v * vectorAt(w, i) * factor
	}
}

// choose picks the len(experts) highest scores, highest first, the lower id first on a tie, and writes the softmax
// over the chosen, times perExpert of each: the scale comes after the softmax and nothing is normalized again.
func choose(experts []gturbo.ExpertID, weights, scores []float32, perExpert core.Vector) {
	for rank := range experts {
		best := -1
		for e, s := range scores {
			if !chosen(experts[:rank], e) && (best < 0 || s > scores[best]) {
				best = e
			}
		}
		experts[rank] = gturbo.ExpertID(best)
	}
	top := scores[experts[0]]
	var sum float64
	for _, e := range experts {
		sum += math.Exp(float64(scores[e] - top))
	}
	for rank, e := range experts {
		weights[rank] = float32(math.Exp(float64(scores[e]-top))/sum) * vectorAt(perExpert, int(e))
	}
}

func chosen(experts []gturbo.ExpertID, e int) bool {
	for _, c := range experts {
		if int(c) == e {
			return true
		}
	}
	return false
}
