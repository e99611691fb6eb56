//go:build !noasm

package cpu

// neonBF16Kernels are neonMatrixKernels with products of bfloat16 matrices by the matrix instruction of that type
// (FEAT_BF16). Weights stay as they are. Activations are two bfloat16, the nearest one and the nearest to what it
// leaves: 2^-17 of each element is lost at most, where one bfloat16 would lose 2^-9. Products are exact; sums of
// products are rounded to odd, which loses one bit more than the nearest float32. (FEAT_EBF16 rounds otherwise where a
// program asks for it, which Go's runtime does not: all processors have the same bits.)
var neonBF16Kernels = func() *kernelSet {
	k := *neonMatrixKernels
	k.name, k.packDense, k.dense = "neon-bf16", neonBF16Pack, neonBF16Dense
	return &k
}()

// bf16Outputs is the number of outputs of one panel of pairs.
const bf16Outputs = 8

func neonBF16Pack(x []float32) { neonSplitBF16(&x[0], len(x)/8) }

// neonBF16Dense pairs the weights of some outputs, then multiplies them with tiles of rows, strip by strip.
func neonBF16Dense(d denseCall) {
	sums := d.scratch[:denseRows*denseOutputs/bf16Outputs*rowSums]
	weights := byteView(d.scratch[len(sums):])
	most := min(denseOutputs, len(weights)/(2*d.in)&^(bf16Outputs-1))
	part := d
	for part.lo = d.lo; part.lo < d.hi; part.lo += most {
		part.hi = min(part.lo+most, d.hi)
		for o := part.lo; o < part.hi; o += bf16Outputs {
			var rows [bf16Outputs]*byte
			for m := range rows {
				rows[m] = &d.w[2*min(o+m, part.hi-1)*d.in] // outputs that do not exist repeat the last
			}
			neonPairBF16(&weights[2*(o-part.lo)*d.in], &rows, d.in/8)
		}
		for first := 0; first < d.rows; first += denseRows {
			part.rows = min(denseRows, d.rows-first)
			part.x, part.y = d.x[first*d.ldx:], d.y[first*d.ldy+part.lo-d.lo:]
			bf16Block(part, weights, sums)
		}
	}
}

// bf16Block computes the outputs of d, whose weights are paired, for at most denseRows rows.
func bf16Block(d denseCall, weights []byte, sums []float32) {
	outputs, size := d.hi-d.lo, d.rows*rowSums
	clear(sums)
	for at := 0; at < d.in; at += panelWidth {
		n := min(panelWidth, d.in-at)
		for o := 0; o < outputs; o += bf16Outputs {
			bf16Tiles(sums[o/bf16Outputs*size:], weights[2*(o*d.in+at*bf16Outputs):], d.x[at:], d.ldx, n, d.rows)
		}
	}
	for o := 0; o < outputs; o += bf16Outputs {
		storePairs(d.y[o:], d.ldy, sums[o/bf16Outputs*size:][:size], d.rows, min(bf16Outputs, outputs-o))
	}
}

// bf16Tiles adds products of n inputs with eight outputs' weights to the sums of all rows.
func bf16Tiles(sums []float32, w []byte, x []float32, ldx, n, rows int) {
	fours, ones := rows/4, rows%4
	if fours > 0 {
		neonTileBF16x4(&sums[0], &w[0], &x[0], 4*ldx, n/8, fours)
	}
	if ones > 0 {
		neonTileBF16x1(&sums[4*fours*rowSums], &w[0], &x[4*fours*ldx], 4*ldx, n/8, ones)
	}
}

// storePairs sums both parts of a panel and writes its outputs.
func storePairs(y []float32, ldy int, sums []float32, rows, outputs int) {
	if outputs == bf16Outputs {
		neonFinishBF16(&y[0], 4*ldy, &sums[0], rows)
		return
	}
	for r := range rows {
		var buf [bf16Outputs]float32
		neonFinishBF16(&buf[0], 0, &sums[rowSums*r], 1)
		copy(y[r*ldy:][:outputs], buf[:])
	}
}
