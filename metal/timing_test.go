package metal

import (
	"embed"
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/standin"
	"github.com/fieldfare/fieldfare/shaders"
)

var timings = flag.Bool("timings", false, "time the kernels at the dimensions of the 26B")

//go:embed testdata/reference.metal
var referenceFile embed.FS

func referenceSource(t testing.TB) string {
	t.Helper()
	text, err := referenceFile.ReadFile("testdata/reference.metal")
	must(t, err)
	return string(text)
}

// A stopwatch times dispatches by the GPU's clock: many in one command buffer, so that what is between them counts.
type stopwatch struct {
	t         testing.TB
	b         *Backend
	queue     driver.Queue
	reference driver.Library
	big       driver.Buffer // shared by all weights
	table     *tabwriter.Writer
	copyRate  float64 // bytes per second read and written, large
}

const (
	bigBytes   = 1 << 30
	timedTimes = 3
)

func newStopwatch(t testing.TB) *stopwatch {
	w := &stopwatch{t: t, b: open(t, standin.Options{}), table: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	var err error
	w.queue, err = w.b.device.NewQueue()
	must(t, err)
	t.Cleanup(w.queue.Free)
	w.reference, err = w.b.device.NewLibrary(referenceSource(t), driver.LibraryOptions{PreciseMath: true})
	must(t, err)
	t.Cleanup(w.reference.Free)
	w.big = w.buffer(bigBytes)
	return w
}

func (w *stopwatch) buffer(n int) driver.Buffer {
	b, err := w.b.device.NewBuffer(n)
	must(w.t, err)
	w.t.Cleanup(b.Free)
	return b
}

// measure gives the best mean time of n dispatches, encoded by f.
func (w *stopwatch) measure(n int, f func(e driver.Encoder, i int)) time.Duration {
	best := time.Duration(1 << 62)
	for range timedTimes + 1 {
		cb, err := w.queue.CommandBuffer("timing")
		must(w.t, err)
		e := cb.Compute(driver.Serial)
		for i := range n {
			f(e, i)
		}
		e.End()
		cb.Commit()
		must(w.t, cb.Wait())
		start, end := cb.Times()
		best = min(best, (end-start)/time.Duration(n))
		cb.Free()
	}
	return best
}

func bind(e driver.Encoder, p driver.Pipeline, args ...argument) {
	e.SetPipeline(p)
	for i, a := range args {
		if a.bytes != nil {
			e.SetBytes(i, a.bytes)
		} else {
			e.SetBuffer(i, a.buffer, a.offset)
		}
	}
}

// copying times copies that move so many bytes in all, each between other places of the big buffer.
func (w *stopwatch) copying(bytes int) time.Duration {
	p, err := w.reference.Pipeline("copy")
	must(w.t, err)
	half := bytes / 2 &^ 255
	places := max(1, bigBytes/2/half)
	n := []uint32{uint32(half / 16)}
	threads := min(int(n[0]), 1<<20)
	return w.measure(max(8, min(64, places)), func(e driver.Encoder, i int) {
		at := i % places * half
		bind(e, p, inAt(w.big, at), inAt(w.big, bigBytes/2+at), inBytes(asBytes(n)))
		e.Dispatch(driver.D1(threads), driver.D1(256))
	})
}

// blitting times large copies by the device's own means.
func (w *stopwatch) blitting() time.Duration {
	best := time.Duration(1 << 62)
	for range timedTimes {
		cb, err := w.queue.CommandBuffer("timing")
		must(w.t, err)
		e := cb.Blit()
		for range 4 {
			e.Copy(w.big, bigBytes/2, w.big, 0, bigBytes/2)
		}
		e.End()
		cb.Commit()
		must(w.t, cb.Wait())
		start, end := cb.Times()
		best = min(best, (end-start)/4)
		cb.Free()
	}
	return best
}

func rate(bytes int, took time.Duration) float64 { return float64(bytes) / took.Seconds() }

// row prints a kernel that is bound by memory.
func (w *stopwatch) row(what string, bytes int, took time.Duration) {
	same := w.copying(bytes)
	fmt.Fprintf(w.table, "%s\t%.1f MB\t%.1f us\t%.0f GB/s\t%.0f %%\t%.0f %%\t\n", what, float64(bytes)/1e6,
		float64(took.Nanoseconds())/1e3, rate(bytes, took)/1e9, 100*rate(bytes, took)/w.copyRate, 100*same.Seconds()/took.Seconds())
}

// affineBytes is what a matrix of 4 or 8 bits takes.
func affineBytes(outputs, inputs, bits int) int {
	return outputs*inputs*bits/8 + 4*outputs*inputs/groupSize
}

// A timedMatrix is a product at the dimensions of the 26B; layers puts so many of them into one launch.
type timedMatrix struct {
	what            string
	outputs, inputs int
	bits            int
	shift           int // bytes that it lies behind a multiple of 4096
}

var timedMatrices = []timedMatrix{
	{"q, k and v of a sliding layer", 4096 + 2048 + 2048, 2816, 4, 0},
	{"q and k of a full layer", 8192 + 1024, 2816, 4, 0},
	{"o of a sliding layer", 2816, 4096, 4, 0},
	{"o of a full layer", 2816, 8192, 4, 0},
	{"down of the shared expert", 2816, 2112, 4, 0},
	{"router", 128, 2816, 8, 0},
	{"head", 262144, 2816, 4, 0},
	{"q, k and v 2 bytes off a word", 4096 + 2048 + 2048, 2816, 4, 2},
}

// affine times a product; copies of the matrix lie at different places, so that caches do not help.
func (w *stopwatch) affine(m timedMatrix, rows, stacked int) time.Duration {
	outputs := m.outputs * stacked
	pair := func(name string) byRows {
		s := kernelSet{b: w.b}
		p := byRows{s.get(fmt.Sprintf("%s_int%d_r1", name, m.bits)), s.get(fmt.Sprintf("%s_int%d_r8", name, m.bits))}
		must(w.t, s.err())
		return p
	}
	k, across, down := productGrid(pair("affine"), pair("affine_split"), outputs, rows)
	size := affineBytes(outputs, m.inputs, m.bits)
	places := max(1, bigBytes/(size+8192))
	x, y := w.buffer(4*rows*m.inputs), w.buffer(4*rows*outputs)
	p := make([]shaders.AffineParams, min(places, 32))
	for i := range p {
		at := i*((size+4096)&^4095) + m.shift
		codes := outputs * m.inputs * m.bits / 8
		p[i] = single(shaders.Matrix{Codes: u32(at), Scales: u32(at + codes), Biases: u32(at + codes + 2*outputs*m.inputs/groupSize)},
			outputs, m.inputs)
		p[i].Rows = u32(rows)
	}
	grid := driver.Groups(driver.D2(across, down), driver.D1(k.spec.Threads))
	return w.measure(max(4, min(32, places)), func(e driver.Encoder, i int) {
		bind(e, k.pipeline, in(w.big), in(x), in(y), inBytes(shaders.Bytes(&p[i%len(p)])))
		e.Dispatch(grid, driver.D1(k.spec.Threads))
	})
}

// experts times eight experts of one row in one launch.
func (w *stopwatch) experts(name string, outputs, inputs, perGroup, matrices int) (int, time.Duration) {
	k, err := w.b.kernel(name)
	must(w.t, err)
	const blob = 3358720
	x, y := w.buffer(4*8*max(outputs, inputs)), w.buffer(4*8*8*outputs)
	p := shaders.ExpertParams{Inputs: u32(inputs), Outputs: u32(outputs), TopK: 8}
	part := affineBytes(outputs, inputs, 4)
	at := func(i int) shaders.Matrix {
		codes := outputs * inputs / 2
		return shaders.Matrix{Codes: u32(i * part), Scales: u32(i*part + codes), Biases: u32(i*part + codes + 2*outputs*inputs/groupSize)}
	}
	p.Gate, p.Up, p.Down = at(0), at(matrices-1), at(0)
	var picks []uint32
	for i := range 8 {
		p.First[i+1] = u32(i + 1)
		picks = append(picks, 0, u32(i))
	}
	grid := driver.Groups(driver.D3(ceil(outputs, shaders.ProductSimds*perGroup), 1, 8), driver.D1(k.spec.Threads))
	places := bigBytes / blob / 8
	took := w.measure(min(30, places), func(e driver.Encoder, i int) {
		var args []argument
		for b := range 8 {
			args = append(args, inAt(w.big, (i%places*8+b)*blob))
		}
		bind(e, k.pipeline, append(args, in(x), in(y), inBytes(asBytes(picks)), inBytes(shaders.Bytes(&p)))...)
		e.Dispatch(grid, driver.D1(k.spec.Threads))
	})
	return 8 * matrices * part, took
}

// flops prints a kernel that is bound by arithmetic, against a reference at the same shape.
func (w *stopwatch) flops(what string, count float64, took, reference time.Duration) {
	fmt.Fprintf(w.table, "%s\t%.2f TFLOP\t%.0f us\t%.1f TFLOP/s\treference %.0f us\t%.2f x\t\n", what, count/1e12,
		float64(took.Microseconds()), count/took.Seconds()/1e12, float64(reference.Microseconds()), took.Seconds()/reference.Seconds())
}

// matmul times the textbook product of the same shape, with weights in f32.
func (w *stopwatch) matmul(rows, inputs, outputs int) time.Duration {
	p, err := w.reference.Pipeline("matmul")
	must(w.t, err)
	x, y := w.buffer(4*rows*inputs), w.buffer(4*rows*outputs)
	sizes := []uint32{u32(rows), u32(inputs), u32(outputs)}
	return w.measure(3, func(e driver.Encoder, _ int) {
		bind(e, p, in(w.big), in(x), in(y), inBytes(asBytes(sizes)))
		e.Dispatch(driver.Groups(driver.D2(ceil(outputs, 32), ceil(rows, 32)), driver.D2(32, 32)), driver.D2(32, 32))
	})
}

func (w *stopwatch) dense(rows, inputs, outputs int) time.Duration {
	k, err := w.b.kernel("dense")
	must(w.t, err)
	x, y := w.buffer(4*rows*inputs), w.buffer(4*rows*outputs)
	p := shaders.DenseParams{Inputs: u32(inputs), Outputs: u32(outputs), Rows: u32(rows)}
	grid := driver.Groups(driver.D2(ceil(outputs, shaders.DenseTile), ceil(rows, shaders.DenseTile)), driver.D1(k.spec.Threads))
	return w.measure(3, func(e driver.Encoder, _ int) {
		bind(e, k.pipeline, in(w.big), in(x), in(y), inBytes(shaders.Bytes(&p)))
		e.Dispatch(grid, driver.D1(k.spec.Threads))
	})
}

func (w *stopwatch) towerAttention(patches, heads int) (took, reference time.Duration) {
	k, err := w.b.kernel("tower_attend_d72")
	must(w.t, err)
	ref, err := w.reference.Pipeline("attention")
	must(w.t, err)
	n := 4 * patches * heads * 72
	q, keys, values, out := w.buffer(n), w.buffer(n), w.buffer(n), w.buffer(n)
	p := shaders.TowerAttendParams{Patches: u32(patches), Heads: u32(heads)}
	took = w.measure(3, func(e driver.Encoder, _ int) {
		bind(e, k.pipeline, in(q), in(keys), in(values), inBytes(shaders.Bytes(&p)))
		e.Dispatch(driver.Groups(driver.D2(ceil(patches, shaders.TowerQueries), heads), driver.D1(k.spec.Threads)), driver.D1(k.spec.Threads))
	})
	sizes := []uint32{u32(patches), u32(heads), 0}
	reference = w.measure(3, func(e driver.Encoder, _ int) {
		bind(e, ref, in(q), in(keys), in(values), in(out), inBytes(asBytes(sizes)))
		e.Dispatch(driver.Groups(driver.D2(ceil(patches, 64), heads), driver.D1(64)), driver.D1(64))
	})
	return took, reference
}

// Prints the table of docs/experiments: run with -timings.
func TestTimings(t *testing.T) {
	if !*timings {
		t.Skip("runs with -timings alone")
	}
	w := newStopwatch(t)
	byKernel, byDevice := rate(bigBytes, w.copying(bigBytes)), rate(bigBytes, w.blitting())
	w.copyRate = max(byKernel, byDevice)
	fmt.Printf("%s, copies of %d MB: %.0f GB/s read and written by a kernel, %.0f GB/s by the device's own means\n\n",
		w.b.info.Name, bigBytes>>21, byKernel/1e9, byDevice/1e9)
	fmt.Fprintf(w.table, "decode, one row\tbytes\ttime\trate\tof the large copy\tof a copy of as many bytes\t\n")
	for _, m := range timedMatrices {
		took := w.affine(m, 1, 1)
		w.row(m.what, affineBytes(m.outputs, m.inputs, m.bits), took)
		if stacked := 200 << 20 / affineBytes(m.outputs, m.inputs, m.bits); stacked > 1 && m.outputs > 1000 {
			w.row(fmt.Sprintf("  %d of them in one launch", stacked), affineBytes(m.outputs*stacked, m.inputs, m.bits), w.affine(m, 1, stacked))
		}
	}
	bytes, took := w.experts("expert_geglu_int4_r1", 704, 2816, shaders.ProductOutputs/2, 2)
	w.row("gate and up of 8 experts", bytes, took)
	bytes, took = w.experts("expert_down_int4_r1", 2816, 704, shaders.ProductOutputs, 1)
	w.row("down of 8 experts", bytes, took)
	must(t, w.table.Flush())
	fmt.Println()
	fmt.Fprintf(w.table, "many rows\twork\ttime\trate\ttextbook kernel\ttime over its time\t\n")
	for _, rows := range []int{128, 512} {
		for _, m := range timedMatrices[:4] {
			w.flops(fmt.Sprintf("%s, %d rows", m.what, rows), 2*float64(rows)*float64(m.inputs)*float64(m.outputs),
				w.affine(m, rows, 1), w.matmul(rows, m.inputs, m.outputs))
		}
	}
	for _, s := range [][3]int{{2520, 1152, 1152}, {2520, 1152, 4304}, {2520, 4304, 1152}, {2520, 768, 1152}} {
		w.flops(fmt.Sprintf("tower, %d patches, %d to %d", s[0], s[1], s[2]), 2*float64(s[0])*float64(s[1])*float64(s[2]),
			w.dense(s[0], s[1], s[2]), w.matmul(s[0], s[1], s[2]))
	}
	took, reference := w.towerAttention(2520, 16)
	w.flops("tower attention, 2520 patches, 16 heads of 72", 4*2520*2520*16*72, took, reference)
	must(t, w.table.Flush())
}
