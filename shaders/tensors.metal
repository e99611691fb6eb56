#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>

using namespace mpp::tensor_ops;

// Products of many rows through Metal 4's tensor operations, which GPUs of family Apple10 (M5) and newer have hardware
// for. A threadgroup of 4 simdgroups makes 64 rows by 64 outputs, 32 inputs at a time. Both tiles are staged in f32, so
// that activations beyond FP16's range and dequantized weights keep their bits, and what lies outside is staged as 0: the
// operation never meets an edge. The order of its sums is the device's secret, so that a row's bits are not those of
// affine and dense. Grid: threadgroups (ceil(outputs/64), ceil(rows/64)).

constant constexpr uint TENSOR_TILE = 64;
constant constexpr uint TENSOR_DEPTH = 32;  // divides a group of 64 inputs
constant constexpr uint TENSOR_THREADS = 128;
constant constexpr uint TENSOR_PART = TENSOR_TILE * TENSOR_DEPTH / TENSOR_THREADS;  // inputs that a thread stages

// Where a thread stages from: a thread takes TENSOR_PART neighbouring inputs of one row.
struct TensorShare {
    uint row, input;
};

static inline TensorShare tensor_share(uint tid) {
    TensorShare s;
    s.row = tid / (TENSOR_DEPTH / TENSOR_PART);
    s.input = tid % (TENSOR_DEPTH / TENSOR_PART) * TENSOR_PART;
    return s;
}

// Weights in bf16, [outputs, inputs].
struct DenseWeights {
    device const ushort *at;
    uint inputs, outputs;

    void stage(uint o, uint input, threadgroup float *dst) thread const {
        for (uint i = 0; i < TENSOR_PART; ++i) {
            const bool inside = o < outputs && input + i < inputs;
            dst[i] = inside ? bf16(at[ulong(o) * inputs + input + i]) : 0.0f;
        }
    }
};

// Weights of up to three affine matrices, as affine has them: w = scale*code + bias.
template <uint BITS>
struct AffineWeights {
    device const uchar *at;
    constant AffineParams *p;

    void stage(uint o, uint input, threadgroup float *dst) thread const {
        const uint m = uint(o >= p->ends[0]) + uint(o >= p->ends[1]);
        const uint row = o - (m == 0 ? 0 : p->ends[m - 1]);
        float scale = 0.0f, bias = 0.0f;  // outputs past the end weigh nothing
        device const uchar *codes = at;
        if (o < p->outputs) {
            const uint group = row * (p->inputs / 64) + input / 64;
            scale = bf16(((device const ushort *)(at + p->matrix[m].scales))[group]);
            bias = bf16(((device const ushort *)(at + p->matrix[m].biases))[group]);
            codes += p->matrix[m].codes + (ulong(row) * p->inputs + input) * BITS / 8;
        }
        for (uint i = 0; i < TENSOR_PART; ++i) {
            const uint code = BITS == 8 ? codes[i] : codes[i / 2] >> (i % 2 * 4) & 15;
            dst[i] = fma(scale, float(code), bias);
        }
    }
};

// stage_input writes a thread's share of x, [rows, inputs] with stride elements from row to row.
static inline void stage_input(device const float *x, uint stride, uint row, uint rows, uint input, uint inputs,
                               threadgroup float *dst) {
    for (uint i = 0; i < TENSOR_PART; ++i) {
        dst[i] = row < rows && input + i < inputs ? x[ulong(row) * stride + input + i] : 0.0f;
    }
}

// A TensorProduct says what one threadgroup multiplies: rows from row on, outputs from out on.
struct TensorProduct {
    uint rows, inputs, outputs, x_stride, y_stride, row, out;
};

// tensor_product makes one tile of y = W x. tiles is [2 * TENSOR_TILE * TENSOR_DEPTH].
template <typename W>
static inline void tensor_product(thread const W &weights, thread const TensorProduct &p, device const float *x,
                                  device float *y, threadgroup float *tiles, uint tid) {
    threadgroup float *xs = tiles, *ws = tiles + TENSOR_TILE * TENSOR_DEPTH;
    const TensorShare share = tensor_share(tid);
    const uint at = share.row * TENSOR_DEPTH + share.input;

    auto left = tensor<threadgroup float, dextents<int, 2>, tensor_inline>(xs, dextents<int, 2>(TENSOR_DEPTH, TENSOR_TILE));
    auto right = tensor<threadgroup float, dextents<int, 2>, tensor_inline>(ws, dextents<int, 2>(TENSOR_DEPTH, TENSOR_TILE));
    constexpr auto descriptor = matmul2d_descriptor(64, 64, 32, false, true, false, matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroups<4>> product;
    auto sum = product.template get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
        sum[i] = 0.0f;  // elements that are not valid are the thread's own too
    }
    for (uint input = 0; input < p.inputs; input += TENSOR_DEPTH) {
        stage_input(x, p.x_stride, p.row + share.row, p.rows, input + share.input, p.inputs, xs + at);
        weights.stage(p.out + share.row, input + share.input, ws + at);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the tiles are there
        product.run(left, right, sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    auto tile = tensor<threadgroup float, dextents<int, 2>, tensor_inline>(tiles, dextents<int, 2>(TENSOR_TILE, TENSOR_TILE));
    sum.store(tile);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // every thread's sums are there
    for (uint e = tid; e < TENSOR_TILE * TENSOR_TILE; e += TENSOR_THREADS) {
        const uint row = p.row + e / TENSOR_TILE, o = p.out + e % TENSOR_TILE;
        if (row < p.rows && o < p.outputs) {
            y[ulong(row) * p.y_stride + o] = tiles[e];
        }
    }
}

// affine_tensor: y = W x for rows; the limit of its parameters is not heeded.
template <uint BITS>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_tensor(device const uchar *weights [[buffer(0)]],
                          device const float *x [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          constant AffineParams &p [[buffer(3)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[2 * TENSOR_TILE * TENSOR_DEPTH];
    AffineWeights<BITS> w;
    w.at = weights;
    w.p = &p;
    const TensorProduct t = {p.rows,     p.inputs,   p.outputs,
                             p.x_stride, p.y_stride, group.y * TENSOR_TILE, group.x * TENSOR_TILE};
    tensor_product(w, t, x, y, tiles, tid);
}

// dense_tensor: the same with a bf16 matrix, as dense.
[[kernel, max_total_threads_per_threadgroup(128)]] void dense_tensor(device const ushort *weights [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant DenseParams &p [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[2 * TENSOR_TILE * TENSOR_DEPTH];
    DenseWeights w;
    w.at = weights + p.weight;
    w.inputs = p.inputs;
    w.outputs = p.outputs;
    const TensorProduct t = {p.rows,   p.inputs,  p.outputs,
                             p.inputs, p.outputs, group.y * TENSOR_TILE, group.x * TENSOR_TILE};
    tensor_product(w, t, x, y, tiles, tid);
}

INSTANCE("affine_tensor_int4", affine_tensor<4>)
INSTANCE("affine_tensor_int8", affine_tensor<8>)
