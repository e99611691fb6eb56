// Vector instructions that Go's assembler has no names for. Registers are numbers, sources before destination. The
// words are the A64 encodings of the Arm Architecture Reference Manual, for four float32 unless the name says otherwise.
#define FADD(m, n, d)   WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d)   WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d)) // d = n - m
#define FMUL(m, n, d)   WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FDIV(m, n, d)   WORD $(0x6E20FC00 | (m)<<16 | (n)<<5 | (d)) // d = n / m
#define FMAX(m, n, d)   WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d)   WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
#define FCMGE(m, n, d)  WORD $(0x6E20E400 | (m)<<16 | (n)<<5 | (d)) // d = n >= m
#define FADDP(m, n, d)  WORD $(0x6E20D400 | (m)<<16 | (n)<<5 | (d)) // pairs of n, then pairs of m
#define FMAXV(n, d)     WORD $(0x6E30F800 | (n)<<5 | (d))           // to the first lane
#define FABS(n, d)      WORD $(0x4EA0F800 | (n)<<5 | (d))
#define FRINTN(n, d)    WORD $(0x4E218800 | (n)<<5 | (d))           // to nearest, ties to even
#define FCVTNS(n, d)    WORD $(0x4E21A800 | (n)<<5 | (d))           // to integers, the same
#define SCVTF(n, d)     WORD $(0x4E21D800 | (n)<<5 | (d))           // from integers
#define FCVTL(n, d)     WORD $(0x0E217800 | (n)<<5 | (d))           // the low four FP16 of n
#define FCVTL2(n, d)    WORD $(0x4E217800 | (n)<<5 | (d))           // the high four
#define FCVTN(n, d)     WORD $(0x0E216800 | (n)<<5 | (d))           // to the low four FP16 of d
#define FCVTN2(n, d)    WORD $(0x4E216800 | (n)<<5 | (d))           // to the high four
#define SHLL16(n, d)    WORD $(0x2E613800 | (n)<<5 | (d))           // the low four words of n, shifted up by 16
#define SHLL216(n, d)   WORD $(0x6E613800 | (n)<<5 | (d))           // the high four
#define SDOT(m, n, d)   WORD $(0x4E809400 | (m)<<16 | (n)<<5 | (d)) // FEAT_DotProd: d += groups of four bytes of n*m
#define SMMLA(m, n, d)  WORD $(0x4E80A400 | (m)<<16 | (n)<<5 | (d)) // FEAT_I8MM: d += 2 by 8 bytes of n times m transposed
#define BFMMLA(m, n, d) WORD $(0x6E40EC00 | (m)<<16 | (n)<<5 | (d)) // FEAT_BF16: d += 2 by 4 bfloat16 of n times m transposed
#define BFCVTN(n, d)    WORD $(0x0EA16800 | (n)<<5 | (d))           // FEAT_BF16: to the low four bfloat16 of d, ties to even
#define BFCVTN2(n, d)   WORD $(0x4EA16800 | (n)<<5 | (d))           // to the high four
#define XTN16(n, d)     WORD $(0x0E612800 | (n)<<5 | (d))           // the low halves of dwords, to the low four words of d
#define XTN216(n, d)    WORD $(0x4E612800 | (n)<<5 | (d))           // to the high four
#define XTN8(n, d)      WORD $(0x0E212800 | (n)<<5 | (d))           // the low halves of words, to the low eight bytes of d
#define XTN28(n, d)     WORD $(0x4E212800 | (n)<<5 | (d))           // to the high eight
#define RSHRN8(n, d)    WORD $(0x0F088C00 | (n)<<5 | (d))           // (word+128)>>8, to the low eight bytes of d
#define RSHRN28(n, d)   WORD $(0x4F088C00 | (n)<<5 | (d))           // to the high eight
