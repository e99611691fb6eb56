package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// Route scores the experts from the residual stream, and prepares what the chosen ones will see.
func (e *executor) Route(layer gturbo.LayerID, b *core.Batch) (core.Routing, error) {
	c := &e.w.Config
	e.at.layer, e.at.batch = &e.w.Layers[layer], b
	n := len(b.Tokens)
	for base := 0; base < n; base += rowBlock {
		rows := min(rowBlock, n-base)
		e.at.base = base
		e.eachRow(rows, (*executor).packRouter)
		e.input(rows).add(e.at.layer.Router, e.scores[base*c.Experts:], c.Experts).run(e.pool)
	}
	e.eachRow(n, (*executor).chooseExperts)
	return core.Routing{Experts: e.experts[:n*c.TopK], Weights: e.expertWeight[:n*c.TopK]}, nil
}

func (e *executor) packRouter(worker, row int) {
	c := &e.w.Config
	normed := e.worker[worker][:c.Hidden]
	x := e.residualRow(e.at.base + row)
	e.k.norm(normed, x, e.at.layer.PreRoutedNorm, c.RMSNormEps)
	e.k.pack(e.expertRow(e.at.base+row), normed, e.w.Expert.Gate.Bits)
	e.k.routerInput(normed, x, e.at.layer.RouterScale, c.RMSNormEps)
	e.k.pack(e.packedRow(row), normed, e.at.layer.Router.Bits)
}

// expertRow is the packed input of the routed experts for one row.
func (e *executor) expertRow(row int) []float32 {
	width := packedLen(e.w.Config.Hidden)
	return e.expertIn[row*width:][:width]
}

func (e *executor) chooseExperts(_, row int) {
	c := &e.w.Config
	if row == 0 {
		clear(e.ran)
	}
	choose(e.experts[row*c.TopK:][:c.TopK], e.expertWeight[row*c.TopK:][:c.TopK],
		e.scores[row*c.Experts:][:c.Experts], e.at.layer.PerExpertScale)
}

// Shared runs the shared expert and its post norm.
func (e *executor) Shared(layer gturbo.LayerID, b *core.Batch) error {
	d := e.w.Config.Hidden
	e.at.layer, e.at.batch = &e.w.Layers[layer], b
	n := len(b.Tokens)
	for base := 0; base < n; base += rowBlock {
		rows := min(rowBlock, n-base)
		e.at.base = base
		e.eachRow(rows, (*executor).packShared)
		l := e.at.layer
		e.ffn(e.input(rows), rows, ffnWeights{l.Gate, l.Up, l.Down}, e.shared[base*d:])
		e.eachRow(rows, (*executor).normShared)
	}
	return nil
}

func (e *executor) packShared(worker, row int) {
	normed := e.worker[worker][:e.w.Config.Hidden]
	e.k.norm(normed, e.residualRow(e.at.base+row), e.at.layer.PreSharedNorm, e.w.Config.RMSNormEps)
	e.k.pack(e.packedRow(row), normed, e.at.layer.Gate.Bits)
}

func (e *executor) normShared(_, row int) {
	d := e.w.Config.Hidden
	out := e.shared[(e.at.base+row)*d:][:d]
	e.k.norm(out, out, e.at.layer.PostSharedNorm, e.w.Config.RMSNormEps)
}

type ffnWeights struct{ gate, up, down core.Affine }

// ffn writes down*(gelu(gate*x) * (up*x)) of the input's rows to dst, [rows, D].
func (e *executor) ffn(input *affineJob, rows int, w ffnWeights, dst []float32) {
	width := w.gate.Out
	input.add(w.gate, e.gate, width).add(w.up, e.up, width).run(e.pool)
	e.at.width, e.at.bits = width, w.down.Bits
	e.eachRow(rows, (*executor).packActivated)
	e.fineInput(rows).add(w.down, dst, e.w.Config.Hidden).run(e.pool)
}

func (e *executor) packActivated(_, row int) {
	gate, up := e.gate[row*e.at.width:][:e.at.width], e.up[row*e.at.width:][:e.at.width]
	e.k.geglu(gate, up)
	e.fine.k.pack(e.packedRow(row), gate, e.at.bits)
}

// Routed runs one expert on the rows that chose it. It is done when it returns: the fence is nil.
func (e *executor) Routed(_ gturbo.LayerID, _ *core.Batch, run core.ExpertRun) (residency.Fence, error) {
	x := e.w.Expert
	if len(run.Bytes) < x.Stride {
		panic(fmt.Sprintf("BUG: cpu: expert %d of %d bytes, want a blob of %d", run.Expert, len(run.Bytes), x.Stride))
	}
	w := ffnWeights{x.Gate.View(run.Bytes), x.Up.View(run.Bytes), x.Down.View(run.Bytes)}
	for picks := run.Picks; len(picks) > 0; {
		rows := min(rowBlock, len(picks))
		e.runPicks(picks[:rows], w)
		picks = picks[rows:]
	}
	return nil, nil
}

// runPicks runs one expert on at most rowBlock picks. One pick needs no copies.
func (e *executor) runPicks(picks []core.Pick, w ffnWeights) {
	e.at.picks = picks
	if len(picks) == 1 {
		row := int(picks[0].Row)
		e.ffn(e.affine.input(e.expertRow(row), 0, 1), 1, w, e.routedRow(picks[0]))
		if row == 0 {
			e.ran[picks[0].Rank] = true
		}
		return
	}
	e.eachRow(len(picks), (*executor).gatherPick)
	e.ffn(e.input(len(picks)), len(picks), w, e.out)
	e.eachRow(len(picks), (*executor).scatterPick)
}

func (e *executor) gatherPick(_, i int) { copy(e.packedRow(i), e.expertRow(int(e.at.picks[i].Row))) }

func (e *executor) scatterPick(_, i int) {
	d := e.w.Config.Hidden
	copy(e.routedRow(e.at.picks[i]), e.out[i*d:][:d])
}

// routedRow is where the output of a pick is kept until Tail.
func (e *executor) routedRow(p core.Pick) []float32 {
	c := &e.w.Config
	return e.routed[(int(p.Row)*c.TopK+int(p.Rank))*c.Hidden:][:c.Hidden]
}

// Tail joins the branches into the residual stream.
func (e *executor) Tail(layer gturbo.LayerID, b *core.Batch) error {
	e.at.layer = &e.w.Layers[layer]
	e.eachRow(len(b.Tokens), (*executor).joinBranches)
	return nil
}

func (e *executor) joinBranches(worker, row int) {
	sum := e.worker[worker][:e.w.Config.Hidden]
	clear(sum)
	for rank := range e.w.Config.TopK {
		e.addExpert(sum, row, rank)
	}
	e.join(e.residualRow(row), sum, row)
}

func (e *executor) addExpert(sum []float32, row, rank int) {
	pick := core.Pick{Row: int32(row), Rank: int32(rank)}
	e.k.combine(sum, 1, e.expertWeight[row*e.w.Config.TopK+rank], e.routedRow(pick))
}

// join takes x of a row to (x + RMS(RMS(shared) + RMS(sum of weighted experts))) * scalar, and uses sum up.
func (e *executor) join(x, sum []float32, row int) {
	c, l := &e.w.Config, e.at.layer
	e.k.norm(sum, sum, l.PostRoutedNorm, c.RMSNormEps)
	e.k.combine(sum, 1, 1, e.shared[row*c.Hidden:][:c.Hidden])
	e.k.norm(sum, sum, l.PostFFNNorm, c.RMSNormEps)
	e.k.combine(x, 1, 1, sum)
	for i := range x {
		x[i] *= l.Scalar
	}
}
