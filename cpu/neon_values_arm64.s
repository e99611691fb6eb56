//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"
#include "neon_kv_arm64.h"

// VALUES: up to eight keys at a time, all chunks of eight elements, so that the rows are still in the first-level cache
// when the next chunk comes. SIZE is the bytes of eight cached elements.
#define VALUES_ARGUMENTS \
	MOVD ldo+8(FP), R1 \
	MOVD p+24(FP), R2 \
	MOVD ldp+32(FP), R3 \
	MOVD kv+40(FP), R5 \
	MOVD stride+48(FP), R6 \
	MOVD n+56(FP), R7

#define VALUES_KEYS \
	CBZ  R7, done \
	MOVD $8, R8 \
	CMP  R8, R7 \
	CSEL LT, R7, R8, R8 \
	MOVD o+0(FP), R0 \
	MOVD chunks+16(FP), R9 \
	MOVD R5, R10

#define VALUES_NEXT \
	ADD  R8<<2, R2 \
	MUL  R6, R8, R15 \
	ADD  R15, R5 \
	SUB  R8, R7 \
	B    keys

#define VALUES2(KV, SIZE) \
	VALUES_ARGUMENTS \
keys: \
	VALUES_KEYS \
chunk: \
	ADD  R1, R0, R15 \
	VLD1 (R0), [V0.S4, V1.S4] \
	VLD1 (R15), [V2.S4, V3.S4] \
	MOVD R10, R11 \
	MOVD R2, R12 \
	MOVD R8, R14 \
key: \
	MOVD R11, R4 \
	KV \
	ADD  R3, R12, R13 \
	VLD1R.P 4(R12), [V16.S4] \
	VLD1R (R13), [V17.S4] \
	VFMLA V4.S4, V16.S4, V0.S4 \
	VFMLA V5.S4, V16.S4, V1.S4 \
	VFMLA V4.S4, V17.S4, V2.S4 \
	VFMLA V5.S4, V17.S4, V3.S4 \
	ADD   R6, R11 \
	SUBS  $1, R14 \
	BNE   key \
	VST1.P [V0.S4, V1.S4], 32(R0) \
	VST1  [V2.S4, V3.S4], (R15) \
	ADD   $SIZE, R10 \
	SUBS  $1, R9 \
	BNE   chunk \
	VALUES_NEXT \
done: \
	RET

#define VALUES1(KV, SIZE) \
	VALUES_ARGUMENTS \
keys: \
	VALUES_KEYS \
chunk: \
	VLD1 (R0), [V0.S4, V1.S4] \
	MOVD R10, R11 \
	MOVD R2, R12 \
	MOVD R8, R14 \
key: \
	MOVD R11, R4 \
	KV \
	VLD1R.P 4(R12), [V16.S4] \
	VFMLA V4.S4, V16.S4, V0.S4 \
	VFMLA V5.S4, V16.S4, V1.S4 \
	ADD   R6, R11 \
	SUBS  $1, R14 \
	BNE   key \
	VST1.P [V0.S4, V1.S4], 32(R0) \
	ADD   $SIZE, R10 \
	SUBS  $1, R9 \
	BNE   chunk \
	VALUES_NEXT \
done: \
	RET

// func simdValues2x1Half(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)
TEXT ·simdValues2x1Half(SB), NOSPLIT, $0-64
	VALUES2(KV_HALF, 16)

// func simdValues1x1Half(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)
TEXT ·simdValues1x1Half(SB), NOSPLIT, $0-64
	VALUES1(KV_HALF, 16)

// func simdValues2x1Float(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)
TEXT ·simdValues2x1Float(SB), NOSPLIT, $0-64
	VALUES2(KV_FLOAT, 32)

// func simdValues1x1Float(o *float32, ldo int, chunks int, p *float32, ldp int, kv *byte, stride int, n int)
TEXT ·simdValues1x1Float(SB), NOSPLIT, $0-64
	VALUES1(KV_FLOAT, 32)
