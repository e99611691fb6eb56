// tower_attend: attention of every patch to every patch, without a scale factor and without a P by P matrix.
//
//   o[i,h,:] = softmax_j(q[i,h,:] . k[j,h,:]) . v[j,h,:]     q, k, v [P, H, Dh] f32; o takes q's place
//
// A threadgroup of 256 threads has 32 queries of one head and walks the keys 32 at a time: running maximum and sum per
// query, outputs in registers, rescaled when a maximum moves. Thread t has query t/8: keys t%8, t%8 + 8, ... of a tile
// for the scores, every 8th element of Dh for the outputs. Grid: threadgroups (ceil(P/32), H).

constant constexpr uint TOWER_QUERIES = 32;
constant constexpr uint TOWER_KEYS = 32;

// load_patches writes rows patch to patch + 31 of one head, zeros past the last.
template <uint DH>
static inline void load_patches(device const float *src, uint patch, uint patches, uint stride, threadgroup float *dst, uint tid) {
    for (uint e = tid; e < TOWER_KEYS * (DH / 4); e += ROW_THREADS) {
        const uint r = e / (DH / 4), i = e % (DH / 4) * 4;
        float4 v = float4(0.0f);
        if (patch + r < patches) {
            v = *(device const float4 *)(src + ulong(patch + r) * stride + i);
        }
        *(threadgroup float4 *)(dst + r * (DH + 4) + i) = v;
    }
}

template <uint DH>
[[kernel, max_total_threads_per_threadgroup(256)]] void tower_attend(device float *q [[buffer(0)]],
                         device const float *k [[buffer(1)]],
                         device const float *v [[buffer(2)]],
                         constant TowerAttendParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    constexpr uint row = DH + 4, mine = DH / 8;
    threadgroup float queries[TOWER_QUERIES * row];
    threadgroup float tile[TOWER_KEYS * row];
    threadgroup float probs[TOWER_QUERIES * (TOWER_KEYS + 1)];
    const uint first = group.x * TOWER_QUERIES, stride = p.heads * DH, head = group.y * DH;
    const uint query = tid / 8, part = tid % 8;
    load_patches<DH>(q + head, first, p.patches, stride, queries, tid);
    float sum[mine];
    for (uint i = 0; i < mine; ++i) {
        sum[i] = 0.0f;
    }
    float peak = NEVER, total = 0.0f;
    threadgroup float *my_probs = probs + query * (TOWER_KEYS + 1);
    for (uint begin = 0; begin < p.patches; begin += TOWER_KEYS) {
        load_patches<DH>(k + head, begin, p.patches, stride, tile, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);  // queries and keys are there
        float4 s[4] = {float4(0.0f), float4(0.0f), float4(0.0f), float4(0.0f)};
        for (uint d = 0; d < DH; d += 4) {
            const float4 a = *(threadgroup const float4 *)(queries + query * row + d);
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                s[i] = fma(a, *(threadgroup const float4 *)(tile + (part + 8 * i) * row + d), s[i]);
            }
        }
        float score[4], top = NEVER;
        for (uint i = 0; i < 4; ++i) {
            const bool inside = begin + part + 8 * i < p.patches;
            score[i] = inside ? (s[i].x + s[i].y) + (s[i].z + s[i].w) : NEVER;
            top = max(top, score[i]);
        }
        top = max(top, simd_shuffle_xor(top, 1));
        top = max(top, simd_shuffle_xor(top, 2));
        top = max(top, simd_shuffle_xor(top, 4));
        const float next = max(peak, top);
        const float keep = precise::exp(peak - next);
        float added = 0.0f;
        for (uint i = 0; i < 4; ++i) {
            const float e = score[i] == NEVER ? 0.0f : precise::exp(score[i] - next);
            my_probs[part + 8 * i] = e;
            added += e;
        }
        added += simd_shuffle_xor(added, 1);
        added += simd_shuffle_xor(added, 2);
        added += simd_shuffle_xor(added, 4);
        total = fma(total, keep, added);
        peak = next;
        threadgroup_barrier(mem_flags::mem_threadgroup);  // keys are read, probabilities are there
        load_patches<DH>(v + head, begin, p.patches, stride, tile, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // values are there
        for (uint i = 0; i < mine; ++i) {
            sum[i] *= keep;
        }
        for (uint j = 0; j < TOWER_KEYS; ++j) {
            const float e = my_probs[j];
            #pragma unroll
            for (uint i = 0; i < mine; ++i) {
                sum[i] = fma(e, tile[j * row + part + 8 * i], sum[i]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // values and probabilities are read
    }
    if (first + query < p.patches) {
        const float scale = 1.0f / total;
        device float *out = q + ulong(first + query) * stride + head;
        for (uint i = 0; i < mine; ++i) {
            out[part + 8 * i] = sum[i] * scale;
        }
    }
}

INSTANCE("tower_attend_d32", tower_attend<32>)
INSTANCE("tower_attend_d72", tower_attend<72>)
