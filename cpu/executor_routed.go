package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// Routed runs one expert on the rows that chose it. Of a batch of one row, experts that follow each other without a wait
// run together: their products are too short to be divided among threads one by one.
func (e *executor) Routed(_ gturbo.LayerID, b *core.Batch, run core.ExpertRun) (residency.Fence, error) {
	x := e.w.Expert
	if len(run.Bytes) < x.Stride {
		panic(fmt.Sprintf("BUG: cpu: expert %d of %d bytes, want a blob of %d", run.Expert, len(run.Bytes), x.Stride))
	}
	w := ffnWeights{x.Gate.View(run.Bytes), x.Up.View(run.Bytes), x.Down.View(run.Bytes)}
	if len(run.Picks) == 1 {
		e.held.add(run.Picks[0], w)
		if run.More && len(b.Tokens) == 1 && len(e.held.runs) < e.w.Config.TopK {
			return e.held.promise(), nil
		}
		e.runHeld()
		return nil, nil
	}
	for picks := run.Picks; len(picks) > 0; {
		rows := min(rowBlock, len(picks))
		e.runPicks(picks[:rows], w)
		picks = picks[rows:]
	}
	return nil, nil
}

// runPicks runs one expert on at most rowBlock picks.
func (e *executor) runPicks(picks []core.Pick, w ffnWeights) {
	e.at.picks = picks
	e.eachRow(len(picks), (*executor).gatherPick)
	e.ffn(e.input(len(picks)), len(picks), w, e.out)
	e.eachRow(len(picks), (*executor).scatterPick)
}

func (e *executor) gatherPick(_, i int) { copy(e.packedRow(i), e.expertRow(int(e.at.picks[i].Row))) }

func (e *executor) scatterPick(_, i int) {
	d := e.w.Config.Hidden
	copy(e.routedRow(e.at.picks[i]), e.out[i*d:][:d])
}

// heldRuns are experts with one pick each that wait to run together.
type heldRuns struct {
	runs  []heldRun
	fence *heldFence // of the runs that wait, nil before somebody asked for it
}

type heldRun struct {
	pick core.Pick
	w    ffnWeights
}

func (h *heldRuns) add(p core.Pick, w ffnWeights) { h.runs = append(h.runs, heldRun{p, w}) }

// promise returns the fence that passes when the runs so far have run.
func (h *heldRuns) promise() residency.Fence {
	if h.fence == nil {
		h.fence = &heldFence{done: make(chan struct{})}
	}
	return h.fence
}

// release forgets the runs, which have run or never will, and lets their fence pass.
func (h *heldRuns) release() {
	h.runs = h.runs[:0]
	if h.fence != nil {
		close(h.fence.done)
		h.fence = nil
	}
}

type heldFence struct{ done chan struct{} }

func (f *heldFence) Passed() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func (f *heldFence) Wait() { <-f.done }

// runHeld runs the experts that wait, each on its pick's row.
func (e *executor) runHeld() {
	runs := e.held.runs
	width, bits := runs[0].w.gate.Out, runs[0].w.down.Bits
	job := e.affine.input(nil, 0, 1)
	for i, r := range runs {
		x := e.expertRow(int(r.pick.Row))
		job.addFrom(x, r.w.gate, e.gate[i*width:], width).addFrom(x, r.w.up, e.up[i*width:], width)
	}
	job.run(e.pool)
	e.at.width, e.at.bits = width, bits
	e.eachRow(len(runs), (*executor).packActivated)
	job = e.fine.input(nil, 0, 1)
	for i, r := range runs {
		job.addFrom(e.packedRow(i), r.w.down, e.routedRow(r.pick), e.w.Config.Hidden)
		if r.pick.Row == 0 {
			e.ran[r.pick.Rank] = true
		}
	}
	job.run(e.pool)
	e.held.release()
}

// routedRow is where the output of a pick is kept until Tail.
func (e *executor) routedRow(p core.Pick) []float32 {
	c := &e.w.Config
	return e.routed[(int(p.Row)*c.TopK+int(p.Rank))*c.Hidden:][:c.Hidden]
}
