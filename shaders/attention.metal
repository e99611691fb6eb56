// Attention over stored keys and values, with a group of query heads per KV head. There is no scale factor.
//
//   o[n,h,:] = softmax_j(q[n,h,:] . K[j,g,:]) . V[j,g,:]      j visible to row n: low(n) <= j < ends[n]
//   low(n) = max(0, pos + n + 1 - window) in sliding layers, 0 in full ones (window 0)
//
// Positions go in blocks of 64 that begin at multiples of 64; softmax.metal says how their parts are joined. The order of all
// sums depends on the query's position and ends alone. A chunk of rows (attend) and a
// single row whose blocks are split over threadgroups (attend_split, attend_join) so come to the same bits.
//
constant constexpr uint TILE = 8;        // queries; one simdgroup each in softmax_block
constant constexpr uint SLICE = 64;      // elements of Dh that are staged at once
constant constexpr uint SLICE_ROW = 68;  // their distance: float4-aligned, and columns lie in different banks

// score_block writes probs[i, j] = q_i . K_j for the block at begin; scores of positions that a query does not see are
// NEVER. Each thread makes two queries of one key; sums run over Dh in four lanes.
template <typename T, uint DH>
static inline void score_block(constant AttendParams &p, Tile t, uint kv_head, uint begin, device const float *q,
                               device const T *keys, device const uint *ends, threadgroup float *stage,
                               threadgroup float *probs, uint tid) {
    const uint key = tid % BLOCK, pair = tid / BLOCK * 2;
    device const float *q0 = q + query_at(p, t, kv_head, pair, DH);
    device const float *q1 = q + query_at(p, t, kv_head, pair + 1, DH);
    float4 s0 = float4(0.0f), s1 = float4(0.0f);
    for (uint d = 0; d < DH; d += SLICE) {
        for (uint i = tid; i < BLOCK * (SLICE / 4); i += ROW_THREADS) {
            const uint j = i / (SLICE / 4), e = i % (SLICE / 4) * 4;
            float4 v = float4(0.0f);
            if (begin + j >= t.low && begin + j < t.high) {
                const ulong slot = ulong((begin + j) % p.kv_rows) * p.kv_heads + kv_head;
                v = float4(*(device const vec<T, 4> *)(keys + slot * DH + d + e));
            }
            *(threadgroup float4 *)(stage + j * SLICE_ROW + e) = v;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the slice is there
        if (pair < t.count) {
            for (uint e = 0; e < SLICE; e += 4) {
                const float4 k = *(threadgroup const float4 *)(stage + key * SLICE_ROW + e);
                s0 = fma(*(device const float4 *)(q0 + d + e), k, s0);
                s1 = fma(*(device const float4 *)(q1 + d + e), k, s1);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    for (uint i = 0; i < 2; ++i) {
        const uint row = (t.first + pair + i) / p.group;
        const bool visible = pair + i < t.count && begin + key >= row_low(p, row) && begin + key < ends[row];
        const float4 s = i == 0 ? s0 : s1;
        probs[(pair + i) * BLOCK + key] = visible ? (s.x + s.y) + (s.z + s.w) : NEVER;
    }
}

// owned is the number of queries of which each thread sums the values: thread tid has the pair tid % (DH/2) of elements
// of Dh, of the queries from tid / (DH/2) * owned(DH) on.
static constexpr uint owned(uint dh) {
    return TILE * (dh / 2) / ROW_THREADS;
}

// value_block writes the block's sums over V, in ascending order of positions. A position that a query does not see
// counts 0: its value is finite, because some row of the tile sees it.
template <typename T, uint DH>
static inline void value_block(constant AttendParams &p, Tile t, uint kv_head, uint begin, device const T *values,
                               threadgroup const float *probs, uint tid, thread float2 *block) {
    constexpr uint count = owned(DH);
    const uint pair = tid % (DH / 2), query = tid / (DH / 2) * count;
    const uint from = max(begin, t.low) - begin, to = min(begin + BLOCK, t.high) - begin;
    for (uint i = 0; i < count; ++i) {
        block[i] = float2(0.0f);
    }
    for (uint j = from; j < to; ++j) {
        const ulong slot = ulong((begin + j) % p.kv_rows) * p.kv_heads + kv_head;
        const float2 v = float2(*(device const vec<T, 2> *)(values + slot * DH + 2 * pair));
        for (uint i = 0; i < count; ++i) {
            block[i] = fma(float2(probs[(query + i) * BLOCK + j]), v, block[i]);
        }
    }
}

// attend: all blocks of a tile. The output takes the queries' place in q. Grid: threadgroups (tiles, G).
template <typename T, uint DH>
[[kernel, max_total_threads_per_threadgroup(256)]] void attend(device float *q [[buffer(0)]],
                   device const T *keys [[buffer(1)]],
                   device const T *values [[buffer(2)]],
                   device const uint *ends [[buffer(3)]],
                   constant AttendParams &p [[buffer(4)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint tid [[thread_index_in_threadgroup]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float stage[BLOCK * SLICE_ROW];
    threadgroup float probs[TILE * BLOCK];
    threadgroup float weighing[TILE * 2];
    constexpr uint count = owned(DH);
    const uint pair = tid % (DH / 2), query = tid / (DH / 2) * count;
    const Tile t = tile_of<TILE>(p, ends, group.x);
    float2 sum[count], block[count];
    for (uint i = 0; i < count; ++i) {
        sum[i] = float2(0.0f);
    }
    Part total;  // of query simd
    total.peak = NEVER;
    total.sum = 0.0f;
    for (uint begin = t.low / BLOCK * BLOCK; begin < t.high; begin += BLOCK) {
        score_block<T, DH>(p, t, group.y, begin, q, keys, ends, stage, probs, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there
        const Weighing w = join(total, softmax_block(probs + simd * BLOCK, lane));
        if (lane == 0) {
            weighing[2 * simd] = w.keep;
            weighing[2 * simd + 1] = w.add;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // exponentials and weights are there
        value_block<T, DH>(p, t, group.y, begin, values, probs, tid, block);
        for (uint i = 0; i < count; ++i) {
            sum[i] = fma(sum[i], float2(weighing[2 * (query + i)]), block[i] * weighing[2 * (query + i) + 1]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read: the next block overwrites them
    }
    if (lane == 0) {
        weighing[simd] = 1.0f / total.sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);  // sums are there; no thread reads q any more
    for (uint i = 0; i < count; ++i) {
        if (query + i < t.count) {
            *(device float2 *)(q + query_at(p, t, group.y, query + i, DH) + 2 * pair) = sum[i] * weighing[query + i];
        }
    }
}

// attend_split: one block of a tile. parts is [blocks, N*H] and sums [blocks, N*H, Dh], with queries in the order of q;
// block 0 is the first that a tile of the dispatch sees: p.first_block. Grid: threadgroups (blocks, tiles, G).
template <typename T, uint DH>
[[kernel, max_total_threads_per_threadgroup(256)]] void attend_split(device const float *q [[buffer(0)]],
                         device const T *keys [[buffer(1)]],
                         device const T *values [[buffer(2)]],
                         device const uint *ends [[buffer(3)]],
                         device float2 *parts [[buffer(4)]],
                         device float *sums [[buffer(5)]],
                         constant AttendParams &p [[buffer(6)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float stage[BLOCK * SLICE_ROW];
    threadgroup float probs[TILE * BLOCK];
    constexpr uint count = owned(DH);
    const uint pair = tid % (DH / 2), query = tid / (DH / 2) * count;
    const Tile t = tile_of<TILE>(p, ends, group.y);
    const uint begin = (p.first_block + group.x) * BLOCK;
    const uint queries = p.rows * p.kv_heads * p.group;
    float2 block[count];
    Part part;
    part.peak = NEVER;
    part.sum = 0.0f;
    for (uint i = 0; i < count; ++i) {
        block[i] = float2(0.0f);
    }
    if (begin < t.high && begin + BLOCK > t.low) {  // the same for the whole threadgroup
        score_block<T, DH>(p, t, group.z, begin, q, keys, ends, stage, probs, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there
        part = softmax_block(probs + simd * BLOCK, lane);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // exponentials are there
        value_block<T, DH>(p, t, group.z, begin, values, probs, tid, block);
    }
    const uint at = group.x * queries;
    if (lane == 0 && simd < t.count) {
        const uint query_row = (t.first + simd) / p.group, head = group.z * p.group + (t.first + simd) % p.group;
        parts[at + query_row * p.kv_heads * p.group + head] = float2(part.peak, part.sum);
    }
    for (uint i = 0; i < count; ++i) {
        if (query + i < t.count) {
            const uint query_row = (t.first + query + i) / p.group, head = group.z * p.group + (t.first + query + i) % p.group;
            const ulong place = ulong(at + query_row * p.kv_heads * p.group + head) * DH + 2 * pair;
            *(device float2 *)(sums + place) = block[i];
        }
    }
}

// attend_join: joins p.blocks parts of every query; the output takes the queries' place in q. One thread per pair of
// elements: grid (Dh/2, H, N).
template <uint DH>
[[kernel]] void attend_join(device const float2 *parts [[buffer(0)]],
                 device const float *sums [[buffer(1)]],
                 device float *q [[buffer(2)]],
                 constant AttendParams &p [[buffer(3)]],
                 uint3 at [[thread_position_in_grid]]) {
    const uint heads = p.kv_heads * p.group, queries = p.rows * heads, query = at.z * heads + at.y;
    Part total;
    total.peak = NEVER;
    total.sum = 0.0f;
    float2 sum = float2(0.0f);
    for (uint b = 0; b < p.blocks; ++b) {
        const ulong place = ulong(b) * queries + query;
        Part part;
        part.peak = parts[place].x;
        part.sum = parts[place].y;
        const Weighing w = join(total, part);
        sum = fma(sum, float2(w.keep), *(device const float2 *)(sums + place * DH + 2 * at.x) * w.add);
    }
    *(device float2 *)(q + ulong(at.z) * p.stride + at.y * DH + 2 * at.x) = sum * (1.0f / total.sum);
}

INSTANCE("attend_f16_d64", attend<half, 64>)
INSTANCE("attend_f16_d128", attend<half, 128>)
INSTANCE("attend_f16_d256", attend<half, 256>)
INSTANCE("attend_f16_d512", attend<half, 512>)
INSTANCE("attend_f32_d64", attend<float, 64>)
INSTANCE("attend_f32_d128", attend<float, 128>)
INSTANCE("attend_f32_d256", attend<float, 256>)
INSTANCE("attend_f32_d512", attend<float, 512>)
INSTANCE("attend_split_f16_d64", attend_split<half, 64>)
INSTANCE("attend_split_f16_d128", attend_split<half, 128>)
INSTANCE("attend_split_f16_d256", attend_split<half, 256>)
INSTANCE("attend_split_f16_d512", attend_split<half, 512>)
INSTANCE("attend_split_f32_d64", attend_split<float, 64>)
INSTANCE("attend_split_f32_d128", attend_split<float, 128>)
INSTANCE("attend_split_f32_d256", attend_split<float, 256>)
INSTANCE("attend_split_f32_d512", attend_split<float, 512>)
INSTANCE("attend_join_d64", attend_join<64>)
INSTANCE("attend_join_d128", attend_join<128>)
INSTANCE("attend_join_d256", attend_join<256>)
INSTANCE("attend_join_d512", attend_join<512>)
