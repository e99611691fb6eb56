// What every library begins with: bf16, which MSL 3.0 has no type for, and sums in one fixed order.

#include <metal_stdlib>
using namespace metal;

constant constexpr uint LANES = 32;
// Threads of kernels that give a threadgroup to a row.
constant constexpr uint ROW_THREADS = 256;
constant constexpr uint ROW_SIMDS = ROW_THREADS / LANES;
// INSTANCE gives an instance of a kernel template the name that the host asks for.
#define INSTANCE(NAME, ...) template [[host_name(NAME)]] [[kernel]] decltype(__VA_ARGS__) __VA_ARGS__;

// A score of nothing. Finite, so that no arithmetic with it makes a NaN.
constant constexpr float NEVER = -3.0e38f;

static inline float bf16(ushort bits) {
    return as_type<float>(uint(bits) << 16);
}

// lane_sum adds the values of all lanes, each with the one 16 lanes on first, then 8, 4, 2, 1. simd_sum would leave the
// order to the device, and a kernel for many rows could not keep to it.
template <typename T>
static inline T lane_sum(T v) {
    v += simd_shuffle_xor(v, 16);
    v += simd_shuffle_xor(v, 8);
    v += simd_shuffle_xor(v, 4);
    v += simd_shuffle_xor(v, 2);
    v += simd_shuffle_xor(v, 1);
    return v;
}

// row_sum adds the values of a threadgroup of ROW_THREADS threads. partial is [ROW_SIMDS]; it may be used again at once.
static inline float row_sum(float v, threadgroup float *partial, uint simd, uint lane) {
    v = lane_sum(v);
    if (lane == 0) {
        partial[simd] = v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // the sums of all simdgroups are there
    float total = 0.0f;
    for (uint i = 0; i < ROW_SIMDS; ++i) {
        total += partial[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // and read: the next sum may overwrite them
    return total;
}

// norm_scale is what RMSNorm multiplies with: (mean(x^2) + eps)^(-1/2).
static inline float norm_scale(float squares, uint width, float eps) {
    return precise::rsqrt(squares / float(width) + eps);
}

// gelu in its tanh form. u reaches hundreds: fast::tanh would overflow.
static inline float gelu(float t) {
    const float u = 0.7978845608028654f * fma(0.044715f * t * t, t, t);
    return 0.5f * t * (1.0f + precise::tanh(u));
}
