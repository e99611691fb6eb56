package metal

import (
	"fmt"
	"unsafe"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

var _ core.ExpertKeeper = (*executor)(nil)

// An executor queues the stages of the text model. Its stages are in attend.go, route.go, experts.go and head.go, the
// choice of their kernels in executor_kernels.go and product.go; what the CPU hands over for a chunk is in chunk.go.
type executor struct {
	b      *Backend
	w      *core.Weights
	opts   core.ExecutorOptions
	region view
	slots  slotMap
	s      stream
	k      executorKernels
	layers []layerPlan
	chunks [2]chunk // used in turn, so that the CPU never writes what queued work reads
	chunk  *chunk

	residual driver.Buffer // [MaxRows, D]
	normed   driver.Buffer // [MaxRows, D] input of the next product
	qkv      driver.Buffer // [MaxRows, widest row of q, k and v]
	out      driver.Buffer // [MaxRows, D]
	act      driver.Buffer // [MaxRows, Fs]
	shared   driver.Buffer // [MaxRows, D] shared expert, not normed yet
	expertIn driver.Buffer // [MaxRows, D] what routed experts see
	scores   driver.Buffer // [MaxRows, E]
	chosen   driver.Buffer // [MaxRows, K] ids, read by the CPU
	shares   driver.Buffer // [MaxRows, K] their weights, read by the CPU
	pickAct  driver.Buffer // [maxPicks, F]
	routed   driver.Buffer // [MaxRows, K, D] outputs of the experts
	parts    driver.Buffer // attend_split; made and grown on demand
	sums     driver.Buffer
	logits   driver.Buffer // [rows, V]; made and grown on demand
	buffers  []*driver.Buffer

	experts []gturbo.ExpertID // [MaxRows, K] the CPU's copies
	weights []float32

	// Parameter blocks of dispatches live here: a local one would cost an allocation each.
	at struct {
		norm   shaders.NormParams
		affine shaders.AffineParams
		geglu  shaders.GegluParams
		heads  shaders.HeadsParams
		attend shaders.AttendParams
		choose shaders.ChooseParams
		embed  shaders.EmbedParams
	}
	runs  pendingRuns
	ahead forecast
}

// NewExecutor checks the shapes of w, wraps its region and allocates all scratch. Errors wrap ErrShape or are the
// device's.
func (b *Backend) NewExecutor(w *core.Weights, opts core.ExecutorOptions) (core.Executor, error) {
	if opts.MaxRows < 1 || opts.KV != core.KVFloat16 && opts.KV != core.KVFloat32 {
		return nil, fmt.Errorf("metal: executor for %d rows, KV type %d: %w", opts.MaxRows, opts.KV, ErrShape)
	}
	e := &executor{b: b, w: w, opts: opts, s: b.stream("")}
	e.slots = slotMap{b: b, views: map[*byte]*slotView{}}
	e.chunk = &e.chunks[0]
	if err := e.plan(); err != nil {
		e.Close()
		return nil, err
	}
	if err := e.loadKernels(); err != nil {
		e.Close()
		return nil, err
	}
	if err := e.allocate(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// plan checks the model and lays out the parameters of every layer.
func (e *executor) plan() error {
	s := shapeCheck{}
	s.dimensions(e.w, e.b.info.MaxThreadgroupMemory)
	if len(s.problems) > 0 {
		return joinProblems("metal: model", s.problems)
	}
	var err error
	if e.region, err = e.b.wrap(e.w.Region); err != nil {
		return err
	}
	s.region = e.region
	c := &e.w.Config
	e.at.embed = shaders.EmbedParams{
		Table: s.affine("embed_tokens", e.w.Embed, c.Vocab, c.Hidden), Width: u32(c.Hidden), Factor: c.EmbedScale,
	}
	s.vector("norm", e.w.Norm, c.Hidden)
	for i := range e.w.Layers {
		e.layers = append(e.layers, planLayer(&s, e.w, i))
	}
	s.expert(e.w.Expert, c)
	return joinProblems("metal: model", s.problems)
}

// allocate makes the scratch.
func (e *executor) allocate() error {
	for _, p := range e.scratch() {
		if err := e.grow(p.buffer, p.bytes, p.label); err != nil {
			return err
		}
	}
	n := e.opts.MaxRows * e.w.Config.TopK
	e.experts, e.weights = make([]gturbo.ExpertID, n), make([]float32, n)
	return nil
}

// grow makes a buffer of at least n bytes. What the old one held is lost; queued work that uses it completes.
func (e *executor) grow(buffer *driver.Buffer, n int, label string) error {
	if *buffer != nil && (*buffer).Len() >= n {
		return nil
	}
	made, err := e.b.device.NewBuffer(n)
	if err != nil {
		return fmt.Errorf("metal: %s: %w", label, err)
	}
	made.SetLabel(label)
	if *buffer == nil {
		e.buffers = append(e.buffers, buffer)
	} else {
		(*buffer).Free()
	}
	*buffer = made
	return nil
}

// Residual copies the residual stream of b's rows.
func (e *executor) Residual(b *core.Batch, dst []float32) error {
	if err := e.s.wait(); err != nil {
		return err
	}
	copy(dst, floats(e.residual)[:len(b.Tokens)*e.w.Config.Hidden])
	return nil
}

// Drain waits until all queued work has passed, and forgets a failure after returning it.
func (e *executor) Drain() error {
	e.flushRuns()
	return e.s.reset()
}

// ForgetExperts gives the buffers around expert slots back: their memory may now change hands.
func (e *executor) ForgetExperts() { e.slots.drop() }

// Close waits for queued work and gives all buffers back. Caches are closed apart.
func (e *executor) Close() error {
	err := e.Drain()
	e.slots.drop()
	for _, b := range e.buffers {
		(*b).Free()
	}
	if e.region.buffer != nil {
		e.region.buffer.Free()
	}
	e.buffers, e.region = nil, view{}
	return err
}

// end closes a stage: encoders stay open within one stage only.
func (e *executor) end() error {
	e.s.endEncoder()
	return e.s.err
}

func ceil(n, by int) int { return (n + by - 1) / by }

// floats views a buffer as float32 elements.
func floats(b driver.Buffer) []float32 {
	bytes := b.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/4)
}

// asBytes views words as the bytes that a kernel reads.
func asBytes(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))
}

// words views a buffer as uint32 elements.
func words(b driver.Buffer) []uint32 {
	bytes := b.Bytes()
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/4)
}
