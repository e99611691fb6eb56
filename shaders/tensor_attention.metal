// Attention through tensor operations, of chunks and of the image tower. Needs softmax.metal and tile.metal.
//
// A threadgroup of 8 simdgroups has 32 queries and walks the positions in blocks of 64: scores are the product of queries
// and keys, 32 elements of Dh at a time, sums the product of exponentials and values, 32 elements of Dh after the other.
// Every product begins from nothing and goes through threadgroup memory, so that nothing depends on which thread holds
// what of it; the parts of blocks are joined in f32, as attend does. All operands are staged in f32; what no query may see,
// and what lies past Dh, is staged as 0.

constant constexpr uint TENSOR_QUERIES = 32;
constant constexpr uint TENSOR_SLICE = 32;  // elements of Dh
constant constexpr uint TENSOR_QUERY_SIMDS = TENSOR_QUERIES / ROW_SIMDS;  // queries of a simdgroup in the softmax
constant constexpr uint TENSOR_STAGE = (BLOCK + TENSOR_QUERIES) * TENSOR_SLICE;

// What a chunk's queries attend to, one KV head.
template <typename T, uint DH>
struct ChunkAttention {
    constant AttendParams *p;
    Tile tile;
    uint kv_head;
    device float *q;
    device const T *keys, *values;
    device const uint *ends;

    uint low() thread const { return tile.low; }
    uint high() thread const { return tile.high; }
    bool exists(uint i) thread const { return i < tile.count; }

    bool sees(uint i, uint position) thread const {
        const uint row = (tile.first + i) / p->group;
        return exists(i) && position >= row_low(*p, row) && position < ends[row];
    }

    device float4 *query(uint i, uint e) thread const {
        return (device float4 *)(q + query_at(*p, tile, kv_head, i, DH) + e);
    }

    ulong place(uint position, uint e) thread const {
        return (ulong(position % p->kv_rows) * p->kv_heads + kv_head) * DH + e;
    }

    float4 at(device const T *from, uint position, uint e) thread const {
        return float4(*(device const vec<T, 4> *)(from + place(position, e)));
    }
    float4 key(uint position, uint e) thread const { return at(keys, position, e); }
    float4 value(uint position, uint e) thread const { return at(values, position, e); }
};

// What the tower's patches attend to, one head: every patch sees every patch.
template <uint DH>
struct PatchAttention {
    uint first, patches, heads, head;
    device float *q;
    device const float *keys, *values;

    uint low() thread const { return 0; }
    uint high() thread const { return patches; }
    bool exists(uint i) thread const { return first + i < patches; }
    bool sees(uint i, uint position) thread const { return exists(i) && position < patches; }

    ulong place(uint patch, uint e) thread const { return (ulong(patch) * heads + head) * DH + e; }

    device float4 *query(uint i, uint e) thread const { return (device float4 *)(q + place(first + i, e)); }
    float4 key(uint position, uint e) thread const { return *(device const float4 *)(keys + place(position, e)); }
    float4 value(uint position, uint e) thread const { return *(device const float4 *)(values + place(position, e)); }
};

// stage_slice stages elements e to e + 31 of Dh of a block's keys or values, [64, 32].
template <uint DH, bool VALUES, typename A>
static inline void stage_slice(thread const A &a, uint begin, uint e, threadgroup float *dst, uint tid) {
    for (uint i = tid; i < BLOCK * (TENSOR_SLICE / 4); i += ROW_THREADS) {
        const uint j = i / (TENSOR_SLICE / 4), at = e + i % (TENSOR_SLICE / 4) * 4, position = begin + j;
        float4 v = float4(0.0f);
        if (at < DH && position >= a.low() && position < a.high()) {
            v = VALUES ? a.value(position, at) : a.key(position, at);
        }
        *(threadgroup float4 *)(dst + 4 * i) = v;
    }
}

// tensor_scores writes scores[i, j] = q_i . K_j of a block, [32, 64]; stage is [TENSOR_STAGE].
template <uint DH, typename A>
static inline void tensor_scores(thread const A &a, uint begin, threadgroup float *stage, threadgroup float *scores, uint tid) {
    threadgroup float *queries = stage + BLOCK * TENSOR_SLICE;
    auto left = tensor_view(queries, TENSOR_SLICE, TENSOR_QUERIES);
    auto right = tensor_view(stage, TENSOR_SLICE, BLOCK);
    constexpr auto descriptor = matmul2d_descriptor(32, 64, 32, false, true, false, matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroups<8>> product;
    auto sum = product.template get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
        sum[i] = 0.0f;
    }
    const uint query = tid / (TENSOR_SLICE / 4), at = tid % (TENSOR_SLICE / 4) * 4;
    for (uint e = 0; e < DH; e += TENSOR_SLICE) {
        stage_slice<DH, false>(a, begin, e, stage, tid);
        const bool inside = a.exists(query) && e + at < DH;
        *(threadgroup float4 *)(queries + 4 * tid) = inside ? *a.query(query, e + at) : float4(0.0f);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the slices are there
        product.run(left, right, sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    auto tile = tensor_view(scores, BLOCK, TENSOR_QUERIES);
    sum.store(tile);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there
}

// tensor_softmax turns the scores of a simdgroup's queries into exponentials, and says in weighing, [32, 2], what the sums
// so far and those of the block are multiplied with.
template <typename A>
static inline void tensor_softmax(thread const A &a, uint begin, threadgroup float *scores, threadgroup float *weighing,
                                  thread Part *total, uint simd, uint lane) {
    for (uint n = 0; n < TENSOR_QUERY_SIMDS; ++n) {
        const uint i = simd * TENSOR_QUERY_SIMDS + n;
        for (uint j = lane; j < BLOCK; j += LANES) {
            if (!a.sees(i, begin + j)) {
                scores[i * BLOCK + j] = NEVER;
            }
        }
        const Weighing w = join(total[n], softmax_block(scores + i * BLOCK, lane));
        if (lane == 0) {
            weighing[2 * i] = w.keep;
            weighing[2 * i + 1] = w.add;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // exponentials and weights are there
}

// tensor_values joins the block's sums over V to those so far. Thread tid has 4 elements of every slice of query tid / 8.
template <uint DH, typename A>
static inline void tensor_values(thread const A &a, uint begin, threadgroup float *stage, threadgroup float *probs,
                                 threadgroup const float *weighing, thread float4 *sum, uint tid) {
    threadgroup float *out = stage + BLOCK * TENSOR_SLICE;
    auto left = tensor_view(probs, BLOCK, TENSOR_QUERIES);
    auto right = tensor_view(stage, TENSOR_SLICE, BLOCK);
    auto tile = tensor_view(out, TENSOR_SLICE, TENSOR_QUERIES);
    constexpr auto descriptor = matmul2d_descriptor(32, 32, 64, false, false, false, matmul2d_descriptor::mode::multiply);
    matmul2d<descriptor, execution_simdgroups<8>> product;
    auto block = product.template get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    const uint query = tid / (TENSOR_SLICE / 4);
    const float keep = weighing[2 * query], add = weighing[2 * query + 1];
    #pragma unroll
    for (uint s = 0; s < (DH + TENSOR_SLICE - 1) / TENSOR_SLICE; ++s) {
        stage_slice<DH, true>(a, begin, s * TENSOR_SLICE, stage, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the slice is there, and the last one's sums are read
        product.run(left, right, block);
        block.store(tile);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the slice is read, its sums are there
        sum[s] = fma(sum[s], float4(keep), *(threadgroup const float4 *)(out + 4 * tid) * add);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // all is read: the next block overwrites it
}

// tensor_attend: all blocks of a threadgroup's queries; the output takes their place. stage is [TENSOR_STAGE], probs
// [32, 64], weighing [32, 2].
template <uint DH, typename A>
static inline void tensor_attend(thread const A &a, threadgroup float *stage, threadgroup float *probs,
                                 threadgroup float *weighing, uint tid, uint simd, uint lane) {
    constexpr uint slices = (DH + TENSOR_SLICE - 1) / TENSOR_SLICE;
    float4 sum[slices];
    for (uint s = 0; s < slices; ++s) {
        sum[s] = float4(0.0f);
    }
    Part total[TENSOR_QUERY_SIMDS];
    for (uint n = 0; n < TENSOR_QUERY_SIMDS; ++n) {
        total[n].peak = NEVER;
        total[n].sum = 0.0f;
    }
    for (uint begin = a.low() / BLOCK * BLOCK; begin < a.high(); begin += BLOCK) {
        tensor_scores<DH>(a, begin, stage, probs, tid);
        tensor_softmax(a, begin, probs, weighing, total, simd, lane);
        tensor_values<DH>(a, begin, stage, probs, weighing, sum, tid);
    }
    if (lane == 0) {
        for (uint n = 0; n < TENSOR_QUERY_SIMDS; ++n) {
            weighing[simd * TENSOR_QUERY_SIMDS + n] = 1.0f / total[n].sum;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);  // scales are there; no thread reads q any more
    const uint query = tid / (TENSOR_SLICE / 4), at = tid % (TENSOR_SLICE / 4) * 4;
    if (!a.exists(query)) {
        return;
    }
    #pragma unroll
    for (uint s = 0; s < slices; ++s) {
        if (s * TENSOR_SLICE + at < DH) {
            *a.query(query, s * TENSOR_SLICE + at) = sum[s] * weighing[query];
        }
    }
}

// attend_tensor does what attend does. Grid: threadgroups (tiles of 32 queries, G).
template <typename T, uint DH>
[[kernel, max_total_threads_per_threadgroup(256)]] void attend_tensor(device float *q [[buffer(0)]],
                   device const T *keys [[buffer(1)]],
                   device const T *values [[buffer(2)]],
                   device const uint *ends [[buffer(3)]],
                   constant AttendParams &p [[buffer(4)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint tid [[thread_index_in_threadgroup]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float stage[TENSOR_STAGE];
    threadgroup float probs[TENSOR_QUERIES * BLOCK];
    threadgroup float weighing[TENSOR_QUERIES * 2];
    ChunkAttention<T, DH> a;
    a.p = &p;
    a.tile = tile_of<TENSOR_QUERIES>(p, ends, group.x);
    a.kv_head = group.y;
    a.q = q;
    a.keys = keys;
    a.values = values;
    a.ends = ends;
    tensor_attend<DH>(a, stage, probs, weighing, tid, simd, lane);
}

// tower_attend_tensor does what tower_attend does. Grid: threadgroups (ceil(P/32), H).
template <uint DH>
[[kernel, max_total_threads_per_threadgroup(256)]] void tower_attend_tensor(device float *q [[buffer(0)]],
                         device const float *k [[buffer(1)]],
                         device const float *v [[buffer(2)]],
                         constant TowerAttendParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float stage[TENSOR_STAGE];
    threadgroup float probs[TENSOR_QUERIES * BLOCK];
    threadgroup float weighing[TENSOR_QUERIES * 2];
    const PatchAttention<DH> a = {group.x * TENSOR_QUERIES, p.patches, p.heads, group.y, q, k, v};
    tensor_attend<DH>(a, stage, probs, weighing, tid, simd, lane);
}

INSTANCE("attend_tensor_f16_d64", attend_tensor<half, 64>)
INSTANCE("attend_tensor_f16_d128", attend_tensor<half, 128>)
INSTANCE("attend_tensor_f16_d256", attend_tensor<half, 256>)
INSTANCE("attend_tensor_f16_d512", attend_tensor<half, 512>)
INSTANCE("attend_tensor_f32_d64", attend_tensor<float, 64>)
INSTANCE("attend_tensor_f32_d128", attend_tensor<float, 128>)
INSTANCE("attend_tensor_f32_d256", attend_tensor<float, 256>)
INSTANCE("attend_tensor_f32_d512", attend_tensor<float, 512>)
INSTANCE("tower_attend_tensor_d32", tower_attend_tensor<32>)
INSTANCE("tower_attend_tensor_d72", tower_attend_tensor<72>)
