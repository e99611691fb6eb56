// The routed experts: up to 8 runs at once, one expert's blob and its picks each. A pick (row, rank) says which row chose
// the expert, and as its how-manieth. Needs affine.metal. Grid: threadgroups (outputs, ceil(most picks of a run / R), runs).

// expert_geglu: act[j,:] = gelu(Wgate x[row(j)]) * (Wup x[row(j)]) of every pick j   x [N, D], act [picks, F]
template <uint BITS, uint R>
[[kernel, max_total_threads_per_threadgroup(128)]] void expert_geglu(
    device const uchar *b0 [[buffer(0)]], device const uchar *b1 [[buffer(1)]],
    device const uchar *b2 [[buffer(2)]], device const uchar *b3 [[buffer(3)]],
    device const uchar *b4 [[buffer(4)]], device const uchar *b5 [[buffer(5)]],
    device const uchar *b6 [[buffer(6)]], device const uchar *b7 [[buffer(7)]],
    device const float *x [[buffer(8)]],
    device float *act [[buffer(9)]],
    constant uint2 *picks [[buffer(10)]],
    constant ExpertParams &p [[buffer(11)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    const uint o = (group.x * AFFINE_SIMDS + simd) * 2;
    const uint begin = p.first[group.z] + group.y * R, end = p.first[group.z + 1];
    if (o >= p.outputs || begin >= end) {
        return;
    }
    const Quad at = quad_at<BITS>(uint4(uint2(p.gate.codes), uint2(p.up.codes)), uint4(uint2(p.gate.scales), uint2(p.up.scales)),
                                  uint4(uint2(p.gate.biases), uint2(p.up.biases)), uint4(o, o + 1, o, o + 1), p.inputs);
    uint row[R];
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        row[r] = picks[min(begin + r, end - 1)].x * p.inputs;
    }
    float4 sum[R];
    affine_sums<BITS, R>(blob_of(group.z, b0, b1, b2, b3, b4, b5, b6, b7), at, x, row, p.inputs, ALL_INPUTS, lane, sum);
    const float4 t = fold<R>(sum, lane);
    const uint j = begin + folded_row<R>(lane);
    if (folded_writer<R>(lane) && j < end) {
        act[ulong(j) * p.outputs + o] = gelu(t.x) * t.z;
        act[ulong(j) * p.outputs + o + 1] = gelu(t.y) * t.w;
    }
}

// expert_down: routed[row(j), rank(j), :] = Wdown act[j]   act [picks, F], routed [N, K, D]
template <uint BITS, uint R>
[[kernel, max_total_threads_per_threadgroup(128)]] void expert_down(
    device const uchar *b0 [[buffer(0)]], device const uchar *b1 [[buffer(1)]],
    device const uchar *b2 [[buffer(2)]], device const uchar *b3 [[buffer(3)]],
    device const uchar *b4 [[buffer(4)]], device const uchar *b5 [[buffer(5)]],
    device const uchar *b6 [[buffer(6)]], device const uchar *b7 [[buffer(7)]],
    device const float *act [[buffer(8)]],
    device float *routed [[buffer(9)]],
    constant uint2 *picks [[buffer(10)]],
    constant ExpertParams &p [[buffer(11)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    const uint o = (group.x * AFFINE_SIMDS + simd) * AFFINE_OUTPUTS;
    const uint begin = p.first[group.z] + group.y * R, end = p.first[group.z + 1];
    if (o >= p.outputs || begin >= end) {
        return;
    }
    const Quad at = quad_at<BITS>(uint4(p.down.codes), uint4(p.down.scales), uint4(p.down.biases),
                                  uint4(o, o + 1, o + 2, o + 3), p.inputs);
    uint row[R];
    #pragma unroll
    for (uint r = 0; r < R; ++r) {
        row[r] = min(begin + r, end - 1) * p.inputs;
    }
    float4 sum[R];
    affine_sums<BITS, R>(blob_of(group.z, b0, b1, b2, b3, b4, b5, b6, b7), at, act, row, p.inputs, ALL_INPUTS, lane, sum);
    const float4 t = fold<R>(sum, lane);
    const uint j = begin + folded_row<R>(lane);
    if (folded_writer<R>(lane) && j < end) {
        const uint2 pick = picks[j];
        *(device float4 *)(routed + (ulong(pick.x) * p.top_k + pick.y) * p.outputs + o) = t;
    }
}

INSTANCE("expert_geglu_int4_r1", expert_geglu<4, 1>)
INSTANCE("expert_geglu_int4_r8", expert_geglu<4, 8>)
INSTANCE("expert_down_int4_r1", expert_down<4, 1>)
INSTANCE("expert_down_int4_r8", expert_down<4, 8>)
