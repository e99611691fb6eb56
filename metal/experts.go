package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/residency"
	"github.com/fieldfare/fieldfare/shaders"
)

// maxPicks is the most picks of one dispatch: as many as a binding of 4096 bytes names.
const maxPicks = 512

// pendingRuns are experts that go to the device in one dispatch.
type pendingRuns struct {
	layer *layerPlan
	n     int
	blobs [shaders.ExpertRuns]argument
	picks []uint32 // (row, rank) of all picks
	most  int      // picks of one run
	fence *runFence
	up    shaders.ExpertParams
	down  shaders.ExpertParams
}

// A runFence passes when the runs that it was given away for are over; they may not even be queued yet.
type runFence struct {
	queued chan struct{} // closed when work is set
	work   *ticket       // nil when there was nothing to queue
}

var _ residency.Fence = (*runFence)(nil)

func (f *runFence) Passed() bool {
	select {
	case <-f.queued:
		return f.work == nil || f.work.Passed()
	default:
		return false
	}
}

func (f *runFence) Wait() {
	<-f.queued
	if f.work != nil {
		f.work.Wait()
	}
}

// Routed queues one expert on the rows that chose it, together with those before that were held back for it. It is held
// back itself while more follow at once.
func (e *executor) Routed(layer gturbo.LayerID, _ *core.Batch, run core.ExpertRun) (residency.Fence, error) {
	x := e.w.Expert
	if len(run.Bytes) < x.Stride {
		panic(fmt.Sprintf("BUG: metal: expert %d of %d bytes, want a blob of %d", run.Expert, len(run.Bytes), x.Stride))
	}
	buffer, at, err := e.slots.buffer(run.Bytes[:x.Stride], int(layer), int(run.Expert))
	if err != nil {
		return nil, err
	}
	r := &e.runs
	for picks := run.Picks; len(picks) > 0; {
		if r.n == shaders.ExpertRuns || len(r.picks) == 2*maxPicks {
			e.flushRuns()
		}
		n := min(len(picks), maxPicks-len(r.picks)/2)
		r.add(&e.layers[layer], inAt(buffer, at), picks[:n])
		picks = picks[n:]
	}
	fence := r.fence
	if !run.More {
		e.flushRuns()
	}
	return fence, e.s.err
}

func (r *pendingRuns) add(layer *layerPlan, blob argument, picks []core.Pick) {
	if r.n == 0 {
		r.layer, r.fence = layer, &runFence{queued: make(chan struct{})}
	}
	r.blobs[r.n] = blob
	for _, p := range picks {
		r.picks = append(r.picks, u32(int(p.Row)), u32(int(p.Rank)))
	}
	r.n++
	r.up.First[r.n] = u32(len(r.picks) / 2)
	r.most = max(r.most, len(picks))
}

// flushRuns sends the pending experts to the device.
func (e *executor) flushRuns() {
	r := &e.runs
	if r.n == 0 {
		return
	}
	c, x := &e.w.Config, &e.w.Expert
	for i := r.n; i < shaders.ExpertRuns; i++ {
		r.blobs[i] = r.blobs[0] // every argument is bound
		r.up.First[i+1] = r.up.First[r.n]
	}
	r.up.Gate, r.up.Up, r.up.TopK = matrixAt(x.Gate), matrixAt(x.Up), u32(c.TopK)
	r.up.Inputs, r.up.Outputs = u32(c.Hidden), u32(c.ExpertWidth)
	r.down = r.up
	r.down.Down = matrixAt(x.Down)
	r.down.Inputs, r.down.Outputs = r.up.Outputs, r.up.Inputs

	geglu, down := e.runKernels(r.most)
	picks := inBytes(asBytes(r.picks))
	e.s.label = r.layer.label.routed
	e.dispatchRuns(geglu, &r.up, in(e.expertIn), in(e.pickAct), picks)
	e.dispatchRuns(down, &r.down, in(e.pickAct), in(e.routed), picks)
	r.fence.work = e.commit()
	close(r.fence.queued)
	r.n, r.most, r.picks, r.fence = 0, 0, r.picks[:0], nil
}

// A runKernel is a kernel of the experts with the outputs and the picks that a threadgroup makes.
type runKernel struct {
	*kernel
	outputs, picks int
}

// runKernels chooses by the most picks of a run.
func (e *executor) runKernels(most int) (geglu, down runKernel) {
	const outputs = shaders.ProductSimds * shaders.ProductOutputs
	t := &e.k.tensor
	switch {
	case most == 1:
		return runKernel{e.k.expertGeglu.one, outputs / 2, 1}, runKernel{e.k.expertDown.one, outputs, 1}
	case t.expertGeglu != nil && most > shaders.ProductRows:
		return runKernel{t.expertGeglu, shaders.TensorPairs, shaders.TensorPicks},
			runKernel{t.expertDown, shaders.TensorTile, shaders.TensorPicks}
	}
	return runKernel{e.k.expertGeglu.many, outputs / 2, shaders.ProductRows},
		runKernel{e.k.expertDown.many, outputs, shaders.ProductRows}
}

// dispatchRuns encodes one product of the pending experts.
func (e *executor) dispatchRuns(k runKernel, p *shaders.ExpertParams, x, y, picks argument) {
	r := &e.runs
	b := &r.blobs
	grid := driver.D3(ceil(int(p.Outputs), k.outputs), ceil(r.most, k.picks), r.n)
	e.s.dispatch(k.kernel, grid, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], x, y, picks, inBytes(shaders.Bytes(p)))
}

func matrixAt(r core.AffineRange) shaders.Matrix {
	return shaders.Matrix{Codes: u32(r.Codes), Scales: u32(r.Scales), Biases: u32(r.Biases)}
}
