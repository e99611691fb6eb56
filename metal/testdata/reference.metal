// Kernels to measure by: a copy, and the textbook forms of what dense and tower_attend do, as one would write them in
// CUDA without tensor cores.
#include <metal_stdlib>
using namespace metal;

struct Sizes {
    uint rows, inputs, outputs;
};

kernel void copy(device const float4 *from [[buffer(0)]], device float4 *to [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    for (uint j = i; j < n; j += threads) {
        to[j] = from[j];
    }
}

// matmul: y = x w^T, one output per thread through tiles of 32 by 32. Grid: threadgroups (outputs/32, rows/32) of 32 by 32.
kernel void matmul(device const float *w [[buffer(0)]], device const float *x [[buffer(1)]], device float *y [[buffer(2)]],
                   constant Sizes &s [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                   uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float xs[32][33];
    threadgroup float ws[32][33];
    const uint row = group.y * 32 + at.y, out = group.x * 32 + at.x;
    float sum = 0.0f;
    for (uint i = 0; i < s.inputs; i += 32) {
        xs[at.y][at.x] = row < s.rows && i + at.x < s.inputs ? x[row * s.inputs + i + at.x] : 0.0f;
        const uint wrow = group.x * 32 + at.y;
        ws[at.y][at.x] = wrow < s.outputs && i + at.x < s.inputs ? w[wrow * s.inputs + i + at.x] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 32; ++k) {
            sum += xs[at.y][k] * ws[at.x][k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < s.rows && out < s.outputs) {
        y[row * s.outputs + out] = sum;
    }
}

// attention: one query per thread, 64 a threadgroup, keys and values through tiles of 32; rows = patches, inputs = heads,
// heads of 72. Grid: threadgroups (patches/64, heads).
kernel void attention(device const float *q [[buffer(0)]], device const float *k [[buffer(1)]],
                      device const float *v [[buffer(2)]], device float *o [[buffer(3)]], constant Sizes &s [[buffer(4)]],
                      uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][72];
    const uint i = group.x * 64 + at.x, stride = s.inputs * 72, head = group.y * 72;
    float query[72], sum[72];
    for (uint d = 0; d < 72; ++d) {
        query[d] = i < s.rows ? q[i * stride + head + d] : 0.0f;
        sum[d] = 0.0f;
    }
    float top = -3.0e38f, total = 0.0f;
    for (uint j = 0; j < s.rows; j += 32) {
        const uint n = min(32u, s.rows - j);
        for (uint e = at.x; e < n * 72; e += 64) {
            tile[e / 72][e % 72] = k[(j + e / 72) * stride + head + e % 72];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float score[32], high = top;
        for (uint r = 0; r < 32; ++r) {
            float t = 0.0f;
            for (uint d = 0; d < 72; ++d) {
                t += query[d] * tile[r][d];
            }
            score[r] = r < n ? t : -3.0e38f;
            high = max(high, score[r]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint e = at.x; e < n * 72; e += 64) {
            tile[e / 72][e % 72] = v[(j + e / 72) * stride + head + e % 72];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const float keep = exp(top - high);
        total *= keep;
        for (uint d = 0; d < 72; ++d) {
            sum[d] *= keep;
        }
        for (uint r = 0; r < n; ++r) {
            const float e = exp(score[r] - high);
            total += e;
            for (uint d = 0; d < 72; ++d) {
                sum[d] += e * tile[r][d];
            }
        }
        top = high;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i < s.rows) {
        for (uint d = 0; d < 72; ++d) {
            o[i * stride + head + d] = sum[d] / total;
        }
    }
}
