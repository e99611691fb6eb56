package cpu

import (
	"fmt"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// Benchmarks at the shapes of the 26B. Weights are streamed from more memory than the caches hold, as in decode. Next
// to the mean, each reports the best single product ("best-..."), which a busy machine disturbs least, and its ratio to
// the best plain read of as many bytes of the same memory by the same threads in the same run ("of-read").

// benchBytes is more than any last-level cache that we expect to meet on a small machine.
const benchBytes = 192 << 20

type readJob struct {
	k     *kernelSet
	x     []float32
	chunk int
}

func (j *readJob) task(_, i int) { j.k.maximum(j.x[i*j.chunk:][:j.chunk]) }

// bestRead is the fastest read of about size bytes of b, in bytes per second; every part of b is read some times.
func bestRead(p *pool, b []byte, size int) float64 {
	const chunk = 16 << 10
	size = max(size/(4*chunk), 2*p.threads) * 4 * chunk
	var w stopwatch
	for range 3 {
		for at := 0; at+size <= len(b); at += size {
			j := &readJob{k: kernelSets[0], x: floatView(b[at:][:size]), chunk: chunk}
			w.time(func() { p.run(j, len(j.x)/chunk) })
		}
	}
	return float64(size) / w.best.Seconds()
}

// streamed returns matrices [out, in] of 4 bits that fill benchBytes, with their memory.
func streamed(b *testing.B, out, in, bits int) ([]core.Affine, *pages.Region) {
	b.Helper()
	codes, groups := out*in*bits/8, 2*out*in/groupSize
	region, err := pages.Alloc("bench", benchBytes)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { region.Close() })
	bytes := region.Bytes()
	for i := range bytes {
		bytes[i] = byte(i * 2654435761 >> 13)
	}
	var all []core.Affine
	for at := 0; at+codes+2*groups <= len(bytes); at += codes + 2*groups {
		w := core.Affine{
			Codes: bytes[at:][:codes], Scales: bytes[at+codes:][:groups], Biases: bytes[at+codes+groups:][:groups],
			Out: out, In: in, Bits: bits,
		}
		for _, v := range [][]byte{w.Scales, w.Biases} {
			for i := 0; i < len(v); i += 2 {
				v[i+1] = 0x3c // small positive numbers
			}
		}
		all = append(all, w)
	}
	return all, region
}

// A stopwatch keeps the best pass.
type stopwatch struct{ best time.Duration }

func (s *stopwatch) time(f func()) {
	start := time.Now()
	f()
	if d := time.Since(start); s.best == 0 || d < s.best {
		s.best = d
	}
}

func benchThreads(b *testing.B, f func(b *testing.B, k *kernelSet, p *pool)) {
	back, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range kernelSets {
		for threads := 1; threads <= back.Threads(); threads *= 2 {
			b.Run(fmt.Sprintf("%s/threads=%d", k.name, threads), func(b *testing.B) {
				p := newPool(threads)
				defer p.close()
				f(b, k, p)
			})
		}
	}
}

// BenchmarkDecode is one row against every matrix shape that a token meets.
func BenchmarkDecode(b *testing.B) {
	for _, s := range []struct{ out, in, bits int }{
		{4096, 2816, 4}, {2816, 8192, 4}, {704, 2816, 4}, {2816, 704, 4}, {2816, 2112, 4}, {32768, 2816, 4}, {128, 2816, 8},
	} {
		b.Run(fmt.Sprintf("%dx%d-%dbit", s.out, s.in, s.bits), func(b *testing.B) {
			benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
				all, region := streamed(b, s.out, s.in, s.bits)
				job := benchAffine(k, p, s.in)
				y := make([]float32, s.out)
				x := packedBench(k, s.in, 1, s.bits)
				size := len(all[0].Codes) + len(all[0].Scales) + len(all[0].Biases)
				read := bestRead(p, region.Bytes(), size)
				b.SetBytes(int64(size * len(all)))
				b.ReportAllocs()
				var w stopwatch
				for b.Loop() {
					for i := range all {
						w.time(func() { job.input(x, packedLen(s.in), 1).add(all[i], y, s.out).run(p) })
					}
				}
				rate := float64(size) / w.best.Seconds()
				b.ReportMetric(rate/1e9, "best-GB/s")
				b.ReportMetric(rate/read, "of-read")
			})
		})
	}
}

func benchAffine(k *kernelSet, p *pool, in int) *affineJob {
	job := &affineJob{k: k}
	for range p.threads {
		job.scratch = append(job.scratch, make([]float32, scratchLen(in)))
	}
	return job
}

func packedBench(k *kernelSet, in, rows, bits int) []float32 {
	packed, _ := packRows(k, randomFloats(seeded("bench"), rows*in, 1), in, bits)
	return packed
}

// BenchmarkPrefill is many rows against one matrix; 2 operations per weight and row.
func BenchmarkPrefill(b *testing.B) {
	for _, s := range []struct{ out, in, rows int }{
		{704, 2816, 2}, {704, 2816, 4}, {704, 2816, 8}, {704, 2816, 32}, {2816, 704, 32},
		{4096, 2816, 128}, {2816, 8192, 128},
	} {
		b.Run(fmt.Sprintf("%dx%d/rows=%d", s.out, s.in, s.rows), func(b *testing.B) {
			benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
				w := randomAffine(seeded("prefill"), s.out, s.in, 4)
				x := packedBench(k, s.in, s.rows, 4)
				y := make([]float32, s.rows*s.out)
				job := benchAffine(k, p, s.in)
				benchFlops(b, 2*float64(s.out)*float64(s.in)*float64(s.rows), func() {
					job.input(x, packedLen(s.in), s.rows).add(w, y, s.out).run(p)
				})
			})
		})
	}
}

// benchFlops reports the best rate of f, which does flops operations a call.
func benchFlops(b *testing.B, flops float64, f func()) {
	var w stopwatch
	b.ReportAllocs()
	for b.Loop() {
		w.time(f)
	}
	b.ReportMetric(flops/w.best.Seconds()/1e9, "best-GFLOP/s")
}

// BenchmarkDense is the tower's products.
func BenchmarkDense(b *testing.B) {
	for _, s := range []struct{ out, in int }{{1152, 1152}, {4304, 1152}, {1152, 4304}} {
		b.Run(fmt.Sprintf("%dx%d/rows=%d", s.out, s.in, towerBlock), func(b *testing.B) {
			benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
				r := seeded("dense bench")
				w, x := randomVector(r, s.out*s.in, 0, 1), randomFloats(r, towerBlock*s.in, 1)
				y := make([]float32, towerBlock*s.out)
				job := &denseJob{k: k}
				for range p.threads {
					job.scratch = append(job.scratch, make([]float32, denseScratchLen(s.in)))
				}
				benchFlops(b, 2*towerBlock*float64(s.out)*float64(s.in), func() {
					job.input(x, s.in, towerBlock).add(w, y).run(p)
				})
			})
		})
	}
}

// BenchmarkAttention is one token against a cache of n positions; bytes are the keys and values read.
func BenchmarkAttention(b *testing.B) {
	for _, s := range []struct {
		name            string
		groups, per, dh int
		positions       int
	}{
		{"sliding/n=1024", 8, 2, 256, 1024}, {"full/n=1024", 2, 8, 512, 1024}, {"full/n=32768", 2, 8, 512, 32768},
	} {
		b.Run(s.name, func(b *testing.B) {
			benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
				layer := &kvLayer{rows: s.positions, stride: s.groups * s.dh * 2}
				for _, to := range []*[]byte{&layer.k, &layer.v} {
					region, err := pages.Alloc("bench", s.positions*layer.stride)
					if err != nil {
						b.Fatal(err)
					}
					defer region.Close()
					*to = region.Bytes()
					k.half(*to, randomFloats(seeded("kv"), s.positions*layer.stride/2, 1))
				}
				j := &attendJob{
					k: k, q: make([]float32, s.groups*s.per*s.dh), dh: s.dh, groups: s.groups, perGroup: s.per,
					ends: []int{s.positions}, pos: s.positions - 1, layer: layer,
					partials: make([]float32, partialBytes/4),
				}
				for range p.threads {
					j.scratch = append(j.scratch, make([]float32, attendJobScratch(s.per, s.dh)))
				}
				read := bestRead(p, layer.k, len(layer.k))
				b.SetBytes(int64(2 * len(layer.k)))
				b.ReportAllocs()
				var w stopwatch
				for b.Loop() {
					w.time(func() { j.run(p, 1) })
				}
				rate := float64(2*len(layer.k)) / w.best.Seconds()
				b.ReportMetric(rate/1e9, "best-GB/s")
				b.ReportMetric(rate/read, "of-read")
			})
		})
	}
}

// BenchmarkElementwise is one row of the widths that decode meets.
func BenchmarkElementwise(b *testing.B) {
	for _, k := range kernelSets {
		x, y := randomFloats(seeded("x"), 2816, 1), randomFloats(seeded("y"), 2816, 1)
		w := randomVector(seeded("w"), 2816, 1, 0.1)
		packed := make([]float32, packedLen(2816))
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"norm", func() { k.norm(y, x, w, 1e-6) }},
			{"pack", func() { k.pack(packed, x, 4) }},
			{"geglu", func() { k.geglu(x, y) }},
			{"softcap", func() { k.softcap(y, 30) }},
			{"exp", func() { k.expSum(y, 3) }},
			{"combine", func() { k.combine(y, 1, 0.5, x) }},
		} {
			b.Run(c.name+"/"+k.name, func(b *testing.B) {
				b.SetBytes(4 * 2816)
				for b.Loop() {
					c.f()
				}
			})
		}
	}
}
