// Products with affine matrices, as sums.metal makes their sums.

constant constexpr Portion ALL_INPUTS = {0, 1};

// A Block is the four outputs that a simdgroup makes, of one of up to three matrices.
struct Block {
    Quad at;
    uint first, count;  // outputs past the matrix's end read the last one's row
};

template <uint BITS>
static inline Block block_at(constant AffineParams &p, uint first) {
    const uint m = uint(first >= p.ends[0]) + uint(first >= p.ends[1]);
    const uint begin = m == 0 ? 0 : p.ends[m - 1];
    const uint last = min(p.ends[m], p.outputs) - 1 - begin;
    const uint o = first - begin;
    const uint4 rows = uint4(o, min(o + 1, last), min(o + 2, last), min(o + 3, last));
    Block b;
    b.at = quad_at<BITS>(uint4(p.matrix[m].codes), uint4(p.matrix[m].scales), uint4(p.matrix[m].biases), rows, p.inputs);
    b.first = first;
    b.count = min(AFFINE_OUTPUTS, last + 1 - o);
    return b;
}

// store_block writes the outputs of row n, softcapped.
static inline void store_block(constant AffineParams &p, Block b, uint n, float4 t, device float *y) {
    device float *out = y + ulong(n) * p.y_stride + b.first;
    for (uint i = 0; i < b.count; ++i) {
        out[i] = p.limit > 0.0f ? p.limit * precise::tanh(t[i] / p.limit) : t[i];
    }
}

// rows_at writes where the rows of group begin in x; those past the last are the last.
template <uint R>
static inline void rows_at(uint group, uint rows, uint stride, thread uint *row) {
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        row[r] = min(group * R + r, rows - 1) * stride;
    }
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
    const Block b = block_at<BITS>(p, first);
    uint row[R];
    rows_at<R>(group.y, p.rows, p.x_stride, row);
    float4 sum[R];
    affine_sums<BITS, R>(weights, b.at, x, row, p.inputs, ALL_INPUTS, lane, sum);
    const float4 t = fold<R>(sum, lane);
    const uint n = group.y * R + folded_row<R>(lane);
    if (folded_writer<R>(lane) && n < p.rows) {
        store_block(p, b, n, t, y);
    }
}

// affine_split: the same for matrices of few outputs, whose simdgroups would not fill a GPU. The sum of an output is made of
// quarters of the inputs, added in ascending order. With one row each simdgroup of a threadgroup makes a quarter: grid of
// threadgroups (ceil(outputs/4), rows). With more a simdgroup makes one after the other: (ceil(outputs/16), ceil(rows/R)).
template <uint BITS, uint R>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_split(device const uchar *weights [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   device float *y [[buffer(2)]],
                   constant AffineParams &p [[buffer(3)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 quarters[AFFINE_SIMDS];
    const uint first = (R == 1 ? group.x : group.x * AFFINE_SIMDS + simd) * AFFINE_OUTPUTS;
    if (first >= p.outputs) {
        return;  // with one row the whole threadgroup: a barrier follows
    }
    const Block b = block_at<BITS>(p, first);
    uint row[R];
    rows_at<R>(group.y, p.rows, p.x_stride, row);
    float4 sum[R], t;
    for (uint i = R == 1 ? simd : 0; i < AFFINE_SIMDS; i += R == 1 ? AFFINE_SIMDS : 1) {
        const Portion quarter = {i, AFFINE_SIMDS};
        affine_sums<BITS, R>(weights, b.at, x, row, p.inputs, quarter, lane, sum);
        const float4 part = fold<R>(sum, lane);
        t = R == 1 || i == 0 ? part : t + part;
    }
    if (R == 1) {
        if (lane == 0) {
            quarters[simd] = t;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all quarters are there
        if (simd > 0) {
            return;
        }
        t = ((quarters[0] + quarters[1]) + quarters[2]) + quarters[3];
    }
    const uint n = group.y * R + folded_row<R>(lane);
    if (folded_writer<R>(lane) && n < p.rows) {
        store_block(p, b, n, t, y);
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
    rows_at<R>(group.y, p.rows, p.inputs, row);
    float4 sum[R];
    affine_sums<BITS, R>(weights, at, x, row, p.inputs, ALL_INPUTS, lane, sum);
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
INSTANCE("affine_split_int4_r1", affine_split<4, 1>)
INSTANCE("affine_split_int4_r8", affine_split<4, 8>)
INSTANCE("affine_split_int8_r1", affine_split<8, 1>)
INSTANCE("affine_split_int8_r8", affine_split<8, 8>)
INSTANCE("affine_geglu_int4_r1", affine_geglu<4, 1>)
INSTANCE("affine_geglu_int4_r8", affine_geglu<4, 8>)
INSTANCE("affine_geglu_int8_r1", affine_geglu<8, 1>)
INSTANCE("affine_geglu_int8_r8", affine_geglu<8, 8>)
