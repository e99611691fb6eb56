package harness

import (
	"embed"
	"fmt"
	"math/rand/v2"

	"github.com/fieldfare/fieldfare/metal/driver"
)

//go:embed kernels
var kernels embed.FS

// Run is the setting of one pass over the cases.
type Run struct {
	Device driver.Device
	Scale  Scale
	Bench  int // timed repetitions; 0: none
	Seed   uint64
}

// Scale selects problem sizes.
type Scale int

const (
	Tiny  Scale = iota // for the checked emulator and compute-sanitizer
	Small              // for the fast emulator
	Full               // for a GPU
)

func (r *Run) pick(tiny, small, full int) int { return [...]int{tiny, small, full}[r.Scale] }

// Result is what one case measured.
type Result struct {
	Error   float64 // largest error relative to the largest reference value
	Limit   float64
	Checked int     // values compared
	Seconds float64 // per run, when timed
	Bytes   float64 // moved at least
	Flops   float64
}

// Verdict is nil when the results are within the limit.
func (r Result) Verdict() error {
	if !(r.Error <= r.Limit) {
		return fmt.Errorf("error %.3g is more than %.3g", r.Error, r.Limit)
	}
	return nil
}

// Case is one source of kernels with its reference.
type Case struct {
	Name string
	Test func(*Run) (Result, error)
}

// Cases lists all sample kernels.
var Cases = []Case{
	{"gemv_int4", gemv}, {"rmsnorm", rmsnorm}, {"rope", rope}, {"decode_attention", decode},
	{"vision_attention", vision}, {"router", router}, {"gemm_simdgroup", gemm},
	{"features", features}, {"matrix", matrix}, {"lanes", lanes},
}

// A job is one case under way: its library and buffers, and the first error, after which nothing happens any more.
type job struct {
	run       *Run
	lib       driver.Library
	queue     driver.Queue
	constants []driver.Constant
	buffers   []driver.Buffer
	rng       *rand.Rand
	err       error
}

func (r *Run) start(library string, constants ...driver.Constant) *job {
	j := &job{run: r, rng: rand.New(rand.NewPCG(r.Seed, 7)), constants: constants}
	source, err := kernels.ReadFile("kernels/" + library + ".metal")
	if err != nil {
		panic("BUG: harness: " + err.Error())
	}
	text := fmt.Sprintf("#line 1 \"%s.metal\"\n%s", library, source)
	if j.lib, j.err = r.Device.NewLibrary(text, driver.LibraryOptions{Version: 3<<16 | 1}); j.err == nil {
		j.queue, j.err = r.Device.NewQueue()
	}
	return j
}

func (j *job) done() {
	for _, b := range j.buffers {
		b.Free()
	}
	if j.queue != nil {
		j.queue.Free()
	}
	if j.lib != nil {
		j.lib.Free()
	}
}

func (j *job) buffer(n int) driver.Buffer {
	if j.err != nil {
		return nil
	}
	var b driver.Buffer
	if b, j.err = j.run.Device.NewBuffer(n); j.err == nil {
		j.buffers = append(j.buffers, b)
	}
	return b
}

func (j *job) upload(p []byte) driver.Buffer {
	b := j.buffer(len(p))
	if j.err == nil {
		copy(b.Bytes(), p)
	}
	return b
}

func download[T any](j *job, b driver.Buffer, n int) []T {
	s := make([]T, n)
	if j.err == nil {
		copy(raw(s), b.Bytes())
	}
	return s
}

// A binding gives one kernel argument its value.
type binding func(driver.Encoder)

func buf(index int, b driver.Buffer, offset ...int) binding {
	at := 0
	if len(offset) > 0 {
		at = offset[0]
	}
	return func(e driver.Encoder) { e.SetBuffer(index, b, at) }
}

func value[T any](index int, v T) binding {
	return func(e driver.Encoder) { e.SetBytes(index, raw([]T{v})) }
}

func threadgroup(index, n int) binding {
	return func(e driver.Encoder) { e.SetThreadgroupMemory(index, n) }
}

// dispatch runs a kernel and waits; when the run is timed, it runs it again and notes the mean time in res.
func (j *job) dispatch(res *Result, kernel string, grid, threads driver.Size, bindings ...binding) {
	if j.err != nil {
		return
	}
	var p driver.Pipeline
	if p, j.err = j.lib.Pipeline(kernel, j.constants...); j.err != nil {
		return
	}
	defer p.Free()
	j.repeat(1, p, grid, threads, bindings)
	if j.run.Bench > 0 && res != nil {
		res.Seconds = j.repeat(j.run.Bench, p, grid, threads, bindings) / float64(j.run.Bench)
	}
}

// repeat runs a pipeline n times in one command buffer and returns the GPU's time in seconds.
func (j *job) repeat(n int, p driver.Pipeline, grid, threads driver.Size, bindings []binding) float64 {
	if j.err != nil {
		return 0
	}
	var b driver.CommandBuffer
	if b, j.err = j.queue.CommandBuffer(p.Name()); j.err != nil {
		return 0
	}
	defer b.Free()
	e := b.Compute(driver.Serial)
	e.SetPipeline(p)
	for _, set := range bindings {
		set(e)
	}
	for range n {
		e.Dispatch(grid, threads)
	}
	e.End()
	b.Commit()
	j.err = b.Wait()
	start, end := b.Times()
	return (end - start).Seconds()
}
