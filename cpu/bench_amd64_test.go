//go:build !noasm

package cpu

import (
	"fmt"
	"testing"
)

// BenchmarkSets takes the same product with every kernel set in turn, pass by pass, so that a machine whose speed moves
// moves all of them. Reported are the rate of the best pass of each set and how many times as fast as avx2-int16 it was.
func BenchmarkSets(b *testing.B) {
	back, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	shapes := []struct{ out, in int }{{4096, 2816}, {2816, 8192}, {704, 2816}, {2816, 704}, {2816, 2112}}
	for threads := 1; threads <= back.Threads(); threads *= 2 {
		for _, s := range shapes {
			b.Run(fmt.Sprintf("decode/%dx%d/threads=%d", s.out, s.in, threads), func(b *testing.B) {
				benchSetsDecode(b, s.out, s.in, threads)
			})
		}
		for _, rows := range []int{2, 8, 32, 128, 512} {
			for _, s := range shapes {
				b.Run(fmt.Sprintf("prefill/%dx%d/rows=%d/threads=%d", s.out, s.in, rows, threads), func(b *testing.B) {
					benchSetsPrefill(b, s.out, s.in, rows, threads)
				})
			}
		}
		for _, s := range []struct{ out, in int }{{1152, 1152}, {4304, 1152}, {1152, 4304}} {
			b.Run(fmt.Sprintf("dense/%dx%d/rows=512/threads=%d", s.out, s.in, threads), func(b *testing.B) {
				benchSetsDense(b, s.out, s.in, 512, threads)
			})
		}
	}
}

// inTurn runs one pass of every set but the plain one after the other. work is what a pass does, reported in unit, 1e9 a
// second.
func inTurn(b *testing.B, unit string, work float64, pass func(k *kernelSet)) {
	b.Helper()
	sets := kernelSets[:len(kernelSets)-1]
	watches := make([]stopwatch, len(sets))
	for b.Loop() {
		for i, k := range sets {
			watches[i].time(func() { pass(k) })
		}
	}
	var base float64
	for i, k := range sets {
		if k == avx2Int16Kernels {
			base = watches[i].best.Seconds()
		}
	}
	for i, k := range sets {
		b.ReportMetric(work/watches[i].best.Seconds()/1e9, k.name+"-"+unit)
		b.ReportMetric(base/watches[i].best.Seconds(), k.name+"-times")
	}
}

func benchSetsDecode(b *testing.B, out, in, threads int) {
	p := newPool(threads)
	defer p.close()
	all, _ := streamed(b, out, in, 4)
	size := len(all[0].Codes) + len(all[0].Scales) + len(all[0].Biases)
	jobs, inputs := benchInputs(p, in, 1)
	y := make([]float32, out)
	at := 0
	inTurn(b, "GB/s", float64(size), func(k *kernelSet) {
		jobs[k].input(inputs[k], packedLen(in), 1).add(all[at%len(all)], y, out).run(p)
		at++
	})
}

// benchInputs has a job and packed rows for each set.
func benchInputs(p *pool, in, rows int) (map[*kernelSet]*affineJob, map[*kernelSet][]float32) {
	jobs, inputs := map[*kernelSet]*affineJob{}, map[*kernelSet][]float32{}
	for _, k := range kernelSets {
		jobs[k], inputs[k] = benchAffine(k, p, in), packedBench(k, in, rows, 4)
	}
	return jobs, inputs
}

func benchSetsPrefill(b *testing.B, out, in, rows, threads int) {
	p := newPool(threads)
	defer p.close()
	w := randomAffine(seeded("sets"), out, in, 4)
	defer releaseGuarded()
	jobs, inputs := benchInputs(p, in, rows)
	y := make([]float32, rows*out)
	inTurn(b, "GFLOP/s", 2*float64(out)*float64(in)*float64(rows), func(k *kernelSet) {
		jobs[k].input(inputs[k], packedLen(in), rows).add(w, y, out).run(p)
	})
}

func benchSetsDense(b *testing.B, out, in, rows, threads int) {
	p := newPool(threads)
	defer p.close()
	r := seeded("dense sets")
	w, x := randomVector(r, out*in, 0, 1), randomFloats(r, rows*in, 1)
	defer releaseGuarded()
	y := make([]float32, rows*out)
	inTurn(b, "GFLOP/s", 2*float64(rows)*float64(out)*float64(in), func(k *kernelSet) {
		job := &denseJob{k: k}
		for range threads {
			job.scratch = append(job.scratch, make([]float32, denseScratchLen(in)))
		}
		job.input(x, in, rows).add(w, y).run(p)
	})
}
