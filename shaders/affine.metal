// Products with affine int4 and int8 matrices: w = scale*code + bias, groups of 64 inputs, both bf16.
//
//   y[n,o] = sum over groups g of scale[o,g] * sum_i(code[o,i]*x[n,i]) + bias[o,g] * sum_i(x[n,i])
//
// One simdgroup makes 4 outputs for R rows. Lane l takes the 32-bit words l, l+32, ... of the packed codes, so that a
// simdgroup reads 128 consecutive bytes; sums are f32. What is added to what depends on the number of inputs alone,
// never on R: a row has the same bits in a decode step and in a chunk of a prompt. Matrix units would be faster for
// many rows, but the order inside them is the device's secret.
//
// Codes of 4 bits begin at any even address, codes of 8 bits at any address: what does not lie on a word is read in parts.

constant constexpr uint AFFINE_SIMDS = 4;  // simdgroups per threadgroup
constant constexpr uint AFFINE_OUTPUTS = 4;

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

// The places of four outputs' rows, in bytes.
struct Quad {
    uint4 codes, scales, biases;
};

template <uint BITS>
static inline Quad quad_at(uint4 codes, uint4 scales, uint4 biases, uint4 rows, uint inputs) {
    Quad q;
    q.codes = codes + rows * (inputs / (8 / BITS));
    q.scales = scales + rows * (inputs / 32);
    q.biases = biases + rows * (inputs / 32);
    return q;
}

// Where a lane reads next.
struct Reader {
    device const uchar *weights;
    Quad at;
    device const float *x;
    uint one;
};

template <uint BITS>
static inline Reader reader_at(device const uchar *weights, Quad at, device const float *x, uint inputs, uint lane) {
    Reader r;
    r.weights = weights;
    r.at.codes = at.codes + 4 * lane;
    r.at.scales = at.scales + lane / (2 * BITS) * 2;  // a lane's word is of this group of the round's
    r.at.biases = at.biases + lane / (2 * BITS) * 2;
    r.x = x + lane * (32 / BITS);
    r.one = 0x4B000000u | inputs >> 31;  // the same as without: a compiler would spell a constant out at every use
    return r;
}

// What a lane reads of a round: a word of codes, a scale and a bias of each output.
struct Round {
    uint4 words, scales, biases;
};

// affine_load asks for a lane's words of N rounds.
template <uint BITS, bool ALIGNED, uint N>
static inline void affine_load(thread Reader &in, thread Round *round) {
    constexpr uint groups = LANES / (2 * BITS);  // of a round
    #pragma unroll
    for (uint n = 0; n < N; ++n) {
        #pragma unroll
        for (uint o = 0; o < 4; ++o) {
            round[n].words[o] = code_word<BITS, ALIGNED>(in.weights + in.at.codes[o] + n * 4 * LANES);
            round[n].scales[o] = ((device const ushort *)(in.weights + in.at.scales[o]))[n * groups];
            round[n].biases[o] = ((device const ushort *)(in.weights + in.at.biases[o]))[n * groups];
        }
    }
    in.at.codes += N * 4 * LANES;
    in.at.scales += N * groups * 2;
    in.at.biases += N * groups * 2;
}

// affine_add adds what N rounds hold.
template <uint BITS, uint R, uint N>
static inline void affine_add(thread Reader &in, thread const Round *round, thread const uint *row, thread float4 *sum) {
    constexpr uint per_word = 32 / BITS;
    #pragma unroll
    for (uint n = 0; n < N; ++n) {
        const uint4 words = round[n].words;
        const float4 scale = as_type<float4>(round[n].scales << 16), bias = as_type<float4>(round[n].biases << 16);
        float4 q[per_word];
        #pragma unroll
        for (uint j = 0; j < per_word; ++j) {
            const uint at = R == 1 ? place<BITS>(j) * BITS : 0, shift = R == 1 ? shifted<BITS>(j) : j * BITS;
            q[j] = codes(words >> shift, ((1u << BITS) - 1) << at, in.one);
        }
        #pragma unroll
        for (uint r = 0; r < R; ++r) {
            float4 dot = float4(0.0f), total;
            #pragma unroll
            for (uint j = 0; j < per_word; j += 4) {
                const float4 x = *(device const float4 *)(in.x + row[r] + n * LANES * per_word + j);
                const float4 v = R == 1 ? unplaced<BITS>(x, j) : x;
                dot = fma(q[j], float4(v.x), dot);
                dot = fma(q[j + 1], float4(v.y), dot);
                dot = fma(q[j + 2], float4(v.z), dot);
                dot = fma(q[j + 3], float4(v.w), dot);
                total = j == 0 ? x : total + x;
            }
            const float t = (total.x + total.y) + (total.z + total.w);
            sum[r] = fma(scale, dot, fma(bias, float4(t), sum[r]));
        }
    }
    in.x += N * LANES * per_word;
}

// affine_walk adds all of a lane's words. With one row, memory sets the pace: the next two rounds are asked for before the
// present two are added.
template <uint BITS, uint R, bool ALIGNED>
static inline void affine_walk(thread Reader &in, thread const uint *row, uint words, uint lane, thread float4 *sum) {
    uint rounds = words / LANES;
    if (R == 1 && rounds >= 2) {
        Round now[2];
        affine_load<BITS, ALIGNED, 2>(in, now);
        for (rounds -= 2; rounds >= 2; rounds -= 2) {
            Round next[2];
            affine_load<BITS, ALIGNED, 2>(in, next);
            affine_add<BITS, R, 2>(in, now, row, sum);
            now[0] = next[0];
            now[1] = next[1];
        }
        affine_add<BITS, R, 2>(in, now, row, sum);
    }
    for (; rounds > 0; --rounds) {
        Round now[1];
        affine_load<BITS, ALIGNED, 1>(in, now);
        affine_add<BITS, R, 1>(in, now, row, sum);
    }
    if (lane < words % LANES) {
        Round now[1];
        affine_load<BITS, ALIGNED, 1>(in, now);
        affine_add<BITS, R, 1>(in, now, row, sum);
    }
}

// affine_sums makes one lane's shares of four outputs, [R]; row holds the rows' offsets in x.
template <uint BITS, uint R>
static inline void affine_sums(device const uchar *weights, Quad at, device const float *x, thread const uint *row,
                               uint inputs, uint lane, thread float4 *sum) {
    Reader in = reader_at<BITS>(weights, at, x, inputs, lane);
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        sum[r] = float4(0.0f);
    }
    if (((at.codes.x | at.codes.y | at.codes.z | at.codes.w) & 3) == 0) {
        affine_walk<BITS, R, true>(in, row, inputs / (32 / BITS), lane, sum);
    } else {
        affine_walk<BITS, R, false>(in, row, inputs / (32 / BITS), lane, sum);
    }
}

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

// affine: y = W x, softcapped where limit is not 0: limit * tanh(y / limit)
// Up to three matrices of the same inputs share the input; their outputs follow each other in y, and all but the last
// have a multiple of 4. Grid: threadgroups (ceil(outputs/16), ceil(rows/R)).
template <uint BITS, uint R>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine(device const uchar *weights [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   device float *y [[buffer(2)]],
                   constant AffineParams &p [[buffer(3)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    const uint first = (group.x * AFFINE_SIMDS + simd) * AFFINE_OUTPUTS;
    if (first >= p.outputs) {
        return;  // whole simdgroups only: no barrier follows
    }
    const uint m = uint(first >= p.ends[0]) + uint(first >= p.ends[1]);
    const uint begin = m == 0 ? 0 : p.ends[m - 1];
    const uint last = min(p.ends[m], p.outputs) - 1 - begin;
    const uint o = first - begin;  // outputs past the end read the last one's row
    const uint4 rows = uint4(o, min(o + 1, last), min(o + 2, last), min(o + 3, last));
    const Quad at = quad_at<BITS>(uint4(p.matrix[m].codes), uint4(p.matrix[m].scales), uint4(p.matrix[m].biases), rows, p.inputs);
    uint row[R];
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        row[r] = min(group.y * R + r, p.rows - 1) * p.x_stride;
    }
    float4 sum[R];
    affine_sums<BITS, R>(weights, at, x, row, p.inputs, lane, sum);
    const float4 t = fold<R>(sum, lane);
    const uint n = group.y * R + folded_row<R>(lane);
    if (folded_writer<R>(lane) && n < p.rows) {
        device float *out = y + ulong(n) * p.y_stride + first;
        for (uint i = 0; i < AFFINE_OUTPUTS && o + i <= last; ++i) {
            out[i] = p.limit > 0.0f ? p.limit * precise::tanh(t[i] / p.limit) : t[i];
        }
    }
}

// affine_geglu: y = gelu(Wgate x) * (Wup x), both of the same outputs, an even number
// Grid: threadgroups (ceil(outputs/8), ceil(rows/R)).
template <uint BITS, uint R>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_geglu(device const uchar *weights [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant GegluParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    const uint o = (group.x * AFFINE_SIMDS + simd) * 2;
    if (o >= p.outputs) {
        return;
    }
    const Quad at = quad_at<BITS>(uint4(uint2(p.gate.codes), uint2(p.up.codes)), uint4(uint2(p.gate.scales), uint2(p.up.scales)),
                                  uint4(uint2(p.gate.biases), uint2(p.up.biases)), uint4(o, o + 1, o, o + 1), p.inputs);
    uint row[R];
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        row[r] = min(group.y * R + r, p.rows - 1) * p.inputs;
    }
    float4 sum[R];
    affine_sums<BITS, R>(weights, at, x, row, p.inputs, lane, sum);
    const float4 t = fold<R>(sum, lane);
    const uint n = group.y * R + folded_row<R>(lane);
    if (folded_writer<R>(lane) && n < p.rows) {
        y[ulong(n) * p.outputs + o] = gelu(t.x) * t.z;
        y[ulong(n) * p.outputs + o + 1] = gelu(t.y) * t.w;
    }
}

INSTANCE("affine_int4_r1", affine<4, 1>)
INSTANCE("affine_int4_r8", affine<4, 8>)
INSTANCE("affine_int8_r1", affine<8, 1>)
INSTANCE("affine_int8_r8", affine<8, 8>)
INSTANCE("affine_geglu_int4_r1", affine_geglu<4, 1>)
INSTANCE("affine_geglu_int4_r8", affine_geglu<4, 8>)
INSTANCE("affine_geglu_int8_r1", affine_geglu<8, 1>)
INSTANCE("affine_geglu_int8_r8", affine_geglu<8, 8>)
