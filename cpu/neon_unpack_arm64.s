//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// A 4-bit group of 64 codes is 32 bytes: two registers of four dwords of eight nibbles. Nibble k of all dwords, masked
// where it stands, is four integers code*16^k, exact as float32; the packed activations hold x*16^-k in the same order.
// Only the top nibble is shifted down, as the sign bit would be in its way. Bytes of 8-bit codes go the same way.

#define PART(mask) \
	VAND V1.B16, mask.B16, V0.B16 \
	SCVTF(0, 0) \
	VST1.P [V0.S4], 16(R6)

#define TOP(shift) \
	VUSHR $shift, V1.S4, V0.S4 \
	SCVTF(0, 0) \
	VST1.P [V0.S4], 16(R6)

// func simdUnpack4(dst *float32, codes *byte, stride int, groups int, outputs int)
TEXT ·simdUnpack4(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  codes+8(FP), R1
	MOVD  stride+16(FP), R2
	MOVD  outputs+32(FP), R4
	MOVW  $15, R8
	VDUP  R8, V16.S4
	VSHL  $4, V16.S4, V17.S4
	VSHL  $8, V16.S4, V18.S4
	VSHL  $12, V16.S4, V19.S4
	VSHL  $16, V16.S4, V20.S4
	VSHL  $20, V16.S4, V21.S4
	VSHL  $24, V16.S4, V22.S4

output:
	MOVD  groups+24(FP), R5
	LSL   $1, R5 // registers
	MOVD  R0, R6
	MOVD  R1, R7

register:
	VLD1.P 16(R7), [V1.S4]
	PART(V16)
	PART(V17)
	PART(V18)
	PART(V19)
	PART(V20)
	PART(V21)
	PART(V22)
	TOP(28)
	SUBS   $1, R5
	BNE    register
	ADD    $2048, R0
	ADD    R2, R1
	SUBS   $1, R4
	BNE    output
	RET

// func simdUnpack8(dst *float32, codes *byte, stride int, groups int, outputs int)
TEXT ·simdUnpack8(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  codes+8(FP), R1
	MOVD  stride+16(FP), R2
	MOVD  outputs+32(FP), R4
	MOVW  $255, R8
	VDUP  R8, V16.S4
	VSHL  $8, V16.S4, V17.S4
	VSHL  $16, V16.S4, V18.S4

output:
	MOVD  groups+24(FP), R5
	LSL   $2, R5
	MOVD  R0, R6
	MOVD  R1, R7

register:
	VLD1.P 16(R7), [V1.S4]
	PART(V16)
	PART(V17)
	PART(V18)
	TOP(24)
	SUBS   $1, R5
	BNE    register
	ADD    $2048, R0
	ADD    R2, R1
	SUBS   $1, R4
	BNE    output
	RET

// func simdFinish(y *float32, ldy int, t *float32, count int)
TEXT ·simdFinish(SB), NOSPLIT, $0-32
	MOVD y+0(FP), R0
	MOVD ldy+8(FP), R1
	MOVD t+16(FP), R2
	MOVD count+24(FP), R3

row:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	FADDP(1, 0, 4)
	FADDP(3, 2, 5)
	FADDP(5, 4, 6)
	VST1   [V6.S4], (R0)
	ADD    R1, R0
	SUBS   $1, R3
	BNE    row
	RET
