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

// code makes a float of an unsigned code of at most 23 bits: 2^23 + code has the code in its low bits.
static inline float code(uint bits) {
    return as_type<float>(bits | 0x4B000000u) - 8388608.0f;
}

static inline float4 codes(uint4 words, uint shift, uint mask) {
    const uint4 c = (words >> shift) & mask;
    return float4(code(c.x), code(c.y), code(c.z), code(c.w));
}

// code_word is word i of the codes that begin at a byte offset.
template <uint BITS>
static inline uint code_word(device const uchar *weights, uint base, uint i, bool aligned) {
    if (aligned) {
        return ((device const uint *)(weights + base))[i];
    }
    if (BITS == 4) {
        device const ushort *part = (device const ushort *)(weights + base) + 2 * i;
        return uint(part[0]) | uint(part[1]) << 16;
    }
    device const uchar *part = weights + base + 4 * i;
    return uint(part[0]) | uint(part[1]) << 8 | uint(part[2]) << 16 | uint(part[3]) << 24;
}

// half_at is the 16-bit value at an even byte offset.
static inline uint half_at(device const uchar *weights, uint base, uint i) {
    return ((device const ushort *)(weights + base))[i];
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

// affine_sums makes one lane's shares of four outputs, [R]; row holds the rows' offsets in x. With one row, memory sets
// the pace: the words of AHEAD rounds are asked for at once. Rounds past the end add 0 * 0.
template <uint BITS, uint R>
static inline void affine_sums(device const uchar *weights, Quad at, device const float *x, thread const uint *row,
                               uint inputs, uint lane, thread float4 *sum) {
    constexpr uint per_word = 32 / BITS;
    constexpr uint per_group = 64 / per_word;
    constexpr uint ahead = R == 1 ? 4 : 1;
    const bool aligned = ((at.codes.x | at.codes.y | at.codes.z | at.codes.w) & 3) == 0;
    const uint count = inputs / per_word;
    for (uint r = 0; r < R; ++r) {
        sum[r] = float4(0.0f);
    }
    for (uint first = lane; first < count; first += ahead * LANES) {
        uint4 words[ahead], scales[ahead], biases[ahead];
        #pragma unroll
        for (uint a = 0; a < ahead; ++a) {
            const uint i = first + a * LANES, g = i / per_group;
            words[a] = scales[a] = biases[a] = uint4(0);
            if (i < count) {
                words[a] = uint4(code_word<BITS>(weights, at.codes.x, i, aligned), code_word<BITS>(weights, at.codes.y, i, aligned),
                                 code_word<BITS>(weights, at.codes.z, i, aligned), code_word<BITS>(weights, at.codes.w, i, aligned));
                scales[a] = uint4(half_at(weights, at.scales.x, g), half_at(weights, at.scales.y, g),
                                  half_at(weights, at.scales.z, g), half_at(weights, at.scales.w, g));
                biases[a] = uint4(half_at(weights, at.biases.x, g), half_at(weights, at.biases.y, g),
                                  half_at(weights, at.biases.z, g), half_at(weights, at.biases.w, g));
            }
        }
        #pragma unroll
        for (uint a = 0; a < ahead; ++a) {
            const uint i = first + a * LANES;
            const float4 scale = as_type<float4>(scales[a] << 16), bias = as_type<float4>(biases[a] << 16);
            float4 q[per_word];
            #pragma unroll
            for (uint j = 0; j < per_word; ++j) {
                q[j] = codes(words[a], BITS * j, (1u << BITS) - 1);
            }
            #pragma unroll
            for (uint r = 0; r < R; ++r) {
                float4 dot = float4(0.0f), total = float4(0.0f);
                #pragma unroll
                for (uint j = 0; j < per_word; j += 4) {
                    float4 v = float4(0.0f);
                    if (i < count) {
                        v = *(device const float4 *)(x + row[r] + i * per_word + j);
                    }
                    dot = fma(q[j], float4(v.x), dot);
                    dot = fma(q[j + 1], float4(v.y), dot);
                    dot = fma(q[j + 2], float4(v.z), dot);
                    dot = fma(q[j + 3], float4(v.w), dot);
                    total += v;
                }
                const float t = (total.x + total.y) + (total.z + total.w);
                sum[r] = fma(scale, dot, fma(bias, float4(t), sum[r]));
            }
        }
    }
}

// fold adds the lanes' shares in the order of lane_sum and returns those of one row. With 8 rows a lane gives half of
// what it holds away at each of the first steps: 9 shuffles instead of 40, the same pairs.
template <uint R>
static inline float4 fold(thread float4 *sum, uint lane) {
    #pragma unroll
    for (uint n = R / 2, step = 16; n > 0; n /= 2, step /= 2) {
        const bool high = (lane & step) != 0;
        #pragma unroll
        for (uint r = 0; r < n; ++r) {
            const float4 keep = high ? sum[r + n] : sum[r];
            const float4 give = high ? sum[r] : sum[r + n];
            sum[r] = keep + simd_shuffle_xor(give, ushort(step));
        }
    }
    float4 t = sum[0];
    #pragma unroll
    for (uint step = 16 / R; step > 0; step /= 2) {
        t += simd_shuffle_xor(t, ushort(step));
    }
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
