//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of digits. R0 sums, R1 codes, R2 scales of the first panel at this group; R4, R5, R6 the same of this panel; R8
// activations and R9 their scales at this group. R19 to R22 are the steps between the codes of outputs. The codes of a
// group and a panel are unpacked once for all rows, to V16 to V31; V12 holds the outputs' scales.
#define DIGIT_ARGUMENTS \
	MOVD t+0(FP), R0 \
	MOVD panelStride+8(FP), R10 \
	MOVD codes+24(FP), R1 \
	MOVD stride+32(FP), R19 \
	MOVD outputs+40(FP), R7 \
	MOVD scales+48(FP), R2 \
	MOVD scaleStride+56(FP), R11 \
	MOVD x+64(FP), R8 \
	MOVD xscales+72(FP), R9 \
	MOVD ldx+80(FP), R12 \
	MOVD groups+96(FP), R13 \
	CMP  $2, R7 \
	CSEL GE, R19, ZR, R20 \
	CMP  $3, R7 \
	CSEL GE, R19, ZR, R21 \
	CMP  $4, R7 \
	CSEL GE, R19, ZR, R22 \
	MOVW $15, R7 \
	VDUP R7, V15.B16

#define PANEL_START \
	VLD1 (R5), [V0.B16, V1.B16] \
	ADD  R20, R5, R7 \
	VLD1 (R7), [V2.B16, V3.B16] \
	ADD  R21, R7 \
	VLD1 (R7), [V4.B16, V5.B16] \
	ADD  R22, R7 \
	VLD1 (R7), [V6.B16, V7.B16] \
	VLD1 (R6), V12.S[0] \
	ADD  R11, R6, R7 \
	VLD1 (R7), V12.S[1] \
	ADD  R11, R7 \
	VLD1 (R7), V12.S[2] \
	ADD  R11, R7 \
	VLD1 (R7), V12.S[3] \
	MOVD R4, R3 \
	MOVD R8, R24 \
	MOVD R9, R25 \
	MOVD rows+88(FP), R23

#define NEXT_PANEL \
	ADD R10, R4 \
	ADD R19<<2, R5 \
	ADD R10, R6

#define NEXT_GROUP \
	ADD $32, R1 \
	ADD $4, R2 \
	ADD $128, R8 \
	ADD $4, R9

#define NIBBLES(FROM, LOW, HIGH) \
	VAND  V15.B16, FROM.B16, LOW.B16 \
	VUSHR $4, FROM.B16, HIGH.B16

// ADD_ROW adds the integers of four outputs in I, scaled, to the row's sums. V0 and V14 are free. A store that also moved
// R3 would make the next row wait for this one's sums on processors that do both in one step.
#define ADD_ROW(i, I) \
	SCVTF(i, i) \
	VLD1R (R25), [V14.S4] \
	ADD   R12, R25 \
	FMUL(14, 12, 14) \
	VLD1  (R3), [V0.S4] \
	VFMLA V14.S4, I.S4, V0.S4 \
	VST1  [V0.S4], (R3) \
	ADD   $16, R3

#define DOT4(a, w0, w1, w2, w3) \
	SDOT(w0, a, 8) \
	SDOT(w1, a, 9) \
	SDOT(w2, a, 10) \
	SDOT(w3, a, 11)

// func neonDotTile(t *float32, panelStride int, panels int, codes *byte, stride int, outputs int, scales *float32, scaleStride int, x *int8, xscales *float32, ldx int, rows int, groups int)
TEXT ·neonDotTile(SB), NOSPLIT, $0-104
	DIGIT_ARGUMENTS

group:
	MOVD R0, R4
	MOVD R1, R5
	MOVD R2, R6
	MOVD panels+16(FP), R15

panel:
	PANEL_START
	NIBBLES(V0, V16, V17) // low and high nibbles of the first 16 bytes, then of the last, by output
	NIBBLES(V1, V18, V19)
	NIBBLES(V2, V20, V21)
	NIBBLES(V3, V22, V23)
	NIBBLES(V4, V24, V25)
	NIBBLES(V5, V26, V27)
	NIBBLES(V6, V28, V29)
	NIBBLES(V7, V30, V31)

row:
	MOVD   R24, R26
	ADD    R12, R24
	VLD1.P 64(R26), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1   (R26), [V4.B16, V5.B16, V6.B16, V7.B16]
	VEOR   V8.B16, V8.B16, V8.B16
	VEOR   V9.B16, V9.B16, V9.B16
	VEOR   V10.B16, V10.B16, V10.B16
	VEOR   V11.B16, V11.B16, V11.B16
	DOT4(0, 16, 20, 24, 28)
	DOT4(1, 17, 21, 25, 29)
	DOT4(2, 18, 22, 26, 30)
	DOT4(3, 19, 23, 27, 31)
	VSHL   $8, V8.S4, V8.S4
	VSHL   $8, V9.S4, V9.S4
	VSHL   $8, V10.S4, V10.S4
	VSHL   $8, V11.S4, V11.S4
	DOT4(4, 16, 20, 24, 28)
	DOT4(5, 17, 21, 25, 29)
	DOT4(6, 18, 22, 26, 30)
	DOT4(7, 19, 23, 27, 31)
	VADDP  V9.S4, V8.S4, V8.S4
	VADDP  V11.S4, V10.S4, V10.S4
	VADDP  V10.S4, V8.S4, V8.S4
	ADD_ROW(8, V8)
	SUBS   $1, R23
	BNE    row
	NEXT_PANEL
	SUBS   $1, R15
	BNE    panel
	NEXT_GROUP
	SUBS   $1, R13
	BNE    group
	RET

// MATRIX_PAIR orders the codes of two outputs, A and A1 of one and B and B1 of the other, in eight registers of eight
// codes of both: as eight digits of a row and their low digits stand.
#define MATRIX_PAIR(A, A1, B, B1, W0, W1, W2, W3, W4, W5, W6, W7) \
	VZIP1 B.D2, A.D2, V13.D2 \
	VZIP2 B.D2, A.D2, V14.D2 \
	NIBBLES(V13, W0, W2) \
	NIBBLES(V14, W1, W3) \
	VZIP1 B1.D2, A1.D2, V13.D2 \
	VZIP2 B1.D2, A1.D2, V14.D2 \
	NIBBLES(V13, W4, W6) \
	NIBBLES(V14, W5, W7)

// ROW_SUMS makes integers of four outputs, in the first register, of the tiles of two pairs: high digits' sums of both
// outputs, then low digits'.
#define ROW_SUMS(P, Q) \
	VZIP1 Q.D2, P.D2, V13.D2 \
	VZIP2 Q.D2, P.D2, P.D2 \
	VSHL  $8, V13.S4, V13.S4 \
	VADD  V13.S4, P.S4, P.S4

#define TWO_ROWS(a, b, w, v) \
	SMMLA(w, a, 8) \
	SMMLA(v, a, 9) \
	SMMLA(w, b, 10) \
	SMMLA(v, b, 11)

#define ONE_ROW(a, w, v) \
	SMMLA(w, a, 8) \
	SMMLA(v, a, 9)

// func neonMatrixTile(t *float32, panelStride int, panels int, codes *byte, stride int, outputs int, scales *float32, scaleStride int, x *int8, xscales *float32, ldx int, rows int, groups int)
TEXT ·neonMatrixTile(SB), NOSPLIT, $0-104
	DIGIT_ARGUMENTS

group:
	MOVD R0, R4
	MOVD R1, R5
	MOVD R2, R6
	MOVD panels+16(FP), R15

panel:
	PANEL_START
	MATRIX_PAIR(V0, V1, V2, V3, V16, V17, V18, V19, V20, V21, V22, V23)
	MATRIX_PAIR(V4, V5, V6, V7, V24, V25, V26, V27, V28, V29, V30, V31)
	SUBS $2, R23
	BLT  last

rows:
	MOVD   R24, R26
	ADD    R12, R24, R7
	ADD    R12<<1, R24
	VEOR   V8.B16, V8.B16, V8.B16
	VEOR   V9.B16, V9.B16, V9.B16
	VEOR   V10.B16, V10.B16, V10.B16
	VEOR   V11.B16, V11.B16, V11.B16
	VLD1.P 64(R26), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R7), [V4.B16, V5.B16, V6.B16, V7.B16]
	TWO_ROWS(0, 4, 16, 24)
	TWO_ROWS(1, 5, 17, 25)
	TWO_ROWS(2, 6, 18, 26)
	TWO_ROWS(3, 7, 19, 27)
	VLD1   (R26), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1   (R7), [V4.B16, V5.B16, V6.B16, V7.B16]
	TWO_ROWS(0, 4, 20, 28)
	TWO_ROWS(1, 5, 21, 29)
	TWO_ROWS(2, 6, 22, 30)
	TWO_ROWS(3, 7, 23, 31)
	ROW_SUMS(V8, V9)
	ROW_SUMS(V10, V11)
	ADD_ROW(8, V8)
	ADD_ROW(10, V10)
	SUBS   $2, R23
	BGE    rows

last:
	TBZ    $0, R23, done // -2 or -1 rows are left
	VEOR   V8.B16, V8.B16, V8.B16
	VEOR   V9.B16, V9.B16, V9.B16
	VLD1.P 64(R24), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1   (R24), [V4.B16, V5.B16, V6.B16, V7.B16]
	ONE_ROW(0, 16, 24)
	ONE_ROW(1, 17, 25)
	ONE_ROW(2, 18, 26)
	ONE_ROW(3, 19, 27)
	ONE_ROW(4, 20, 28)
	ONE_ROW(5, 21, 29)
	ONE_ROW(6, 22, 30)
	ONE_ROW(7, 23, 31)
	ROW_SUMS(V8, V9)
	ADD_ROW(8, V8)

done:
	NEXT_PANEL
	SUBS $1, R15
	BNE  panel
	NEXT_GROUP
	SUBS $1, R13
	BNE  group
	RET
