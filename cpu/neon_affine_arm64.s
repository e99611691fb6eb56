//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"
#include "neon_tile_arm64.h"

#define AFFINE_ARGUMENTS \
	MOVD t+0(FP), R0 \
	MOVD scaleStride+24(FP), R8 \
	MOVD x+32(FP), R9 \
	MOVD ldx+40(FP), R10 \
	MOVD count+56(FP), R12

#define AFFINE_TILE \
	MOVD w+8(FP), R1 \
	ADD  $2048, R1, R2 \
	ADD  $2048, R2, R3 \
	ADD  $2048, R3, R4 \
	MOVD R9, R5 \
	ADD  R10, R5, R6 \
	ADD  R10, R6, R7 \
	MOVD groups+48(FP), R11 \
	MOVD scales+16(FP), R13

#define ZERO1 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16

#define ZERO2 \
	VEOR V4.B16, V4.B16, V4.B16 \
	VEOR V5.B16, V5.B16, V5.B16 \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16

#define ZERO3 \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16

// SCALES loads the group's scales to V20-V23.
#define SCALES \
	MOVD  R13, R14 \
	VLD1R (R14), [V20.S4] \
	ADD   R8, R14 \
	VLD1R (R14), [V21.S4] \
	ADD   R8, R14 \
	VLD1R (R14), [V22.S4] \
	ADD   R8, R14 \
	VLD1R (R14), [V23.S4] \
	ADD   $4, R13

// ADDSCALED adds the group's lanes times scales to a row's sums at R15.
#define ADDSCALED(a, b, c, d) \
	VLD1   (R15), [V24.S4, V25.S4, V26.S4, V27.S4] \
	VFMLA  a.S4, V20.S4, V24.S4 \
	VFMLA  b.S4, V21.S4, V25.S4 \
	VFMLA  c.S4, V22.S4, V26.S4 \
	VFMLA  d.S4, V23.S4, V27.S4 \
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R15)

// func simdAffineTile1(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int, groups int, count int)
TEXT ·simdAffineTile1(SB), NOSPLIT, $0-64
	AFFINE_ARGUMENTS

tile:
	AFFINE_TILE

group:
	ZERO1
	MOVD $16, R16

step:
	STEP1
	SUBS $1, R16
	BNE  step
	SCALES
	MOVD R0, R15
	ADDSCALED(V0, V1, V2, V3)
	SUBS $1, R11
	BNE  group
	ADD  $64, R0
	ADD  R10, R9
	SUBS $1, R12
	BNE  tile
	RET

// func simdAffineTile2(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int, groups int, count int)
TEXT ·simdAffineTile2(SB), NOSPLIT, $0-64
	AFFINE_ARGUMENTS

tile:
	AFFINE_TILE

group:
	ZERO1
	ZERO2
	MOVD $16, R16

step:
	STEP2
	SUBS $1, R16
	BNE  step
	SCALES
	MOVD R0, R15
	ADDSCALED(V0, V1, V2, V3)
	ADDSCALED(V4, V5, V6, V7)
	SUBS $1, R11
	BNE  group
	ADD  $128, R0
	ADD  R10<<1, R9
	SUBS $1, R12
	BNE  tile
	RET

// func simdAffineTile3(t *float32, w *float32, scales *float32, scaleStride int, x *float32, ldx int, groups int, count int)
TEXT ·simdAffineTile3(SB), NOSPLIT, $0-64
	AFFINE_ARGUMENTS

tile:
	AFFINE_TILE

group:
	ZERO1
	ZERO2
	ZERO3
	MOVD $16, R16

step:
	STEP3
	SUBS $1, R16
	BNE  step
	SCALES
	MOVD R0, R15
	ADDSCALED(V0, V1, V2, V3)
	ADDSCALED(V4, V5, V6, V7)
	ADDSCALED(V8, V9, V10, V11)
	SUBS $1, R11
	BNE  group
	ADD  $192, R0
	ADD  R10<<1, R9
	ADD  R10, R9
	SUBS $1, R12
	BNE  tile
	RET
