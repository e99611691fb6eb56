// tower_attend: attention of every patch to every patch, without a scale factor and without a P by P matrix.
//
//   o[i,h,:] = softmax_j(q[i,h,:] . k[j,h,:]) . v[j,h,:]     q, k, v [P, H, Dh] f32; o takes q's place
//
// A threadgroup of 128 threads has 32 queries of one head and walks the keys 32 at a time: running maximum and sum per
// query, outputs in registers, rescaled when a maximum moves. For the scores a thread has 2 queries and 4 keys, for the
// outputs 2 queries and a few float4 of Dh. Grid: threadgroups (ceil(P/32), H).

constant constexpr uint TOWER_THREADS = 128;
constant constexpr uint TOWER_QUERIES = 32;
constant constexpr uint TOWER_KEYS = 32;
constant constexpr uint PROBS_ROW = TOWER_KEYS + 1;

// load_patches writes rows patch to patch + 31 of one head, zeros past the last.
template <uint DH>
static inline void load_patches(device const float *src, uint patch, uint patches, uint stride, threadgroup float *dst, uint tid) {
    for (uint e = tid; e < TOWER_KEYS * (DH / 4); e += TOWER_THREADS) {
        const uint r = e / (DH / 4), i = e % (DH / 4) * 4;
        float4 v = float4(0.0f);
        if (patch + r < patches) {
            v = *(device const float4 *)(src + ulong(patch + r) * stride + i);
        }
        *(threadgroup float4 *)(dst + r * (DH + 4) + i) = v;
    }
}

// The maximum and the sum of the 8 neighbouring lanes that share a query.
static inline float query_max(float v) {
    v = max(v, simd_shuffle_xor(v, 1));
    v = max(v, simd_shuffle_xor(v, 2));
    return max(v, simd_shuffle_xor(v, 4));
}

static inline float query_sum(float v) {
    v += simd_shuffle_xor(v, 1);
    v += simd_shuffle_xor(v, 2);
    return v + simd_shuffle_xor(v, 4);
}

template <uint DH>
[[kernel, max_total_threads_per_threadgroup(128)]] void tower_attend(device float *q [[buffer(0)]],
                         device const float *k [[buffer(1)]],
                         device const float *v [[buffer(2)]],
                         constant TowerAttendParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    constexpr uint row = DH + 4;
    constexpr uint parts = DH / 4 % 8 == 0 ? 8 : 6;  // threads that share a pair of queries' outputs
    constexpr uint quads = DH / 4 / parts;           // float4 of each
    threadgroup float queries[TOWER_QUERIES * row];
    threadgroup float tile[TOWER_KEYS * row];
    threadgroup float probs[TOWER_QUERIES * PROBS_ROW];
    threadgroup float keeps[TOWER_QUERIES];
    const uint first = group.x * TOWER_QUERIES, stride = p.heads * DH, head = group.y * DH;
    const uint pair = tid / 8 * 2, key = tid % 8;             // scores: queries pair, pair + 1; keys key, key + 8, ...
    const uint mine = tid / parts * 2, part = tid % parts;    // outputs: queries mine, mine + 1
    const bool summing = mine < TOWER_QUERIES;
    load_patches<DH>(q + head, first, p.patches, stride, queries, tid);
    float4 sum[2][quads];
    float peak[2], total[2];
    for (uint n = 0; n < 2; ++n) {
        peak[n] = NEVER;
        total[n] = 0.0f;
        for (uint i = 0; i < quads; ++i) {
            sum[n][i] = float4(0.0f);
        }
    }
    for (uint begin = 0; begin < p.patches; begin += TOWER_KEYS) {
        load_patches<DH>(k + head, begin, p.patches, stride, tile, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);  // queries and keys are there
        float score[2][4];
        for (uint i = 0; i < 4; ++i) {
            score[0][i] = score[1][i] = 0.0f;
        }
        for (uint d = 0; d < DH; d += 4) {
            const float4 a = *(threadgroup const float4 *)(queries + pair * row + d);
            const float4 b = *(threadgroup const float4 *)(queries + (pair + 1) * row + d);
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                const float4 c = *(threadgroup const float4 *)(tile + (key + 8 * i) * row + d);
                score[0][i] = fma(a.w, c.w, fma(a.z, c.z, fma(a.y, c.y, fma(a.x, c.x, score[0][i]))));
                score[1][i] = fma(b.w, c.w, fma(b.z, c.z, fma(b.y, c.y, fma(b.x, c.x, score[1][i]))));
            }
        }
        for (uint n = 0; n < 2; ++n) {
            float top = peak[n];
            for (uint i = 0; i < 4; ++i) {
                score[n][i] = begin + key + 8 * i < p.patches ? score[n][i] : NEVER;
                top = max(top, score[n][i]);
            }
            top = query_max(top);
            const float keep = precise::exp(peak[n] - top);
            float added = 0.0f;
            for (uint i = 0; i < 4; ++i) {
                const float e = score[n][i] == NEVER ? 0.0f : precise::exp(score[n][i] - top);
                probs[(pair + n) * PROBS_ROW + key + 8 * i] = e;
                added += e;
            }
            total[n] = fma(total[n], keep, query_sum(added));
            peak[n] = top;
            if (key == 0) {
                keeps[pair + n] = keep;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // keys are read, probabilities are there
        load_patches<DH>(v + head, begin, p.patches, stride, tile, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // values are there
        if (summing) {
            const float keep0 = keeps[mine], keep1 = keeps[mine + 1];
            for (uint i = 0; i < quads; ++i) {
                sum[0][i] *= keep0;
                sum[1][i] *= keep1;
            }
            for (uint j = 0; j < TOWER_KEYS; ++j) {
                const float e0 = probs[mine * PROBS_ROW + j], e1 = probs[(mine + 1) * PROBS_ROW + j];
                #pragma unroll
                for (uint i = 0; i < quads; ++i) {
                    const float4 c = *(threadgroup const float4 *)(tile + j * row + (part + parts * i) * 4);
                    sum[0][i] = fma(float4(e0), c, sum[0][i]);
                    sum[1][i] = fma(float4(e1), c, sum[1][i]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // values and probabilities are read
    }
    if (key == 0) {
        keeps[pair] = 1.0f / total[0];
        keeps[pair + 1] = 1.0f / total[1];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // every query's scale is there
    if (!summing) {
        return;
    }
    for (uint n = 0; n < 2; ++n) {
        if (first + mine + n >= p.patches) {
            continue;
        }
        device float *out = q + ulong(first + mine + n) * stride + head;
        for (uint i = 0; i < quads; ++i) {
            *(device float4 *)(out + (part + parts * i) * 4) = sum[n][i] * keeps[mine + n];
        }
    }
}

INSTANCE("tower_attend_d32", tower_attend<32>)
INSTANCE("tower_attend_d72", tower_attend<72>)
