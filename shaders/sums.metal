// Sums of products with affine int4 and int8 matrices: w = scale*code + bias, groups of 64 inputs, both bf16.
//
//   y[n,o] = sum over groups g of scale[o,g] * sum_i(code[o,i]*x[n,i]) + bias[o,g] * sum_i(x[n,i])
//
// One simdgroup makes 4 outputs for R rows, in steps of 64 of a row's 32-bit words of codes. A lane takes two words of a
// step, both of one group: one scale and one bias serve them. Of the rest, fewer than 64 words, a lane takes one at a time.
// Sums are f32. What is added to what depends on the number of inputs alone, never on R: a row has the same bits in a decode
// step and in a chunk of a prompt. Matrix units would be faster for many rows, but the order inside them is the device's
// secret. Needs codes.metal.

constant constexpr uint AFFINE_SIMDS = 4;  // simdgroups per threadgroup
constant constexpr uint AFFINE_OUTPUTS = 4;

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

// How the words of a step are dealt out: a group's to BITS lanes, of which each takes one of its first half and the one
// that lies as far into its second.
template <uint BITS>
struct Deal {
    static constexpr constant uint words = 2 * LANES;  // of a step
    static constexpr constant uint inputs = words * 32 / BITS;
    static constexpr constant uint groups = inputs / 64;
};

// Where a lane reads next.
struct Reader {
    device const uchar *weights;
    Quad at;
    device const float *x;
    uint one;
};

// reader_at begins at a step.
template <uint BITS>
static inline Reader reader_at(device const uchar *weights, Quad at, device const float *x, uint inputs, uint step,
                               uint lane) {
    const uint group = step * Deal<BITS>::groups + lane / BITS, word = group * 2 * BITS + lane % BITS;
    Reader r;
    r.weights = weights;
    r.at.codes = at.codes + 4 * word;
    r.at.scales = at.scales + 2 * group;
    r.at.biases = at.biases + 2 * group;
    r.x = x + word * (32 / BITS);
    r.one = 0x4B000000u | inputs >> 31;  // the same as without: a compiler would spell a constant out at every use
    return r;
}

// skip goes on by words, and by groups.
template <uint BITS>
static inline void skip(thread Reader &in, int words, int groups) {
    in.at.codes += uint(4 * words);
    in.at.scales += uint(2 * groups);
    in.at.biases += uint(2 * groups);
    in.x += words * int(32 / BITS);
}

// deal_singly turns a lane's place in a step into its place in the rest.
template <uint BITS>
static inline void deal_singly(thread Reader &in, uint lane) {
    const uint group = lane / BITS, word = group * 2 * BITS + lane % BITS;
    skip<BITS>(in, int(lane) - int(word), int(lane / (2 * BITS)) - int(group));
}

// affine_add adds a word of each output for R rows; row holds where they begin in x, which is where a single row begins.
template <uint BITS, uint R>
static inline void affine_add(uint4 words, float4 scale, float4 bias, device const float *x, uint one, thread const uint *row,
                              thread float4 *sum) {
    constexpr uint per_word = 32 / BITS;
    float4 q[per_word];
    #pragma unroll
    for (uint j = 0; j < per_word; ++j) {
        const uint at = R == 1 ? place<BITS>(j) * BITS : 0, shift = R == 1 ? shifted<BITS>(j) : j * BITS;
        q[j] = codes(words >> shift, ((1u << BITS) - 1) << at, one);
    }
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        float4 dot = float4(0.0f);
        float t = 0.0f;
        #pragma unroll
        for (uint j = 0; j < per_word; j += 4) {
            const float4 in = *(device const float4 *)(x + (R == 1 ? 0 : row[r]) + j);
            const float4 v = R == 1 ? unplaced<BITS>(in, j) : in;
            dot = fma(q[j], float4(v.x), dot);
            dot = fma(q[j + 1], float4(v.y), dot);
            dot = fma(q[j + 2], float4(v.z), dot);
            dot = fma(q[j + 3], float4(v.w), dot);
            t += (in.x + in.y) + (in.z + in.w);
        }
        sum[r] = fma(scale, dot, fma(bias, float4(t), sum[r]));
    }
}

// What a lane reads of a step, or of half a step: W words of codes of each output, and the scale and bias of their group.
template <uint W>
struct Share {
    uint4 words[W];
    uint4 scales, biases;
};

// share_load asks for a lane's share of the step N steps on.
template <uint BITS, bool ALIGNED, uint W, uint N>
static inline void share_load(thread const Reader &in, thread Share<W> &share) {
    using D = Deal<BITS>;
    #pragma unroll
    for (uint o = 0; o < 4; ++o) {
        #pragma unroll
        for (uint w = 0; w < W; ++w) {
            share.words[w][o] = code_word<BITS, ALIGNED>(in.weights + in.at.codes[o] + 4 * (N * D::words + w * BITS));
        }
        share.scales[o] = ((device const ushort *)(in.weights + in.at.scales[o]))[N * D::groups];
        share.biases[o] = ((device const ushort *)(in.weights + in.at.biases[o]))[N * D::groups];
    }
}

// share_add adds what the share N steps on holds.
template <uint BITS, uint R, uint W, uint N>
static inline void share_add(thread const Reader &in, thread const Share<W> &share, thread const uint *row,
                             thread float4 *sum) {
    const float4 scale = as_type<float4>(share.scales << 16), bias = as_type<float4>(share.biases << 16);
    #pragma unroll
    for (uint w = 0; w < W; ++w) {
        device const float *x = in.x + N * Deal<BITS>::inputs + w * 32;
        affine_add<BITS, R>(share.words[w], scale, bias, x, in.one, row, sum);
    }
}

// A Portion says which of how many portions of the inputs are summed.
struct Portion {
    uint index, count;
};

// An Extent is what a simdgroup sums: steps from first on, and the words that make no step.
struct Extent {
    uint first, steps, rest;
};

// extent_of shares the inputs out to portions; the last one has the rest.
template <uint BITS>
static inline Extent extent_of(uint inputs, Portion portion) {
    const uint words = inputs / (32 / BITS), steps = words / Deal<BITS>::words;
    Extent e;
    e.first = steps * portion.index / portion.count;
    e.steps = steps * (portion.index + 1) / portion.count - e.first;
    e.rest = portion.index + 1 == portion.count ? words % Deal<BITS>::words : 0;
    return e;
}

// affine_walk adds the steps of one row. Memory sets the pace: the next step is asked for before the present one is added.
template <uint BITS, bool ALIGNED>
static inline void affine_walk(thread Reader &in, uint steps, thread float4 *sum) {
    using D = Deal<BITS>;
    const uint row = 0;
    if (steps == 0) {
        return;
    }
    Share<2> even, odd;
    share_load<BITS, ALIGNED, 2, 0>(in, even);
    for (; steps > 2; steps -= 2) {
        share_load<BITS, ALIGNED, 2, 1>(in, odd);
        share_add<BITS, 1, 2, 0>(in, even, &row, sum);
        share_load<BITS, ALIGNED, 2, 2>(in, even);
        share_add<BITS, 1, 2, 1>(in, odd, &row, sum);
        skip<BITS>(in, 2 * D::words, 2 * D::groups);
    }
    if (steps == 2) {
        share_load<BITS, ALIGNED, 2, 1>(in, odd);
        share_add<BITS, 1, 2, 0>(in, even, &row, sum);
        share_add<BITS, 1, 2, 1>(in, odd, &row, sum);
        skip<BITS>(in, 2 * D::words, 2 * D::groups);
    } else {
        share_add<BITS, 1, 2, 0>(in, even, &row, sum);
        skip<BITS>(in, D::words, D::groups);
    }
}

// affine_rows adds the same in the same order for many rows, one word at a time: there are no registers for two.
template <uint BITS, uint R, bool ALIGNED>
static inline void affine_rows(thread Reader &in, uint steps, thread const uint *row, thread float4 *sum) {
    for (uint i = 0; i < 2 * steps; ++i) {
        Share<1> share;
        share_load<BITS, ALIGNED, 1, 0>(in, share);
        share_add<BITS, R, 1, 0>(in, share, row, sum);
        const bool first = i % 2 == 0;
        skip<BITS>(in, first ? BITS : Deal<BITS>::words - BITS, first ? 0 : Deal<BITS>::groups);
    }
}

// affine_rest adds what makes no step.
template <uint BITS, uint R, bool ALIGNED>
static inline void affine_rest(thread Reader &in, uint words, uint lane, thread const uint *row, thread float4 *sum) {
    deal_singly<BITS>(in, lane);
    for (uint first = 0; first < words; first += LANES) {
        if (first + lane < words) {
            Share<1> share;
            share_load<BITS, ALIGNED, 1, 0>(in, share);
            share_add<BITS, R, 1, 0>(in, share, row, sum);
        }
        skip<BITS>(in, LANES, Deal<BITS>::groups / 2);
    }
}

template <uint BITS, uint R, bool ALIGNED>
static inline void affine_extent(Reader in, Extent e, uint lane, thread const uint *row, thread float4 *sum) {
    if (R == 1) {
        affine_walk<BITS, ALIGNED>(in, e.steps, sum);
    } else {
        affine_rows<BITS, R, ALIGNED>(in, e.steps, row, sum);
    }
    if (e.rest > 0) {
        affine_rest<BITS, R, ALIGNED>(in, e.rest, lane, row, sum);
    }
}

// affine_sums makes one lane's shares of four outputs, [R]; row holds the rows' offsets in x.
template <uint BITS, uint R>
static inline void affine_sums(device const uchar *weights, Quad at, device const float *x, thread const uint *row,
                               uint inputs, Portion portion, uint lane, thread float4 *sum) {
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        sum[r] = float4(0.0f);
    }
    const Extent e = extent_of<BITS>(inputs, portion);
    const Reader in = reader_at<BITS>(weights, at, R == 1 ? x + row[0] : x, inputs, e.first, lane);
    if (((at.codes.x | at.codes.y | at.codes.z | at.codes.w) & 3) == 0) {
        affine_extent<BITS, R, true>(in, e, lane, row, sum);
    } else {
        affine_extent<BITS, R, false>(in, e, lane, row, sum);
    }
}
