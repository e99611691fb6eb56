#include <metal_simdgroup_matrix>

// Products with bf16 matrices: y[r,o] = sum_i w[o,i] * x[r,i]   x [rows, inputs] f32, w [outputs, inputs] bf16 at an even
// address, y [rows, outputs] f32. A threadgroup of 256 threads makes 64 rows by 64 outputs, 16 inputs at a time through
// threadgroup memory; what lies outside is read as 0. Grid: threadgroups (ceil(outputs/64), ceil(rows/64)).

constant constexpr uint DENSE_TILE = 64;
constant constexpr uint DENSE_DEPTH = 16;
constant constexpr uint DENSE_ROW = 68;  // float4-aligned, and columns lie in different banks

// stage_rows writes dst[i, r] = x[row + r, input + i].
static inline void stage_rows(device const float *x, uint row, uint rows, uint input, uint inputs, threadgroup float *dst, uint tid) {
    for (uint e = tid; e < DENSE_TILE * DENSE_DEPTH; e += ROW_THREADS) {
        const uint r = e / DENSE_DEPTH, i = e % DENSE_DEPTH;
        const bool inside = row + r < rows && input + i < inputs;
        dst[i * DENSE_ROW + r] = inside ? x[ulong(row + r) * inputs + input + i] : 0.0f;
    }
}

static inline void stage_weights(device const ushort *w, uint out, uint outs, uint input, uint inputs, threadgroup float *dst, uint tid) {
    for (uint e = tid; e < DENSE_TILE * DENSE_DEPTH; e += ROW_THREADS) {
        const uint o = e / DENSE_DEPTH, i = e % DENSE_DEPTH;
        const bool inside = out + o < outs && input + i < inputs;
        dst[i * DENSE_ROW + o] = inside ? bf16(w[ulong(out + o) * inputs + input + i]) : 0.0f;
    }
}

// dense: each thread makes 4 rows by 4 outputs; sums run over inputs in ascending order.
[[kernel, max_total_threads_per_threadgroup(256)]] void dense(device const ushort *weights [[buffer(0)]],
                  device const float *x [[buffer(1)]],
                  device float *y [[buffer(2)]],
                  constant DenseParams &p [[buffer(3)]],
                  uint2 group [[threadgroup_position_in_grid]],
                  uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float xs[DENSE_DEPTH * DENSE_ROW];
    threadgroup float ws[DENSE_DEPTH * DENSE_ROW];
    const uint row = group.y * DENSE_TILE, out = group.x * DENSE_TILE;
    const uint r0 = tid / 16 * 4, o0 = tid % 16 * 4;
    float4 sum[4];
    for (uint r = 0; r < 4; ++r) {
        sum[r] = float4(0.0f);
    }
    for (uint input = 0; input < p.inputs; input += DENSE_DEPTH) {
        stage_rows(x, row, p.rows, input, p.inputs, xs, tid);
        stage_weights(weights + p.weight, out, p.outputs, input, p.inputs, ws, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the tiles are there
        #pragma unroll
        for (uint i = 0; i < DENSE_DEPTH; ++i) {
            const float4 a = *(threadgroup const float4 *)(xs + i * DENSE_ROW + r0);
            const float4 b = *(threadgroup const float4 *)(ws + i * DENSE_ROW + o0);
            sum[0] = fma(float4(a.x), b, sum[0]);
            sum[1] = fma(float4(a.y), b, sum[1]);
            sum[2] = fma(float4(a.z), b, sum[2]);
            sum[3] = fma(float4(a.w), b, sum[3]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    for (uint r = 0; r < 4; ++r) {
        for (uint o = 0; o < 4; ++o) {
            if (row + r0 + r < p.rows && out + o0 + o < p.outputs) {
                y[ulong(row + r0 + r) * p.outputs + out + o0 + o] = sum[r][o];
            }
        }
    }
}

// dense_simd: the same through 8x8 matrices of the simdgroup; each of the 8 simdgroups makes 16 rows by 32 outputs.
[[kernel, max_total_threads_per_threadgroup(256)]] void dense_simd(device const ushort *weights [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       device float *y [[buffer(2)]],
                       constant DenseParams &p [[buffer(3)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint tid [[thread_index_in_threadgroup]],
                       uint simd [[simdgroup_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float xs[DENSE_DEPTH * DENSE_ROW];  // afterwards 8 tiles of 8x8 for the results
    threadgroup float ws[DENSE_DEPTH * DENSE_ROW];
    const uint row = group.y * DENSE_TILE, out = group.x * DENSE_TILE;
    const uint r0 = simd / 2 * 16, o0 = simd % 2 * 32;
    simdgroup_float8x8 sum[2][4];
    for (uint i = 0; i < 2; ++i) {
        for (uint j = 0; j < 4; ++j) {
            sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint input = 0; input < p.inputs; input += DENSE_DEPTH) {
        stage_rows(x, row, p.rows, input, p.inputs, xs, tid);
        stage_weights(weights + p.weight, out, p.outputs, input, p.inputs, ws, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the tiles are there
        for (uint i = 0; i < DENSE_DEPTH; i += 8) {
            simdgroup_float8x8 a[2], b[4];
            for (uint j = 0; j < 2; ++j) {
                simdgroup_load(a[j], xs + i * DENSE_ROW + r0 + 8 * j, DENSE_ROW, ulong2(0), true);
            }
            for (uint j = 0; j < 4; ++j) {
                simdgroup_load(b[j], ws + i * DENSE_ROW + o0 + 8 * j, DENSE_ROW);
            }
            for (uint j = 0; j < 2; ++j) {
                for (uint k = 0; k < 4; ++k) {
                    simdgroup_multiply_accumulate(sum[j][k], a[j], b[k], sum[j][k]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    threadgroup float *tile = xs + simd * 64;
    for (uint j = 0; j < 2; ++j) {
        for (uint k = 0; k < 4; ++k) {
            simdgroup_store(sum[j][k], tile, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (uint e = lane; e < 64; e += LANES) {
                const uint r = row + r0 + 8 * j + e / 8, o = out + o0 + 8 * k + e % 8;
                if (r < p.rows && o < p.outputs) {
                    y[ulong(r) * p.outputs + o] = tile[e];
                }
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);  // before the next one takes its place
        }
    }
}
