//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// func neonSplitBF16(x *float32, blocks int)
TEXT ·neonSplitBF16(SB), NOSPLIT, $0-16
	MOVD x+0(FP), R0
	MOVD blocks+8(FP), R1

block:
	VLD1   (R0), [V0.S4, V1.S4]
	BFCVTN(0, 2)
	BFCVTN(1, 3)
	SHLL16(2, 4)
	SHLL16(3, 5)
	FSUB(4, 0, 0)
	FSUB(5, 1, 1)
	BFCVTN2(0, 2)
	BFCVTN2(1, 3)
	VST1.P [V2.S4, V3.S4], 32(R0)
	SUBS   $1, R1
	BNE    block
	RET

// func neonPairBF16(dst *byte, rows *[8]*byte, steps int)
TEXT ·neonPairBF16(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD steps+16(FP), R2
	LDP  0(R1), (R3, R4)
	LDP  16(R1), (R5, R6)
	LDP  32(R1), (R7, R8)
	LDP  48(R1), (R9, R10)

step:
	VLD1.P 16(R3), [V0.B16]
	VLD1.P 16(R4), [V1.B16]
	VLD1.P 16(R5), [V2.B16]
	VLD1.P 16(R6), [V3.B16]
	VLD1.P 16(R7), [V4.B16]
	VLD1.P 16(R8), [V5.B16]
	VLD1.P 16(R9), [V6.B16]
	VLD1.P 16(R10), [V7.B16]
	VZIP1  V1.D2, V0.D2, V16.D2
	VZIP1  V3.D2, V2.D2, V17.D2
	VZIP1  V5.D2, V4.D2, V18.D2
	VZIP1  V7.D2, V6.D2, V19.D2
	VZIP2  V1.D2, V0.D2, V20.D2
	VZIP2  V3.D2, V2.D2, V21.D2
	VZIP2  V5.D2, V4.D2, V22.D2
	VZIP2  V7.D2, V6.D2, V23.D2
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)
	VST1.P [V20.B16, V21.B16, V22.B16, V23.B16], 64(R0)
	SUBS   $1, R2
	BNE    step
	RET

// Tiles: sums V0 to V15 by row and pair of outputs, activations V16 to V23 (two registers a row), weights V24 to V31.

#define WEIGHTS_BF16 \
	VLD1.P 64(R1), [V24.B16, V25.B16, V26.B16, V27.B16] \
	VLD1.P 64(R1), [V28.B16, V29.B16, V30.B16, V31.B16]

#define PAIRS(a, b, d0, d1, d2, d3) \
	BFMMLA(24, a, d0) \
	BFMMLA(25, a, d1) \
	BFMMLA(26, a, d2) \
	BFMMLA(27, a, d3) \
	BFMMLA(28, b, d0) \
	BFMMLA(29, b, d1) \
	BFMMLA(30, b, d2) \
	BFMMLA(31, b, d3)

// func neonTileBF16x4(t *float32, w *byte, x *float32, ldx int, steps int, count int)
TEXT ·neonTileBF16x4(SB), NOSPLIT, $0-48
	MOVD t+0(FP), R0
	MOVD x+16(FP), R3
	MOVD ldx+24(FP), R4
	MOVD count+40(FP), R6

tile:
	MOVD   w+8(FP), R1
	MOVD   steps+32(FP), R5
	MOVD   R3, R7
	ADD    R4, R7, R8
	ADD    R4, R8, R9
	ADD    R4, R9, R10
	ADD    R4, R10, R3
	MOVD   R0, R11
	VLD1.P 64(R11), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R11), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R11), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1   (R11), [V12.S4, V13.S4, V14.S4, V15.S4]

step:
	WEIGHTS_BF16
	VLD1.P 32(R7), [V16.B16, V17.B16]
	VLD1.P 32(R8), [V18.B16, V19.B16]
	VLD1.P 32(R9), [V20.B16, V21.B16]
	VLD1.P 32(R10), [V22.B16, V23.B16]
	PAIRS(16, 17, 0, 1, 2, 3)
	PAIRS(18, 19, 4, 5, 6, 7)
	PAIRS(20, 21, 8, 9, 10, 11)
	PAIRS(22, 23, 12, 13, 14, 15)
	SUBS   $1, R5
	BNE    step
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R0)
	SUBS   $1, R6
	BNE    tile
	RET

// func neonTileBF16x1(t *float32, w *byte, x *float32, ldx int, steps int, count int)
TEXT ·neonTileBF16x1(SB), NOSPLIT, $0-48
	MOVD t+0(FP), R0
	MOVD x+16(FP), R3
	MOVD ldx+24(FP), R4
	MOVD count+40(FP), R6

tile:
	MOVD   w+8(FP), R1
	MOVD   steps+32(FP), R5
	MOVD   R3, R7
	ADD    R4, R3
	VLD1   (R0), [V0.S4, V1.S4, V2.S4, V3.S4]

step:
	WEIGHTS_BF16
	VLD1.P 32(R7), [V16.B16, V17.B16]
	PAIRS(16, 17, 0, 1, 2, 3)
	SUBS   $1, R5
	BNE    step
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS   $1, R6
	BNE    tile
	RET

// func neonFinishBF16(y *float32, ldy int, t *float32, count int)
TEXT ·neonFinishBF16(SB), NOSPLIT, $0-32
	MOVD y+0(FP), R0
	MOVD ldy+8(FP), R1
	MOVD t+16(FP), R2
	MOVD count+24(FP), R3

row:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	VZIP1  V1.D2, V0.D2, V4.D2 // first parts
	VZIP1  V3.D2, V2.D2, V5.D2
	VZIP2  V1.D2, V0.D2, V6.D2 // second parts
	VZIP2  V3.D2, V2.D2, V7.D2
	FADD(6, 4, 4)
	FADD(7, 5, 5)
	VST1   [V4.S4, V5.S4], (R0)
	ADD    R1, R0
	SUBS   $1, R3
	BNE    row
	RET
