package residency

import (
	"errors"
	"fmt"
)

// Plan is a division of memory that fits.
type Plan struct {
	Slots   int  // per layer; unused when Mapped
	Chunk   int  // most rows of a prefill chunk
	Ring    int  // rows of a sliding layer's KV cache
	Context int  // positions
	Mapped  bool // expert files are mapped and read in place
	// Saved is what a session may spend on copies of ring rows, with which it goes back behind a long answer.
	Saved int64

	Budget int64 // that the plan keeps
	Asked  int64 // the budget wished for, if the machine cannot spare it; else 0
	Items  []Item
	// Encoding is what is held while a picture is encoded on demand, 0 without images. It counts instead of Total.
	Encoding int64
	Speed    Speed
}

// An Item is one line of the sum.
type Item struct {
	Name, Detail string
	Bytes        int64
	Clean        bool // mapped from a file: the system may drop it, and macOS does not count it
}

// Total is everything held while text is computed.
func (p *Plan) Total() int64 {
	n := int64(0)
	for _, item := range p.Items {
		n += item.Bytes
	}
	return n
}

// Footprint is Total without clean mapped weights: how macOS counts.
func (p *Plan) Footprint() int64 {
	n := int64(0)
	for _, item := range p.Items {
		if !item.Clean {
			n += item.Bytes
		}
	}
	return n
}

// Peak is the most held at any time.
func (p *Plan) Peak() int64 { return max(p.Total(), p.Encoding) }

const (
	defaultContext = 4096
	leastContext   = 1024
	leastChunk     = 128
	// mostContext is where a context that nobody asked for stops to grow when everything else is in memory.
	mostContext = 32768
	// savedShare is the part of the budget kept for saved rows, if they need that much.
	savedShare = 32
)

var chunks = []int{leastChunk, 256, 512, 1024}

// MakePlan divides the budget: among all plans that fit, the one that finishes a typical turn first, so that more
// memory never makes a plan that is expected to be slower. What the user asks for stands; only a context that nobody
// asked for shrinks, to 1024 positions at least, before a plan is refused. A refusal wraps ErrBudget and has the
// numbers; a wish that no budget could grant wraps ErrOptions.
func MakePlan(m Model, w Wish) (*Plan, error) {
	if err := errors.Join(m.validate(), w.validate(m)); err != nil {
		return nil, err
	}
	budget, wish := w.Budget, w
	if budget == 0 {
		wish.Slots, wish.Chunk = defaulted(w.Slots, defaultSlots), defaulted(w.Chunk, leastChunk)
		wish.Context = defaulted(w.Context, min(defaultContext, m.MaxContext))
		p := m.lay(wish.Slots, wish.Chunk, wish.Context, false, w.Machine)
		m.save(p, p.Peak()/savedShare)
		if w.Spare == 0 || p.Peak() <= w.Spare {
			p.Budget = p.Peak()
			return p, nil
		}
		budget, wish = w.Spare, w
	}
	asked := int64(0)
	if w.Spare > 0 && w.Spare < budget {
		asked, budget = budget, w.Spare
	}
	var least *Plan
	for _, context := range contexts(m, w) {
		// Saved rows get their share unless that is what makes a plan too large.
		best, smallest := m.search(budget-budget/savedShare, context, wish)
		if best == nil {
			best, smallest = m.search(budget, context, wish)
		}
		if best != nil {
			best = m.lengthen(best, budget, w)
			m.save(best, budget-best.Peak())
			best.Budget, best.Asked = budget, asked
			return best, nil
		}
		least = smallest
	}
	return nil, refusal(least, budget, w)
}

// lengthen doubles the context of a plan that has everything else in memory, as often as that fits.
func (m Model) lengthen(p *Plan, budget int64, w Wish) *Plan {
	for p.Mapped && w.Context == 0 {
		context := 2 * p.Context
		if context > min(mostContext, m.MaxContext) {
			break
		}
		longer := m.lay(p.Slots, p.Chunk, context, true, w.Machine)
		if longer.Peak()+m.allRows(longer) > budget {
			break
		}
		p = longer
	}
	return p
}

// allRows is the size of a copy of every ring row: more is never saved.
func (m Model) allRows(p *Plan) int64 { return int64(p.Ring) * m.KVRow }

// save gives a plan at most n bytes for saved rows.
func (m Model) save(p *Plan, n int64) {
	p.Saved = min(n, m.allRows(p))
	if p.Saved <= 0 {
		return
	}
	p.Items = append(p.Items, Item{Name: "saved rows", Bytes: p.Saved, Detail: "at most, to go back behind long answers"})
	if p.Encoding > 0 {
		p.Encoding += p.Saved
	}
}

func defaulted(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// contexts lists what to try: the wish, or from the default down.
func contexts(m Model, w Wish) []int {
	if w.Context > 0 {
		return []int{w.Context}
	}
	var list []int
	for c := min(defaultContext, m.MaxContext); c >= leastContext || len(list) == 0; c /= 2 {
		list = append(list, c)
	}
	return list
}

// search returns the fastest plan that fits, nil if none does, and the smallest of all.
func (m Model) search(budget int64, context int, w Wish) (best, least *Plan) {
	try := func(slots, chunk int, mapped bool) {
		p := m.lay(slots, chunk, context, mapped, w.Machine)
		if least == nil || p.Peak() < least.Peak() {
			least = p
		}
		if p.Peak() <= budget && (best == nil || p.Speed.turn < best.Speed.turn) {
			best = p
		}
	}
	list := chunks
	if w.Chunk > 0 {
		list = []int{w.Chunk}
	}
	for _, chunk := range list {
		if w.Slots == 0 { // first: it wins a tie against as many slots as experts
			try(m.Experts, chunk, true)
		}
		for slots := min(minSlots, m.Experts); slots <= min(maxSlots, m.Experts); slots++ {
			if w.Slots == 0 || w.Slots == slots {
				try(slots, chunk, false)
			}
		}
	}
	return best, least
}

// lay sums up one division of memory.
func (m Model) lay(slots, chunk, context int, mapped bool, machine Machine) *Plan {
	p := &Plan{Slots: min(slots, m.Experts), Chunk: chunk, Context: context, Mapped: mapped}
	rows := min(max(chunk, m.Span), context)
	p.Ring = min(m.Window-1+rows, context)
	experts := int64(m.Layers) * int64(m.Stride)
	add := func(name string, n int64, clean bool, format string, args ...any) {
		if n > 0 {
			p.Items = append(p.Items, Item{Name: name, Bytes: n, Clean: clean, Detail: fmt.Sprintf(format, args...)})
		}
	}
	add("shared weights", m.Resident, true, "mapped")
	if mapped {
		experts *= int64(m.Experts)
		add("experts", experts, true, "all %d of %d layers, mapped and read in place", m.Experts, m.Layers)
	} else {
		experts *= int64(p.Slots)
		add("expert slots", experts, false, "%d of %d in each of %d layers", p.Slots, m.Experts, m.Layers)
	}
	add("image tower", m.TowerKept, true, "mapped, kept ready")
	kv := int64(context)*m.KVPosition + int64(p.Ring)*m.KVRow
	add("KV cache", kv, false, "%d positions, rings of %d rows", context, p.Ring)
	add("other conversations", m.Kept, false, "kept by the server")
	add("scratch", m.Scratch+int64(rows)*m.ScratchRow, false, "chunks of %d rows", rows)
	add("program", m.Program, false, "code, heap, stacks")
	if m.TowerEncoding > 0 {
		p.Encoding = p.Total() - experts + m.TowerEncoding
		if mapped || m.TowerKept > 0 { // a tower kept ready leaves them; clean pages count until they give way
			p.Encoding += experts
		}
	}
	p.Speed = m.speed(p, machine)
	return p
}
