package residency

import "math"

// Machine holds measured rates. A zero field is replaced by that of an ordinary laptop, and the plan says so.
type Machine struct {
	Disk    float64 // bytes per second of expert-sized reads, see Probe
	Memory  float64 // bytes of weights per second that decoding gets through, when none have to be read
	Compute float64 // rows per second of prefill in chunks of 128, with all experts in memory
	Spread  float64 // how much longer arithmetic takes in bad moments, as a share
}

// Rates of a 2-core x86-64 machine with a virtual disk, used where nothing was measured.
var ordinary = Machine{Disk: 1.3e9, Memory: 30e9, Compute: 40}

// Speed is what a plan is expected to reach, in tokens per second.
type Speed struct {
	Decode, Prefill Range
	// DecodeCost and PrefillCost are what one token costs.
	DecodeCost, PrefillCost Cost
	// Measured is false when a rate of the machine was not known.
	Measured bool
	turn     float64 // seconds of a typical turn: how plans are compared
}

// Range is an expectation with its error bar: Low if nothing overlaps and arithmetic meets bad moments, High if reads and
// arithmetic hide each other wholly.
type Range struct{ Low, High float64 }

// Expected is the middle of the range.
func (r Range) Expected() float64 { return (r.Low + r.High) / 2 }

// A typical turn, for which the planner weighs slots against chunk: a page of prompt and half a page of answer.
const (
	turnPrompt = 1024
	turnAnswer = 256
)

// leastRowShare bounds what one row of a measured chunk cost: the rest was for each weight, however many rows it met.
const leastRowShare = 0.3

// burst is what the misses of a layer, which come all at once and then none for a while, take longer than as many in an
// unbroken row (docs/experiments.md, E8).
const burst = 1.1

// reuse is the exponent of the hit rate's growth: a share x of a layer's experts in slots serves x^reuse of the wishes.
// 1 would be a router without favourites.
const reuse = 0.75

func (m Model) speed(p *Plan, machine Machine) Speed {
	s := Speed{Measured: machine.Disk > 0 && machine.Memory > 0 && machine.Compute > 0}
	for _, rate := range []struct{ have, otherwise *float64 }{
		{&machine.Disk, &ordinary.Disk}, {&machine.Memory, &ordinary.Memory}, {&machine.Compute, &ordinary.Compute},
	} {
		if *rate.have <= 0 {
			*rate.have = *rate.otherwise
		}
	}
	share := float64(p.Slots) / float64(m.Experts)
	if p.Mapped {
		share = 1
	}
	layers, stride := float64(m.Layers), float64(m.Stride)
	// A token reads the shared weights and K experts of each layer; those not in slots come from the disk. With fewer
	// slots than K, one token's experts push each other out and next to nothing is found again.
	missed := 1 - math.Pow(share, reuse)
	if p.Slots < m.TopK && !p.Mapped {
		missed = 1
	}
	decode := Cost{
		Read:    burst * missed * float64(m.TopK) * layers * stride / machine.Disk,
		Compute: (float64(m.Resident) + float64(m.TopK)*layers*stride) / machine.Memory,
	}
	// A chunk touches the experts of K draws per row and layer, and keeps of the last chunk what fits the slots.
	experts := float64(m.Experts) * layers * stride
	touched := func(chunk int) float64 { return 1 - math.Pow(1-float64(m.TopK)/float64(m.Experts), float64(chunk)) }
	// weights is each row's share of what a chunk spends on every weight that it touches: fetching, unpacking.
	weights := func(chunk int) float64 {
		return (float64(m.Resident) + touched(chunk)*experts) / machine.Memory / float64(chunk)
	}
	row := max(1/machine.Compute-weights(leastChunk), leastRowShare/machine.Compute)
	prefill := Cost{
		Read:    max(0, touched(p.Chunk)-share) * experts / machine.Disk / float64(p.Chunk),
		Compute: row + weights(p.Chunk),
	}
	s.DecodeCost, s.PrefillCost = decode, prefill
	s.Decode, s.Prefill = decode.perSecond(machine.Spread), prefill.perSecond(machine.Spread)
	s.turn = turnPrompt/s.Prefill.Expected() + turnAnswer/s.Decode.Expected()
	return s
}

// Cost is the seconds that one token spends on the disk and in arithmetic.
type Cost struct{ Read, Compute float64 }

func (c Cost) perSecond(spread float64) Range {
	return Range{Low: 1 / (c.Read + c.Compute*(1+spread)), High: 1 / max(c.Read, c.Compute)}
}
