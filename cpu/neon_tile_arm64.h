// Tiles: four outputs against up to three rows. Sums are V0-V3, V4-V7, V8-V11 by row, activations V12-V14, weights
// V16-V19. R0 sums, R1-R4 outputs, R5-R7 rows, R10 stride of x.

#define WEIGHTS \
	VLD1.P 16(R1), [V16.S4] \
	VLD1.P 16(R2), [V17.S4] \
	VLD1.P 16(R3), [V18.S4] \
	VLD1.P 16(R4), [V19.S4]

#define ROW1 \
	VLD1.P 16(R5), [V12.S4] \
	VFMLA V12.S4, V16.S4, V0.S4 \
	VFMLA V12.S4, V17.S4, V1.S4 \
	VFMLA V12.S4, V18.S4, V2.S4 \
	VFMLA V12.S4, V19.S4, V3.S4

#define ROW2 \
	VLD1.P 16(R6), [V13.S4] \
	VFMLA V13.S4, V16.S4, V4.S4 \
	VFMLA V13.S4, V17.S4, V5.S4 \
	VFMLA V13.S4, V18.S4, V6.S4 \
	VFMLA V13.S4, V19.S4, V7.S4

#define ROW3 \
	VLD1.P 16(R7), [V14.S4] \
	VFMLA V14.S4, V16.S4, V8.S4 \
	VFMLA V14.S4, V17.S4, V9.S4 \
	VFMLA V14.S4, V18.S4, V10.S4 \
	VFMLA V14.S4, V19.S4, V11.S4

#define STEP1 WEIGHTS ROW1
#define STEP2 WEIGHTS ROW1 ROW2
#define STEP3 WEIGHTS ROW1 ROW2 ROW3
