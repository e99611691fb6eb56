// Products of 64 rows by 64 outputs, as tensors.metal makes them.

constant constexpr uint TENSOR_ROWS = 64;

// Weights in bf16, [outputs, inputs], from output out on.
struct DenseWeights {
    device const ushort *at;
    uint inputs, outputs, out;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        for (uint i = 0; i < n; ++i) {
            const bool inside = out + r < outputs && input + i < inputs;
            dst[i] = inside ? bf16(at[ulong(out + r) * inputs + input + i]) : 0.0f;
        }
    }
};

// Weights of up to three affine matrices whose outputs follow each other, from output out on.
template <uint BITS>
struct AffineWeights {
    device const uchar *at;
    constant AffineParams *p;
    uint out;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        const uint o = out + r, m = uint(o >= p->ends[0]) + uint(o >= p->ends[1]);
        if (o >= p->outputs) {
            stage_nothing(n, dst);
            return;
        }
        const uint row = o - (m == 0 ? 0 : p->ends[m - 1]);
        stage_affine<BITS>(affine_row<BITS>(at, p->matrix[m].codes, p->matrix[m].scales, p->matrix[m].biases, row, p->inputs),
                           input, n, dst);
    }
};

// store_rows writes the tile to y, [rows, outputs] with stride elements from row to row, from row and output on.
static inline void store_rows(threadgroup const float *tiles, uint row, uint rows, uint out, uint outputs, uint stride,
                              device float *y, uint tid) {
    for (uint e = tid; e < TENSOR_ROWS * TENSOR_OUTPUTS; e += TENSOR_THREADS) {
        const uint r = row + e / TENSOR_OUTPUTS, o = out + e % TENSOR_OUTPUTS;
        if (r < rows && o < outputs) {
            y[ulong(r) * stride + o] = tiles[e];
        }
    }
}

// affine_tensor: y = W x for rows; the limit of its parameters is not heeded. Grid: threadgroups (ceil(outputs/64),
// ceil(rows/64)).
template <uint BITS>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_tensor(device const uchar *weights [[buffer(0)]],
                          device const float *x [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          constant AffineParams &p [[buffer(3)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[TENSOR_ROWS * TENSOR_OUTPUTS];
    const uint row = group.y * TENSOR_ROWS, out = group.x * TENSOR_OUTPUTS;
    const TensorRows from = {x, row, p.rows, p.x_stride, p.inputs};
    AffineWeights<BITS> w;
    w.at = weights;
    w.p = &p;
    w.out = out;
    tensor_product<TENSOR_ROWS>(from, w, p.inputs, tiles, tid);
    store_rows(tiles, row, p.rows, out, p.outputs, p.y_stride, y, tid);
}

// affine_geglu_tensor: y = gelu(Wgate x) * (Wup x). Grid: threadgroups (ceil(outputs/32), ceil(rows/64)).
template <uint BITS>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_geglu_tensor(device const uchar *weights [[buffer(0)]],
                          device const float *x [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          constant GegluParams &p [[buffer(3)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[TENSOR_ROWS * TENSOR_OUTPUTS];
    const uint row = group.y * TENSOR_ROWS, out = group.x * (TENSOR_OUTPUTS / 2);
    const TensorRows from = {x, row, p.rows, p.inputs, p.inputs};
    const PairWeights<BITS> w = pair_weights<BITS>(weights, p, out);
    tensor_product<TENSOR_ROWS>(from, w, p.inputs, tiles, tid);
    store_geglu<TENSOR_ROWS>(tiles, row, p.rows, out, p.outputs, y, tid);
}

// dense_tensor: y = W x with a bf16 matrix, as dense.
[[kernel, max_total_threads_per_threadgroup(128)]] void dense_tensor(device const ushort *weights [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant DenseParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[TENSOR_ROWS * TENSOR_OUTPUTS];
    const uint row = group.y * TENSOR_ROWS, out = group.x * TENSOR_OUTPUTS;
    const TensorRows from = {x, row, p.rows, p.inputs, p.inputs};
    const DenseWeights w = {weights + p.weight, p.inputs, p.outputs, out};
    tensor_product<TENSOR_ROWS>(from, w, p.inputs, tiles, tid);
    store_rows(tiles, row, p.rows, out, p.outputs, p.outputs, y, tid);
}

INSTANCE("affine_tensor_int4", affine_tensor<4>)
INSTANCE("affine_tensor_int8", affine_tensor<8>)
INSTANCE("affine_geglu_tensor_int4", affine_geglu_tensor<4>)
INSTANCE("affine_geglu_tensor_int8", affine_geglu_tensor<8>)
