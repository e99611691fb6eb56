//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// func simdWiden(dst *float32, src *byte, blocks int)
TEXT ·simdWiden(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD blocks+16(FP), R2
	CBZ  R2, done

block:
	VLD1.P  16(R1), [V0.H8]
	SHLL16(0, 1)
	SHLL216(0, 2)
	VST1.P  [V1.S4, V2.S4], 32(R0)
	SUBS    $1, R2
	BNE     block

done:
	RET

// func simdHalf(dst *byte, x *float32, blocks int)
TEXT ·simdHalf(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	CBZ  R2, done

block:
	VLD1.P  32(R1), [V0.S4, V1.S4]
	FCVTN(0, 2)
	FCVTN2(1, 2)
	VST1.P  [V2.H8], 16(R0)
	SUBS    $1, R2
	BNE     block

done:
	RET

// func simdSumSquares(x *float32, blocks int) float32
TEXT ·simdSumSquares(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD blocks+8(FP), R2
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	CBZ  R2, done

block:
	VLD1.P 32(R0), [V0.S4, V1.S4]
	VFMLA  V0.S4, V0.S4, V2.S4
	VFMLA  V1.S4, V1.S4, V3.S4
	SUBS   $1, R2
	BNE    block

done:
	FADD(3, 2, 2)
	FADDP(2, 2, 2)
	FADDP(2, 2, 2)
	FMOVS F2, ret+16(FP)
	RET

// func simdScale(dst *float32, x *float32, scale float32, blocks int)
TEXT ·simdScale(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	FMOVS scale+16(FP), F4
	VDUP  V4.S[0], V4.S4
	MOVD  blocks+24(FP), R2
	CBZ   R2, done

block:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	FMUL(4, 0, 0)
	FMUL(4, 1, 1)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $1, R2
	BNE    block

done:
	RET

// func simdScaleNorm(dst *float32, x *float32, scale float32, w *byte, blocks int)
TEXT ·simdScaleNorm(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	FMOVS scale+16(FP), F4
	VDUP  V4.S[0], V4.S4
	MOVD  w+24(FP), R3
	MOVD  blocks+32(FP), R2
	CBZ   R2, done

block:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1.P 16(R3), [V5.H8]
	SHLL16(5, 6)
	SHLL216(5, 7)
	FMUL(4, 0, 0)
	FMUL(4, 1, 1)
	FMUL(6, 0, 0)
	FMUL(7, 1, 1)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $1, R2
	BNE    block

done:
	RET

// func simdCombine(dst *float32, a float32, b float32, x *float32, blocks int)
TEXT ·simdCombine(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	FMOVS a+8(FP), F4
	VDUP  V4.S[0], V4.S4
	FMOVS b+12(FP), F5
	VDUP  V5.S[0], V5.S4
	MOVD  x+16(FP), R1
	MOVD  blocks+24(FP), R2
	CBZ   R2, done

block:
	VLD1   (R0), [V0.S4, V1.S4]
	VLD1.P 32(R1), [V2.S4, V3.S4]
	FMUL(4, 0, 0)
	FMUL(4, 1, 1)
	VFMLA  V2.S4, V5.S4, V0.S4
	VFMLA  V3.S4, V5.S4, V1.S4
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $1, R2
	BNE    block

done:
	RET

// func simdMax(x *float32, blocks int) float32
TEXT ·simdMax(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD blocks+8(FP), R2
	VLD1 (R0), [V2.S4]

block:
	VLD1.P 32(R0), [V0.S4, V1.S4]
	FMAX(0, 2, 2)
	FMAX(1, 2, 2)
	SUBS   $1, R2
	BNE    block
	FMAXV(2, 2)
	FMOVS  F2, ret+16(FP)
	RET

// exp: e^x as x = n*ln2 + r, e^r = 1 + r + r^2*P(r), times 2^n through the exponent bits; P is a minimax fit of relative
// error 3.1e-9 over |r| <= ln2/2. x is held between -87.33 and 88.37, where results are normal numbers.
DATA exp<>+0(SB)/4, $-87.33
DATA exp<>+4(SB)/4, $88.37
DATA exp<>+8(SB)/4, $1.44269504088896341
DATA exp<>+12(SB)/4, $-0.693359375
DATA exp<>+16(SB)/4, $2.12194440054690581e-4
DATA exp<>+20(SB)/4, $0.001381456918886529
DATA exp<>+24(SB)/4, $0.008368731000209708
DATA exp<>+28(SB)/4, $0.04166838941837727
DATA exp<>+32(SB)/4, $0.16666520515331942
DATA exp<>+36(SB)/4, $0.49999993439946766
DATA exp<>+40(SB)/4, $1.0
GLOBL exp<>(SB), RODATA|NOPTR, $44

// The constants stay in V16 to V26.
#define EXP_CONSTANTS \
	MOVD    $exp<>(SB), R9 \
	VLD1R.P 4(R9), [V16.S4] \
	VLD1R.P 4(R9), [V17.S4] \
	VLD1R.P 4(R9), [V18.S4] \
	VLD1R.P 4(R9), [V19.S4] \
	VLD1R.P 4(R9), [V20.S4] \
	VLD1R.P 4(R9), [V21.S4] \
	VLD1R.P 4(R9), [V22.S4] \
	VLD1R.P 4(R9), [V23.S4] \
	VLD1R.P 4(R9), [V24.S4] \
	VLD1R.P 4(R9), [V25.S4] \
	VLD1R.P 4(R9), [V26.S4]

// EXP replaces V0 by its exponentials; V27 to V31 are lost.
#define EXP \
	FMAX(16, 0, 0) \
	FMIN(17, 0, 0) \
	FMUL(18, 0, 27) \
	FRINTN(27, 27) \
	VMOV  V0.B16, V28.B16 \
	VFMLA V19.S4, V27.S4, V28.S4 \
	VFMLA V20.S4, V27.S4, V28.S4 \
	VMOV  V22.B16, V29.B16 \
	VFMLA V21.S4, V28.S4, V29.S4 \
	VMOV  V23.B16, V30.B16 \
	VFMLA V29.S4, V28.S4, V30.S4 \
	VMOV  V24.B16, V29.B16 \
	VFMLA V30.S4, V28.S4, V29.S4 \
	VMOV  V25.B16, V30.B16 \
	VFMLA V29.S4, V28.S4, V30.S4 \
	FMUL(28, 28, 31) \
	VFMLA V30.S4, V31.S4, V28.S4 \
	FADD(26, 28, 28) \
	FCVTNS(27, 27) \
	VSHL  $23, V27.S4, V27.S4 \
	VADD  V27.S4, V28.S4, V0.S4

// func simdExpSum(p *float32, blocks int, shift float32) float32
TEXT ·simdExpSum(SB), NOSPLIT, $0-28
	MOVD  p+0(FP), R0
	MOVD  blocks+8(FP), R2
	FMOVS shift+16(FP), F4
	VDUP  V4.S[0], V4.S4
	VEOR  V5.B16, V5.B16, V5.B16
	LSL   $1, R2
	EXP_CONSTANTS
	CBZ   R2, done

half:
	VLD1   (R0), [V0.S4]
	FSUB(4, 0, 0)
	FCMGE(16, 0, 6)
	EXP
	VAND   V6.B16, V0.B16, V0.B16
	VST1.P [V0.S4], 16(R0)
	FADD(0, 5, 5)
	SUBS   $1, R2
	BNE    half

done:
	FADDP(5, 5, 5)
	FADDP(5, 5, 5)
	FMOVS F5, ret+24(FP)
	RET

DATA geglu<>+0(SB)/4, $-0.0713548162726  // -2*sqrt(2/pi)*0.044715
DATA geglu<>+4(SB)/4, $-1.59576912160573 // -2*sqrt(2/pi)
GLOBL geglu<>(SB), RODATA|NOPTR, $8

// func simdGEGLU(gate *float32, up *float32, blocks int)
// gelu(t) = t / (1 + exp(-2u)), u = sqrt(2/pi)*(t + 0.044715*t^3): the tanh form rewritten.
TEXT ·simdGEGLU(SB), NOSPLIT, $0-24
	MOVD    gate+0(FP), R0
	MOVD    up+8(FP), R1
	MOVD    blocks+16(FP), R2
	LSL     $1, R2
	EXP_CONSTANTS
	MOVD    $geglu<>(SB), R9
	VLD1R.P 4(R9), [V4.S4]
	VLD1R   (R9), [V5.S4]
	CBZ     R2, done

half:
	VLD1   (R0), [V1.S4]
	FMUL(1, 1, 0)
	VMOV   V5.B16, V2.B16
	VFMLA  V4.S4, V0.S4, V2.S4
	FMUL(1, 2, 0)
	EXP
	FADD(26, 0, 0)
	FDIV(0, 1, 1)
	VLD1.P 16(R1), [V3.S4]
	FMUL(3, 1, 1)
	VST1.P [V1.S4], 16(R0)
	SUBS   $1, R2
	BNE    half

done:
	RET

// func simdSoftcap(x *float32, blocks int, limit float32, factor float32)
// limit*tanh(|x|/limit) = limit*(1-e)/(1+e), e = exp(-2|x|/limit), with the sign of x.
TEXT ·simdSoftcap(SB), NOSPLIT, $0-24
	MOVD  x+0(FP), R0
	MOVD  blocks+8(FP), R2
	FMOVS limit+16(FP), F4
	VDUP  V4.S[0], V4.S4
	FMOVS factor+20(FP), F5
	VDUP  V5.S[0], V5.S4
	LSL   $1, R2
	EXP_CONSTANTS
	CBZ   R2, done

half:
	VLD1   (R0), [V1.S4]
	FABS(1, 0)
	VEOR   V0.B16, V1.B16, V2.B16 // the sign
	FMUL(5, 0, 0)
	EXP
	FSUB(0, 26, 3)
	FADD(26, 0, 0)
	FDIV(0, 3, 3)
	FMUL(4, 3, 3)
	VORR   V2.B16, V3.B16, V3.B16
	VST1.P [V3.S4], 16(R0)
	SUBS   $1, R2
	BNE    half

done:
	RET
