package cpu

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// Route scores the experts from the residual stream, and prepares what the chosen ones will see.
func (e *executor) Route(layer gturbo.LayerID, b *core.Batch) (core.Routing, error) {
	c := &e.w.Config
	e.at.layer, e.at.batch = &e.w.Layers[layer], b
	clear(e.ran)
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
