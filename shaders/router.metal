// choose: the K highest of a row's E scores, highest first, the lower id first on a tie; weights are the softmax over
// the chosen times per_expert[id]. scores [N, E] f32, experts [N, K], shares [N, K] f32, per_expert [E] bf16; E at most
// 256, K at most 32. One simdgroup per row; lane i keeps the i-th best. Grid: threadgroups (ceil(N/4)).

constant constexpr uint ROUTER_SIMDS = 4;
constant constexpr uint PER_LANE = 8;

kernel void choose(device const ushort *weights [[buffer(0)]],
                   device const float *scores [[buffer(1)]],
                   device uint *experts [[buffer(2)]],
                   device float *shares [[buffer(3)]],
                   constant ChooseParams &p [[buffer(4)]],
                   uint group [[threadgroup_position_in_grid]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    const uint row = group * ROUTER_SIMDS + simd;
    if (row >= p.rows) {
        return;  // whole simdgroups only
    }
    float mine[PER_LANE];
    for (uint i = 0; i < PER_LANE; ++i) {
        const uint e = i * LANES + lane;
        mine[i] = e < p.experts ? scores[row * p.experts + e] : NEVER;
    }
    float best = NEVER;
    uint expert = 0;
    for (uint rank = 0; rank < p.top_k; ++rank) {
        float high = NEVER;
        uint at = p.experts;
        for (uint i = 0; i < PER_LANE; ++i) {
            if (mine[i] > high) {  // ascending ids: the first of equals stays
                high = mine[i];
                at = i * LANES + lane;
            }
        }
        const float top = simd_max(high);
        const uint chosen = simd_min(high == top ? at : p.experts);
        for (uint i = 0; i < PER_LANE; ++i) {
            if (i * LANES + lane == chosen) {
                mine[i] = NEVER;
            }
        }
        if (lane == rank) {
            best = top;
            expert = min(chosen, p.experts - 1);  // scores that are no numbers leave none
        }
    }
    const float top = simd_broadcast(best, 0);
    const float share = lane < p.top_k ? precise::exp(best - top) : 0.0f;
    const float sum = lane_sum(share);
    if (lane < p.top_k) {
        experts[row * p.top_k + lane] = expert;
        shares[row * p.top_k + lane] = share / sum * bf16(weights[p.per_expert + expert]);
    }
}
