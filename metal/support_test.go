package metal

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/metal/cuda"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
	"github.com/fieldfare/fieldfare/metal/standin"
	"github.com/fieldfare/fieldfare/shaders"
)

func seeded(name string) *rand.Rand {
	var seed uint64 = 14695981039346656037
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, 6))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

var (
	onDevice = flag.String("device", "standin", "standin, or cuda: an NVIDIA GPU (docs/metal.md)")
	carried  = flag.String("translations", "", "folder of translated kernels, for -device cuda on a machine without clang")
)

// open makes a backend on the device that -device names; o is for the stand-in.
func open(t testing.TB, o standin.Options) *Backend {
	t.Helper()
	if *onDevice == "cuda" {
		d, err := cuda.Open(cuda.Options{Cache: *carried, LineInfo: true})
		must(t, err)
		t.Cleanup(func() { closed(t, d) })
		return backendOn(t, d, Options{Foreign: true})
	}
	return backendOn(t, standin.ForTest(t, o), Options{})
}

// openStandin is for tests of what only the stand-in shows.
func openStandin(t testing.TB, o standin.Options) *Backend {
	t.Helper()
	if *onDevice != "standin" {
		t.Skip("-device " + *onDevice + ": this is about the stand-in framework")
	}
	return open(t, o)
}

func backendOn(t testing.TB, d driver.Device, o Options) *Backend {
	t.Helper()
	b, err := New(d, o)
	must(t, err)
	t.Cleanup(func() { closed(t, b) })
	return b
}

// Writes the translations that -device cuda needs where there is no clang.
func TestTranslationsToCarry(t *testing.T) {
	if *carried == "" || *onDevice != "standin" {
		t.Skip("runs with -translations DIR alone")
	}
	tools, err := msl.NewToolchain(msl.ToolchainOptions{Cache: *carried})
	must(t, err)
	sources := []msl.Source{{Text: referenceSource(t)}}
	for _, l := range shaders.Libraries {
		sources = append(sources, msl.Source{Text: l.Source(), Version: l.Version})
	}
	for _, s := range sources {
		_, err := tools.Translate(s)
		must(t, err)
	}
}

// A region hands out mapped memory for tensors, one after the other.
type region struct {
	bytes []byte
	used  int
}

func newRegion(t testing.TB, size int) *region {
	t.Helper()
	r, err := pages.Alloc("test weights", (size+16383)&^16383)
	must(t, err)
	t.Cleanup(func() { closed(t, r) })
	return &region{bytes: r.Bytes()}
}

// take returns n bytes that begin at an even address, every other time at one that is no multiple of 4.
func (r *region) take(n int) []byte {
	r.used = (r.used+1)&^1 + 2
	part := r.bytes[r.used : r.used+n : r.used+n]
	r.used += n
	return part
}

func (r *region) vector(rng *rand.Rand, n int, mean, spread float64) core.Vector {
	v := r.take(2 * n)
	for i := range n {
		put16(v, i, mean+spread*rng.NormFloat64())
	}
	return v
}

func put16(dst []byte, i int, v float64) {
	b := bf16.Bits(float32(v))
	dst[2*i], dst[2*i+1] = byte(b), byte(b>>8)
}

// affine is a matrix whose weights have standard deviation about 1/sqrt(in), with scales of both signs.
func (r *region) affine(rng *rand.Rand, out, in, bits int) core.Affine {
	groups := out * in / groupSize
	w := core.Affine{
		Codes: r.take(out * in * bits / 8), Scales: r.take(2 * groups), Biases: r.take(2 * groups),
		Out: out, In: in, Bits: bits,
	}
	for i := range w.Codes {
		w.Codes[i] = byte(rng.Uint32())
	}
	top := float64(int(1)<<bits - 1)
	for g := range groups {
		s := math.Sqrt(12/float64(in)) / top * (0.5 + rng.Float64())
		if rng.IntN(2) == 0 {
			s = -s
		}
		put16(w.Scales, g, s)
		put16(w.Biases, g, -s*top/2*(0.8+0.4*rng.Float64()))
	}
	return w
}

// off is the largest distance between two slices, relative to the largest value of want.
func off(got, want []float32) float64 {
	var worst, top float64
	for i, w := range want {
		top = max(top, math.Abs(float64(w)))
		d := math.Abs(float64(got[i]) - float64(w))
		if !(d <= worst) {
			worst = d // NaN too
		}
	}
	return worst / top
}

func wantSameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func offsetFrom(base *byte, part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(base)))
}
