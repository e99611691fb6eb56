//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// 1e-30, the least magnitude that a group is scaled by, and the largest integer of two signed digits, as float32.
#define LEAST 0x0DA24260
#define DIGIT_LIMIT 0x46FEFE00

#define SPLIT_ARGUMENTS \
	MOVD digits+0(FP), R0 \
	MOVD scales+8(FP), R1 \
	MOVD sums+16(FP), R2 \
	MOVD x+24(FP), R3 \
	MOVD groups+32(FP), R4 \
	MOVW $LEAST, R5 \
	VDUP R5, V30.S4 \
	MOVW $DIGIT_LIMIT, R5 \
	VDUP R5, V31.S4

// LARGEST takes two registers into the running maxima V16 and V17.
#define LARGEST(a, b) \
	FABS(a, 18) \
	FABS(b, 19) \
	FMAX(18, 16, 16) \
	FMAX(19, 17, 17)

#define SCALE_ROUND(i) \
	FMUL(16, i, i) \
	FCVTNS(i, i)

// NARROW makes sixteen integers of four registers low digits (i) and high digits (h).
#define NARROW(i, i2, i3, i4, h) \
	XTN16(i, 18) \
	XTN216(i2, 18) \
	XTN16(i3, 19) \
	XTN216(i4, 19) \
	XTN8(18, i) \
	XTN28(19, i) \
	RSHRN8(18, h) \
	RSHRN28(19, h)

// SPLIT_GROUP leaves high digits in V20 to V23 and low digits in V24 to V27: of even elements of the first 32, of odd
// ones, then of the last 32. Loads part even elements (V0, V2, ...) from odd ones.
#define SPLIT_GROUP \
	VLD2.P 32(R3), [V0.S4, V1.S4] \
	VLD2.P 32(R3), [V2.S4, V3.S4] \
	VLD2.P 32(R3), [V4.S4, V5.S4] \
	VLD2.P 32(R3), [V6.S4, V7.S4] \
	VLD2.P 32(R3), [V8.S4, V9.S4] \
	VLD2.P 32(R3), [V10.S4, V11.S4] \
	VLD2.P 32(R3), [V12.S4, V13.S4] \
	VLD2.P 32(R3), [V14.S4, V15.S4] \
	VMOV   V30.B16, V16.B16 \
	VMOV   V30.B16, V17.B16 \
	LARGEST(0, 1) \
	LARGEST(2, 3) \
	LARGEST(4, 5) \
	LARGEST(6, 7) \
	LARGEST(8, 9) \
	LARGEST(10, 11) \
	LARGEST(12, 13) \
	LARGEST(14, 15) \
	FMAX(17, 16, 16) \
	FMAXV(16, 16) \
	VDUP   V16.S[0], V16.S4 \
	FDIV(31, 16, 29) \
	FDIV(16, 31, 16) \
	SCALE_ROUND(0) \
	SCALE_ROUND(1) \
	SCALE_ROUND(2) \
	SCALE_ROUND(3) \
	SCALE_ROUND(4) \
	SCALE_ROUND(5) \
	SCALE_ROUND(6) \
	SCALE_ROUND(7) \
	SCALE_ROUND(8) \
	SCALE_ROUND(9) \
	SCALE_ROUND(10) \
	SCALE_ROUND(11) \
	SCALE_ROUND(12) \
	SCALE_ROUND(13) \
	SCALE_ROUND(14) \
	SCALE_ROUND(15) \
	VADD   V0.S4, V1.S4, V16.S4 \
	VADD   V2.S4, V3.S4, V17.S4 \
	VADD   V4.S4, V16.S4, V16.S4 \
	VADD   V5.S4, V17.S4, V17.S4 \
	VADD   V6.S4, V16.S4, V16.S4 \
	VADD   V7.S4, V17.S4, V17.S4 \
	VADD   V8.S4, V16.S4, V16.S4 \
	VADD   V9.S4, V17.S4, V17.S4 \
	VADD   V10.S4, V16.S4, V16.S4 \
	VADD   V11.S4, V17.S4, V17.S4 \
	VADD   V12.S4, V16.S4, V16.S4 \
	VADD   V13.S4, V17.S4, V17.S4 \
	VADD   V14.S4, V16.S4, V16.S4 \
	VADD   V15.S4, V17.S4, V17.S4 \
	VADD   V17.S4, V16.S4, V16.S4 \
	VADDV  V16.S4, V16 \
	SCVTF(16, 16) \
	FMUL(29, 16, 16) \
	FMOVS  F29, (R1) \
	FMOVS  F16, (R2) \
	ADD    $4, R1 \
	ADD    $4, R2 \
	NARROW(0, 2, 4, 6, 20) \
	NARROW(1, 3, 5, 7, 21) \
	NARROW(8, 10, 12, 14, 22) \
	NARROW(9, 11, 13, 15, 23) \
	VMOV   V0.B16, V24.B16 \
	VMOV   V1.B16, V25.B16 \
	VMOV   V8.B16, V26.B16 \
	VMOV   V9.B16, V27.B16

// func neonSplitDot(digits *int8, scales *float32, sums *float32, x *float32, groups int)
TEXT ·neonSplitDot(SB), NOSPLIT, $0-40
	SPLIT_ARGUMENTS

group:
	SPLIT_GROUP
	VST1.P [V20.B16, V21.B16, V22.B16, V23.B16], 64(R0)
	VST1.P [V24.B16, V25.B16, V26.B16, V27.B16], 64(R0)
	SUBS   $1, R4
	BNE    group
	RET

// func neonSplitMatrix(digits *int8, scales *float32, sums *float32, x *float32, groups int)
TEXT ·neonSplitMatrix(SB), NOSPLIT, $0-40
	SPLIT_ARGUMENTS

group:
	SPLIT_GROUP
	VZIP1  V24.D2, V20.D2, V0.D2
	VZIP2  V24.D2, V20.D2, V1.D2
	VZIP1  V25.D2, V21.D2, V2.D2
	VZIP2  V25.D2, V21.D2, V3.D2
	VZIP1  V26.D2, V22.D2, V4.D2
	VZIP2  V26.D2, V22.D2, V5.D2
	VZIP1  V27.D2, V23.D2, V6.D2
	VZIP2  V27.D2, V23.D2, V7.D2
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	SUBS   $1, R4
	BNE    group
	RET
