//go:build !noasm

package cpu

// simdWiden widens blocks of 8 bfloat16.
//
//go:noescape
func simdWiden(dst *float32, src *byte, blocks int)

// simdHalf rounds blocks of 8 elements to FP16, ties to even.
//
//go:noescape
func simdHalf(dst *byte, x *float32, blocks int)

// simdSumSquares returns the sum of the squares of blocks of 8 elements.
//
//go:noescape
func simdSumSquares(x *float32, blocks int) float32

// simdScale writes x*scale, blocks of 8.
//
//go:noescape
func simdScale(dst *float32, x *float32, scale float32, blocks int)

// simdScaleNorm writes x*scale*w, blocks of 8; w is bfloat16.
//
//go:noescape
func simdScaleNorm(dst *float32, x *float32, scale float32, w *byte, blocks int)

// simdCombine writes a*dst + b*x to dst, blocks of 8.
//
//go:noescape
func simdCombine(dst *float32, a float32, b float32, x *float32, blocks int)

// simdMax returns the largest of blocks of 8 elements, at least one block.
//
//go:noescape
func simdMax(x *float32, blocks int) float32

// simdExpSum replaces blocks of 8 elements by exp(p-shift) and returns their sum. What is below e^-87 becomes 0.
//
//go:noescape
func simdExpSum(p *float32, blocks int, shift float32) float32

// simdGEGLU replaces blocks of 8 gates by gelu(gate)*up.
//
//go:noescape
func simdGEGLU(gate *float32, up *float32, blocks int)

// simdSoftcap replaces blocks of 8 elements by limit*tanh(x/limit); factor is -2/limit.
//
//go:noescape
func simdSoftcap(x *float32, blocks int, limit float32, factor float32)

// simdUnpack4 widens groups of 4-bit codes of outputs, stride bytes apart, to dst, [outputs, panelGroups*64].
//
//go:noescape
func simdUnpack4(dst *float32, codes *byte, stride int, groups int, outputs int)

// simdUnpack8 widens groups of 8-bit codes of outputs, stride bytes apart, to dst, [outputs, panelGroups*64].
//
//go:noescape
func simdUnpack8(dst *float32, codes *byte, stride int, groups int, outputs int)

// simdAffineTile1 adds groups of a panel w, [4, panelGroups*64], scaled, to the sums t, [count*1, 4, 4]. Strides are in
// bytes.
//
//go:noescape
func simdAffineTile1(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int,
	groups int, count int)

// simdAffineTile2 is simdAffineTile1 for tiles of 2 rows.
//
//go:noescape
func simdAffineTile2(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int,
	groups int, count int)

// simdAffineTile3 is simdAffineTile1 for tiles of 3 rows.
//
//go:noescape
func simdAffineTile3(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int,
	groups int, count int)

// simdDenseTile1 adds steps of 8 weights of four outputs w, ldw bytes apart, to the sums t, [count*1, 4, 4]. ldx is in
// bytes.
//
//go:noescape
func simdDenseTile1(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)

// simdDenseTile2 is simdDenseTile1 for tiles of 2 rows.
//
//go:noescape
func simdDenseTile2(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)

// simdDenseTile3 is simdDenseTile1 for tiles of 3 rows.
//
//go:noescape
func simdDenseTile3(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)

// simdFinish writes the four outputs of each row of sums t, [count, 4, 4]; ldy is in bytes.
//
//go:noescape
func simdFinish(y *float32, ldy int, t *float32, count int)

// simdScores2Half writes the scores of 2 queries, [2, dh], with n keys to p; ldp and stride are in bytes.
//
//go:noescape
func simdScores2Half(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)

// simdScores1Half is simdScores2Half for one query.
//
//go:noescape
func simdScores1Half(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)

// simdScores2Float is simdScores2Half for float32 keys.
//
//go:noescape
func simdScores2Float(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)

// simdScores1Float is simdScores2Float for one query.
//
//go:noescape
func simdScores1Float(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)

// simdValues2x1Half adds n values, weighted by p, to chunks of 8 elements of 2 outputs; ldo, ldp and stride are in
// bytes.
//
//go:noescape
func simdValues2x1Half(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)

// simdValues1x1Half is simdValues2x1Half for one output.
//
//go:noescape
func simdValues1x1Half(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)

// simdValues2x1Float is simdValues2x1Half for float32 values.
//
//go:noescape
func simdValues2x1Float(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)

// simdValues1x1Float is simdValues2x1Float for one output.
//
//go:noescape
func simdValues1x1Float(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)

// neonSplitDot rounds groups of 64 activations to 16 bits, each by its largest magnitude: its scale and its sum go to
// scales and sums. High digits come first: of even elements of the first 32 (low nibbles of codes), of odd ones, the same
// of the last 32; then low digits so.
//
//go:noescape
func neonSplitDot(digits *int8, scales *float32, sums *float32, x *float32, groups int)

// neonSplitMatrix is neonSplitDot with eight high digits and their low digits in turn.
//
//go:noescape
func neonSplitMatrix(digits *int8, scales *float32, sums *float32, x *float32, groups int)

// neonDotTile adds all groups of panels of four outputs of 4-bit codes, stride bytes apart, times rows of digits, to the
// sums t, [rows, 4], of each panel. Scales of the outputs are scaleStride bytes apart; those of the rows come on top.
// Sums and scales of the panels are panelStride bytes apart. A panel alone may have fewer outputs: the last one's codes
// stand in for those that do not exist.
//
//go:noescape
func neonDotTile(t *float32, panelStride int, panels int, codes *byte, stride int, outputs int, scales *float32,
	scaleStride int, x *int8, xscales *float32, ldx int, rows int, groups int)

// neonMatrixTile is neonDotTile for the digits of neonSplitMatrix.
//
//go:noescape
func neonMatrixTile(t *float32, panelStride int, panels int, codes *byte, stride int, outputs int, scales *float32,
	scaleStride int, x *int8, xscales *float32, ldx int, rows int, groups int)

// neonSplitBF16 splits blocks of 8 elements in place: each four become their four bfloat16 and those of what these
// leave.
//
//go:noescape
func neonSplitBF16(x *float32, blocks int)

// neonPairBF16 interleaves the bfloat16 rows of eight outputs: steps of 8 inputs of them become two times four pairs of
// outputs of four inputs each.
//
//go:noescape
func neonPairBF16(dst *byte, rows *[8]*byte, steps int)

// neonTileBF16x4 adds steps of 8 inputs of eight outputs w (neonPairBF16) times tiles of four rows of x (neonSplitBF16)
// to the sums t, [count*4, 4, 4]: per row and pair of outputs two sums of first parts, then two of second parts. ldx is
// in bytes.
//
//go:noescape
func neonTileBF16x4(t *float32, w *byte, x *float32, ldx int, steps int, count int)

// neonTileBF16x1 is neonTileBF16x4 for tiles of one row.
//
//go:noescape
func neonTileBF16x1(t *float32, w *byte, x *float32, ldx int, steps int, count int)

// neonFinishBF16 writes the eight outputs of each row of sums t, [count, 4, 4]; ldy is in bytes.
//
//go:noescape
func neonFinishBF16(y *float32, ldy int, t *float32, count int)
