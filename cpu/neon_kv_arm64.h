// KV reads eight cached elements at R4 to V4 and V5.
#define KV_HALF \
	VLD1.P 16(R4), [V6.H8] \
	FCVTL(6, 4) \
	FCVTL2(6, 5)

#define KV_FLOAT VLD1.P 32(R4), [V4.S4, V5.S4]
