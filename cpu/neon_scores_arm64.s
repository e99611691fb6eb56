//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"
#include "neon_kv_arm64.h"

// SCORES: per key eight lanes along the head for each of two queries: V0 V1, V2 V3.
#define SCORES_ARGUMENTS \
	MOVD p+0(FP), R0 \
	MOVD ldp+8(FP), R1 \
	MOVD q+16(FP), R2 \
	MOVD dh+24(FP), R3 \
	MOVD kv+32(FP), R5 \
	MOVD stride+40(FP), R6 \
	MOVD n+48(FP), R7

#define SCORES2(KV) \
	SCORES_ARGUMENTS \
	LSR  $3, R3, R8 \
key: \
	MOVD R5, R4 \
	MOVD R2, R9 \
	ADD  R3<<2, R2, R10 \
	MOVD R8, R11 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16 \
step: \
	KV \
	VLD1.P 32(R9), [V16.S4, V17.S4] \
	VLD1.P 32(R10), [V18.S4, V19.S4] \
	VFMLA  V4.S4, V16.S4, V0.S4 \
	VFMLA  V5.S4, V17.S4, V1.S4 \
	VFMLA  V4.S4, V18.S4, V2.S4 \
	VFMLA  V5.S4, V19.S4, V3.S4 \
	SUBS   $1, R11 \
	BNE    step \
	FADD(1, 0, 0) \
	FADD(3, 2, 2) \
	FADDP(2, 0, 0) \
	FADDP(0, 0, 0) \
	VMOV   V0.S[0], R12 \
	VMOV   V0.S[1], R13 \
	MOVW   R12, (R0) \
	MOVW   R13, (R0)(R1) \
	ADD    $4, R0 \
	ADD    R6, R5 \
	SUBS   $1, R7 \
	BNE    key \
	RET

#define SCORES1(KV) \
	SCORES_ARGUMENTS \
	LSR  $3, R3, R8 \
key: \
	MOVD R5, R4 \
	MOVD R2, R9 \
	MOVD R8, R11 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
step: \
	KV \
	VLD1.P 32(R9), [V16.S4, V17.S4] \
	VFMLA  V4.S4, V16.S4, V0.S4 \
	VFMLA  V5.S4, V17.S4, V1.S4 \
	SUBS   $1, R11 \
	BNE    step \
	FADD(1, 0, 0) \
	FADDP(0, 0, 0) \
	FADDP(0, 0, 0) \
	FMOVS  F0, (R0) \
	ADD    $4, R0 \
	ADD    R6, R5 \
	SUBS   $1, R7 \
	BNE    key \
	RET

// func simdScores2Half(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)
TEXT ·simdScores2Half(SB), NOSPLIT, $0-56
	SCORES2(KV_HALF)

// func simdScores1Half(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)
TEXT ·simdScores1Half(SB), NOSPLIT, $0-56
	SCORES1(KV_HALF)

// func simdScores2Float(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)
TEXT ·simdScores2Float(SB), NOSPLIT, $0-56
	SCORES2(KV_FLOAT)

// func simdScores1Float(p *float32, ldp int, q *float32, dh int, kv *byte, stride int, n int)
TEXT ·simdScores1Float(SB), NOSPLIT, $0-56
	SCORES1(KV_FLOAT)
