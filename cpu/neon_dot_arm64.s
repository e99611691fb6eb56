//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// OUTPUT adds the group's codes of one output, at CODES, times the activations in V0 to V7 (high digits: low and high
// nibbles of both halves, then low digits) to its sums T. SCALES is the output's scale of the group, V16 the row's.
#define OUTPUT(CODES, SCALES, T) \
	VLD1.P 32(CODES), [V8.B16, V9.B16] \
	VUSHR  $4, V8.B16, V10.B16 \
	VUSHR  $4, V9.B16, V11.B16 \
	VAND   V17.B16, V8.B16, V8.B16 \
	VAND   V17.B16, V9.B16, V9.B16 \
	VEOR   V12.B16, V12.B16, V12.B16 \
	VEOR   V13.B16, V13.B16, V13.B16 \
	SDOT(0, 8, 12) \
	SDOT(4, 8, 13) \
	SDOT(1, 10, 12) \
	SDOT(5, 10, 13) \
	SDOT(2, 9, 12) \
	SDOT(6, 9, 13) \
	SDOT(3, 11, 12) \
	SDOT(7, 11, 13) \
	VSHL   $8, V12.S4, V12.S4 \
	VADD   V13.S4, V12.S4, V12.S4 \
	SCVTF(12, 12) \
	VLD1R  (SCALES), [V14.S4] \
	ADD    $4, SCALES \
	FMUL(16, 14, 14) \
	VFMLA  V14.S4, V12.S4, T.S4

// func neonDotTile(t *float32, codes *byte, stride int, scales *float32, scaleStride int, x *int8, xscales *float32, groups int)
TEXT ·neonDotTile(SB), NOSPLIT, $0-64
	MOVD t+0(FP), R0
	MOVD codes+8(FP), R1
	MOVD stride+16(FP), R9
	ADD  R9, R1, R2
	ADD  R9, R2, R3
	ADD  R9, R3, R4
	MOVD scales+24(FP), R5
	MOVD scaleStride+32(FP), R9
	ADD  R9, R5, R6
	ADD  R9, R6, R7
	ADD  R9, R7, R8
	MOVD x+40(FP), R10
	MOVD xscales+48(FP), R11
	MOVD groups+56(FP), R12
	MOVW $15, R13
	VDUP R13, V17.B16
	VLD1 (R0), [V20.S4, V21.S4, V22.S4, V23.S4]

group:
	VLD1.P 64(R10), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R10), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1R  (R11), [V16.S4]
	ADD    $4, R11
	OUTPUT(R1, R5, V20)
	OUTPUT(R2, R6, V21)
	OUTPUT(R3, R7, V22)
	OUTPUT(R4, R8, V23)
	SUBS   $1, R12
	BNE    group
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R0)
	RET
