//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"
#include "neon_tile_arm64.h"

#define LOAD1 VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
#define LOAD2 \
	ADD $64, R0, R15 \
	VLD1 (R15), [V4.S4, V5.S4, V6.S4, V7.S4]
#define LOAD3 \
	ADD $128, R0, R15 \
	VLD1 (R15), [V8.S4, V9.S4, V10.S4, V11.S4]

#define SAVE1 VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
#define SAVE2 VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
#define SAVE3 VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)

#define DENSE_ARGUMENTS \
	MOVD t+0(FP), R0 \
	MOVD ldw+16(FP), R8 \
	MOVD x+24(FP), R9 \
	MOVD ldx+32(FP), R10 \
	MOVD count+48(FP), R12

#define DENSE_TILE \
	MOVD w+8(FP), R1 \
	ADD  R8, R1, R2 \
	ADD  R8, R2, R3 \
	ADD  R8, R3, R4 \
	MOVD R9, R5 \
	ADD  R10, R5, R6 \
	ADD  R10, R6, R7 \
	MOVD steps+40(FP), R11

// func simdDenseTile1(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)
TEXT ·simdDenseTile1(SB), NOSPLIT, $0-56
	DENSE_ARGUMENTS

tile:
	DENSE_TILE
	LOAD1

step:
	STEP1
	STEP1
	SUBS $1, R11
	BNE  step
	SAVE1
	ADD  R10, R9
	SUBS $1, R12
	BNE  tile
	RET

// func simdDenseTile2(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)
TEXT ·simdDenseTile2(SB), NOSPLIT, $0-56
	DENSE_ARGUMENTS

tile:
	DENSE_TILE
	LOAD1
	LOAD2

step:
	STEP2
	STEP2
	SUBS $1, R11
	BNE  step
	SAVE1
	SAVE2
	ADD  R10<<1, R9
	SUBS $1, R12
	BNE  tile
	RET

// func simdDenseTile3(t *float32, w *float32, ldw int, x *float32, ldx int, steps int, count int)
TEXT ·simdDenseTile3(SB), NOSPLIT, $0-56
	DENSE_ARGUMENTS

tile:
	DENSE_TILE
	LOAD1
	LOAD2
	LOAD3

step:
	STEP3
	STEP3
	SUBS $1, R11
	BNE  step
	SAVE1
	SAVE2
	SAVE3
	ADD  R10<<1, R9
	ADD  R10, R9
	SUBS $1, R12
	BNE  tile
	RET
