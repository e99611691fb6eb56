//go:build !noasm

package cpu

import (
	"math"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// The tests of this file hold the sets of AVX-512 against those of AVX2, which the other tests hold against float64: they
// are short enough for cpu/internal/emulate.

// eachWideSet runs f for the sets of AVX-512 with the set of AVX2 that rounds as they do.
func eachWideSet(t *testing.T, f func(t *testing.T, k, like *kernelSet)) {
	t.Helper()
	found := false
	for _, k := range kernelSets {
		if !strings.HasPrefix(k.name, "avx512") {
			continue
		}
		found = true
		like := avx2Kernels
		switch rounding(k) {
		case "int8":
			like = avx2Int8Kernels
		case "int16":
			like = avx2Int16Kernels
		}
		t.Run(k.name, func(t *testing.T) { f(t, k, like) })
	}
	if !found {
		t.Skip("this processor has no AVX-512: cpu/internal/emulate runs these tests on one that has")
	}
}

// wantAlike fails where got is off by more than 3e-6 of the largest of want.
func wantAlike(t *testing.T, what string, got, want []float32) {
	t.Helper()
	var largest float64
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		wantNear(t, sized(what, ", element ", i), got[i], float64(want[i]), largest, 3e-6)
	}
}

func TestWideProductsEqualNarrowOnes(t *testing.T) {
	eachWideSet(t, func(t *testing.T, k, like *kernelSet) {
		for _, bits := range []int{4, 8} {
			for _, groups := range []int{1, 2, 11, 33} { // the last has two blocks of scales
				const out, rows = 37, 27 // tiles of 12, 12, 2, 1 or of 6, 6, 6, 6, 2, 1; the last panel has 5 outputs
				name := sized(bits, " bits, groups ", groups)
				r := seeded(name)
				w := randomAffine(r, out, groups*groupSize, bits)
				x := randomFloats(r, rows*w.In, 3)
				all := affineProduct(k, w, x, 0, out)
				narrow := affineProduct(like, w, x, 0, out)
				wantAlike(t, name, all, narrow)
				if bits == 4 && rounding(k) == "int8" { // the same steps
					wantSameBits(t, name, all, narrow)
				}
				for _, n := range []int{1, 2, 4, 8} {
					part := affineProduct(k, w, x[w.In:(1+n)*w.In], 0, out)
					wantSameBits(t, sized(name, ", rows ", n), part, all[out:(1+n)*out])
				}
				for _, span := range [][2]int{{0, 1}, {5, 22}, {36, 37}} {
					part := affineProduct(k, w, x[:w.In], span[0], span[1])
					wantSameBits(t, sized(name, ", outputs ", span), part, all[span[0]:span[1]])
				}
			}
		}
	})
}

func TestWideDenseProductsEqualNarrowOnes(t *testing.T) {
	eachWideSet(t, func(t *testing.T, k, like *kernelSet) {
		for _, in := range []int{8, 72, 128, 136, 264} {
			const out, rows = 37, 9
			r := seeded(sized("wide dense ", in))
			w, x := randomVector(r, out*in, 0, 1), randomFloats(r, rows*in, 1)
			all := denseProduct(k, w, x, in, 0, out)
			wantAlike(t, sized("inputs ", in), all, denseProduct(like, w, x, in, 0, out))
			wantSameBits(t, "one row", denseProduct(k, w, x[in:2*in], in, 0, out), all[out:2*out])
			wantSameBits(t, "some outputs", denseProduct(k, w, x[:in], in, 5, 22), all[5:22])
		}
	})
}

func TestWideAttentionEqualsNarrow(t *testing.T) {
	eachWideSet(t, func(t *testing.T, k, like *kernelSet) {
		for _, typ := range []core.KVType{core.KVFloat16, core.KVFloat32} {
			for _, dh := range []int{8, 32, 72, 256} {
				for _, nq := range []int{1, 2, 7} {
					const n = 43
					name := sized("head ", dh, " queries ", nq, " type ", typ)
					r := seeded(name)
					a := attentionCall{
						nq: nq, dh: dh, ldp: n, n: n, typ: typ, stride: dh * kvBytes(typ), kv: guarded(n * dh * kvBytes(typ)),
					}
					for j := range n {
						k.store(a.kv[j*a.stride:][:a.stride], randomFloats(r, dh, 1), typ)
					}
					q, p := randomFloats(r, nq*dh, 1), randomFloats(r, nq*n, 1)
					run := func(k *kernelSet) (scores, values []float32) {
						a.q, a.p = append([]float32(nil), q...), make([]float32, nq*n)
						k.scores(a)
						scores = a.p
						a.q, a.p = append([]float32(nil), q...), p
						k.values(a)
						return scores, a.q
					}
					scores, values := run(k)
					wantScores, wantValues := run(like)
					wantAlike(t, name+" scores", scores, wantScores)
					wantSameBits(t, name+" values", values, wantValues)
					a.nq, a.n = 1, 1
					a.q, a.p, a.kv = q[(nq-1)*dh:], make([]float32, 1), a.kv[(n-1)*a.stride:]
					k.scores(a)
					wantSameBits(t, name+" the last score alone", a.p, scores[nq*n-1:])
				}
			}
		}
	})
}

func TestWideElementsEqualNarrowOnes(t *testing.T) {
	eachWideSet(t, func(t *testing.T, k, like *kernelSet) {
		for _, n := range []int{1, 8, 15, 16, 17, 40, 259} {
			gate, up := activations(n), randomFloats(seeded(sized("wide geglu ", n)), n, 1)
			want := append([]float32(nil), gate...)
			k.geglu(gate, up)
			like.geglu(want, up)
			wantSameBits(t, sized("geglu of ", n), gate, want)
			p := make([]float32, n)
			for i := range p {
				p[i] = 7 - float32(i)*float32(i)*0.37
			}
			want = append([]float32(nil), p...)
			sum, wantSum := k.expSum(p, 7), like.expSum(want, 7)
			wantSameBits(t, sized("exponentials of ", n), p, want)
			wantNear(t, sized("sum of ", n), sum, float64(wantSum), float64(wantSum), tolerance["norm"])
		}
	})
}
