// Small kernels for the suite of package driver.
#include <metal_stdlib>
using namespace metal;

#ifndef BIAS
#define BIAS 0
#endif

constant bool FLAG [[function_constant(0)]];
constant int SIGNED [[function_constant(1)]];
constant uint PLAIN [[function_constant(2)]];
constant ushort SHORT [[function_constant(3)]];
constant float REAL [[function_constant(4)]];

// add: out[i] = in[i] + n for each thread i of the grid.
kernel void add(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    out[i] = in[i] + n + BIAS;
}

// constants: the five values, the float as bits.
kernel void constants(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 0) {
        out[0] = FLAG ? 1 : 0;
        out[1] = uint(SIGNED);
        out[2] = PLAIN;
        out[3] = uint(SHORT);
        out[4] = as_type<uint>(REAL);
    }
}

// turn: out[g] holds the words of each threadgroup in reverse order, through threadgroup memory.
kernel void turn(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                 threadgroup uint *room [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    room[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = room[n - 1 - t];
}

// small: no more than 64 threads, 1,024 bytes of threadgroup memory of its own.
[[max_total_threads_per_threadgroup(64)]]
kernel void small(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
    constexpr uint N = 64;
    threadgroup float4 room[N];
    room[t] = float4(float(i));
    out[i] = uint(room[t].x);
}

// area: out[y * width + x] = 1 + x + 1000 y for each thread of a grid of two axes.
kernel void area(device uint *out [[buffer(0)]], constant uint &width [[buffer(1)]],
                 uint2 p [[thread_position_in_grid]]) {
    out[p.y * width + p.x] = 1 + p.x + 1000 * p.y;
}
