// The routed experts through tensor operations, with the arguments of expert_geglu and expert_down: 32 picks of a run to a
// threadgroup. Needs runs.metal. Grid: threadgroups (outputs, ceil(most picks of a run / 32), runs).

constant constexpr uint TENSOR_PICKS = 32;
constant constexpr uint TENSOR_PICK_FLOATS = (TENSOR_PICKS + TENSOR_OUTPUTS) * TENSOR_DEPTH;

// Rows of x that picks from first up to end choose, [N, inputs].
struct PickedRows {
    device const float *x;
    constant uint2 *picks;
    uint first, end, inputs;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        if (first + r >= end) {
            stage_nothing(n, dst);
            return;
        }
        device const float *row = x + ulong(picks[first + r].x) * inputs + input;
        for (uint i = 0; i < n; ++i) {
            dst[i] = row[i];
        }
    }
};

// Weights of a run's down matrix from output out on.
template <uint BITS>
struct DownWeights {
    device const uchar *at;
    constant ExpertParams *p;
    uint out;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        if (out + r >= p->outputs) {
            stage_nothing(n, dst);
            return;
        }
        stage_affine<BITS>(affine_row<BITS>(at, p->down.codes, p->down.scales, p->down.biases, out + r, p->inputs), input, n, dst);
    }
};

// expert_geglu_tensor: a threadgroup makes 32 outputs.
template <uint BITS>
[[kernel, max_total_threads_per_threadgroup(128)]] void expert_geglu_tensor(
    device const uchar *b0 [[buffer(0)]], device const uchar *b1 [[buffer(1)]],
    device const uchar *b2 [[buffer(2)]], device const uchar *b3 [[buffer(3)]],
    device const uchar *b4 [[buffer(4)]], device const uchar *b5 [[buffer(5)]],
    device const uchar *b6 [[buffer(6)]], device const uchar *b7 [[buffer(7)]],
    device const float *x [[buffer(8)]],
    device float *act [[buffer(9)]],
    constant uint2 *picks [[buffer(10)]],
    constant ExpertParams &p [[buffer(11)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[TENSOR_PICK_FLOATS];
    const uint first = p.first[group.z] + group.y * TENSOR_PICKS, end = p.first[group.z + 1];
    if (first >= end) {
        return;  // the whole threadgroup
    }
    const uint out = group.x * (TENSOR_OUTPUTS / 2);
    const PickedRows from = {x, picks, first, end, p.inputs};
    const PairWeights<BITS> w = pair_weights<BITS>(blob_of(group.z, b0, b1, b2, b3, b4, b5, b6, b7), p, out);
    tensor_product<TENSOR_PICKS>(from, w, p.inputs, tiles, tid);
    store_geglu<TENSOR_PICKS>(tiles, first, end, out, p.outputs, act, tid);
}

// expert_down_tensor: a threadgroup makes 64 outputs.
template <uint BITS>
[[kernel, max_total_threads_per_threadgroup(128)]] void expert_down_tensor(
    device const uchar *b0 [[buffer(0)]], device const uchar *b1 [[buffer(1)]],
    device const uchar *b2 [[buffer(2)]], device const uchar *b3 [[buffer(3)]],
    device const uchar *b4 [[buffer(4)]], device const uchar *b5 [[buffer(5)]],
    device const uchar *b6 [[buffer(6)]], device const uchar *b7 [[buffer(7)]],
    device const float *act [[buffer(8)]],
    device float *routed [[buffer(9)]],
    constant uint2 *picks [[buffer(10)]],
    constant ExpertParams &p [[buffer(11)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[TENSOR_PICK_FLOATS];
    const uint first = p.first[group.z] + group.y * TENSOR_PICKS, end = p.first[group.z + 1];
    if (first >= end) {
        return;  // the whole threadgroup
    }
    const TensorRows from = {act, first, end, p.inputs, p.inputs};
    DownWeights<BITS> w;
    w.at = blob_of(group.z, b0, b1, b2, b3, b4, b5, b6, b7);
    w.p = &p;
    w.out = group.x * TENSOR_OUTPUTS;
    tensor_product<TENSOR_PICKS>(from, w, p.inputs, tiles, tid);
    for (uint e = tid; e < TENSOR_PICKS * TENSOR_OUTPUTS; e += TENSOR_THREADS) {
        const uint j = first + e / TENSOR_OUTPUTS, o = w.out + e % TENSOR_OUTPUTS;
        if (j < end && o < p.outputs) {
            const uint2 pick = picks[j];
            routed[(ulong(pick.x) * p.top_k + pick.y) * p.outputs + o] = tiles[e];
        }
    }
}

INSTANCE("expert_geglu_tensor_int4", expert_geglu_tensor<4>)
INSTANCE("expert_down_tensor_int4", expert_down_tensor<4>)
