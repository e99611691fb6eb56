// The lanes' shares of R rows become sums.

// pick chooses by elements: choosing between whole vectors would choose between addresses.
static inline float4 pick(bool first, float4 a, float4 b) {
    return float4(first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z, first ? a.w : b.w);
}

// halve leaves each lane the shares of N of 2N rows: it gives the others away to the lane STEP on, which gives it those
// of the rows that it keeps.
template <uint N, uint STEP>
static inline void halve(thread float4 *sum, uint lane) {
    const bool high = (lane & STEP) != 0;
    #pragma unroll
    for (uint r = 0; r < N; ++r) {
        const float4 keep = pick(high, sum[r + N], sum[r]), give = pick(high, sum[r], sum[r + N]);
        sum[r] = keep + simd_shuffle_xor(give, STEP);
    }
}

// fold adds the lanes' shares in the order of lane_sum and returns those of one row: 9 shuffles for 8 rows instead of 40,
// of the same pairs of lanes.
template <uint R>
static inline float4 fold(thread float4 *sum, uint lane) {
    if (R == 1) {
        return lane_sum(sum[0]);
    }
    halve<4, 16>(sum, lane);
    halve<2, 8>(sum, lane);
    halve<1, 4>(sum, lane);
    float4 t = sum[0];
    t += simd_shuffle_xor(t, 2);
    t += simd_shuffle_xor(t, 1);
    return t;
}

// folded_row is the row that fold gives to a lane, and whether the lane is the one to write it.
template <uint R>
static inline uint folded_row(uint lane) {
    return R == 1 ? 0 : (lane & 16) / 4 + (lane & 8) / 4 + (lane & 4) / 4;
}

template <uint R>
static inline bool folded_writer(uint lane) {
    return R == 1 ? lane == 0 : lane % 4 == 0;
}
