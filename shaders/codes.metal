// Codes of affine matrices. Those of 4 bits begin at any even address, those of 8 bits at any address: what does not lie on a
// word is read in parts.

// codes makes floats of the bits under a mask, below the 23rd: 2^23 + code has the code in its low bits. one is the bits
// of 2^23.
static inline float4 codes(uint4 words, uint mask, uint one) {
    return as_type<float4>((words & mask) | one) - 8388608.0f;
}

// With one row, codes are taken where they stand in the word, times a power of the base, and the input is divided by it:
// both exact. Only what lies above the 20th bit is shifted.
template <uint BITS>
static constexpr uint place(uint j) {
    return BITS == 4 ? (j < 5 ? j : j - 3) : j % 2;
}

template <uint BITS>
static constexpr uint shifted(uint j) {
    return BITS == 4 ? (j < 5 ? 0 : 12) : j / 2 * 16;
}

// unplaced divides the inputs of codes j to j + 3 by their places' powers.
template <uint BITS>
static inline float4 unplaced(float4 x, uint j) {
    if (BITS == 8) {
        return x * float4(1.0f, 1.0f / 256, 1.0f, 1.0f / 256);
    }
    return j == 0 ? x * float4(1.0f, 1.0f / 16, 1.0f / 256, 1.0f / 4096)
                  : x * float4(1.0f / 65536, 1.0f / 256, 1.0f / 4096, 1.0f / 65536);
}

// code_word is a word of codes at a byte address.
template <uint BITS, bool ALIGNED>
static inline uint code_word(device const uchar *at) {
    if (ALIGNED) {
        return *(device const uint *)at;
    }
    if (BITS == 4) {
        device const ushort *part = (device const ushort *)at;
        return uint(part[0]) | uint(part[1]) << 16;
    }
    return uint(at[0]) | uint(at[1]) << 8 | uint(at[2]) << 16 | uint(at[3]) << 24;
}
