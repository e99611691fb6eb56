#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>

using namespace mpp::tensor_ops;

// Products of many rows through Metal 4's tensor operations, which GPUs of family Apple10 (M5) and newer have hardware
// for. A threadgroup of 4 simdgroups makes M rows by 64 outputs, 32 inputs at a time. Both tiles are staged in f32, so
// that activations beyond FP16's range and dequantized weights keep their bits, and what lies outside is staged as 0: the
// operation never meets an edge. The order of its sums is the device's secret, so that a row's bits are not those of
// the ordinary kernels.

constant constexpr uint TENSOR_OUTPUTS = 64;
constant constexpr uint TENSOR_DEPTH = 32;  // divides a group of 64 inputs
constant constexpr uint TENSOR_THREADS = 128;

// A view of threadgroup memory, rows of width floats one behind the other.
using TensorView = tensor<threadgroup float, dextents<int, 2>, tensor_inline>;

static inline TensorView tensor_view(threadgroup float *at, int width, int rows) {
    return TensorView(at, dextents<int, 2>(width, rows));
}

// tensor_stage has each thread stage neighbouring inputs of one of a tile's rows. from.stage(row, input, n, dst) writes n.
template <uint ROWS, typename From>
static inline void tensor_stage(thread const From &from, uint input, threadgroup float *dst, uint tid) {
    constexpr uint part = ROWS * TENSOR_DEPTH / TENSOR_THREADS;
    const uint row = tid / (TENSOR_DEPTH / part), i = tid % (TENSOR_DEPTH / part) * part;
    from.stage(row, input + i, part, dst + row * TENSOR_DEPTH + i);
}

// tensor_product leaves M rows times 64 outputs in tiles, [M, 64]. tiles is [(M + 64) * 32], or [M * 64] if that is more.
template <uint M, typename X, typename W>
static inline void tensor_product(thread const X &x, thread const W &weights, uint inputs, threadgroup float *tiles, uint tid) {
    threadgroup float *xs = tiles, *ws = tiles + M * TENSOR_DEPTH;
    auto left = tensor_view(xs, TENSOR_DEPTH, M);
    auto right = tensor_view(ws, TENSOR_DEPTH, TENSOR_OUTPUTS);
    constexpr auto mode = matmul2d_descriptor::mode::multiply_accumulate;
    constexpr auto descriptor = matmul2d_descriptor(M, 64, 32, false, true, false, mode);
    matmul2d<descriptor, execution_simdgroups<4>> product;
    auto sum = product.template get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
        sum[i] = 0.0f;  // elements that are not valid are the thread's own too
    }
    for (uint input = 0; input < inputs; input += TENSOR_DEPTH) {
        tensor_stage<M>(x, input, xs, tid);
        tensor_stage<TENSOR_OUTPUTS>(weights, input, ws, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the tiles are there
        product.run(left, right, sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
    }
    auto tile = tensor_view(tiles, TENSOR_OUTPUTS, M);
    sum.store(tile);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // every thread's sums are there
}

// Rows of x from row on, [rows, inputs] with stride elements from row to row.
struct TensorRows {
    device const float *x;
    uint row, rows, stride, inputs;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        for (uint i = 0; i < n; ++i) {
            dst[i] = row + r < rows && input + i < inputs ? x[ulong(row + r) * stride + input + i] : 0.0f;
        }
    }
};

// A row of an affine matrix: where its parts begin, in bytes.
struct AffineRow {
    device const uchar *codes, *scales, *biases;
};

template <uint BITS>
static inline AffineRow affine_row(device const uchar *at, uint codes, uint scales, uint biases, uint row, uint inputs) {
    AffineRow r;
    r.codes = at + codes + ulong(row) * (inputs / (8 / BITS));
    r.scales = at + scales + ulong(row) * (inputs / 32);
    r.biases = at + biases + ulong(row) * (inputs / 32);
    return r;
}

// stage_affine writes n weights of one group: w = scale*code + bias.
template <uint BITS>
static inline void stage_affine(AffineRow row, uint input, uint n, threadgroup float *dst) {
    const float scale = bf16(((device const ushort *)row.scales)[input / 64]);
    const float bias = bf16(((device const ushort *)row.biases)[input / 64]);
    device const uchar *codes = row.codes + input / (8 / BITS);
    for (uint i = 0; i < n; ++i) {
        const uint code = BITS == 8 ? codes[i] : codes[i / 2] >> (i % 2 * 4) & 15;
        dst[i] = fma(scale, float(code), bias);
    }
}

static inline void stage_nothing(uint n, threadgroup float *dst) {
    for (uint i = 0; i < n; ++i) {
        dst[i] = 0.0f;
    }
}

// Weights of a gate and an up matrix of the same outputs from out on: a tile has 32 of the one, then 32 of the other.
template <uint BITS>
struct PairWeights {
    device const uchar *at;
    uint gate_codes, gate_scales, gate_biases, up_codes, up_scales, up_biases;
    uint inputs, outputs, out;

    void stage(uint r, uint input, uint n, threadgroup float *dst) thread const {
        const bool gate = r < TENSOR_OUTPUTS / 2;
        const uint o = out + r % (TENSOR_OUTPUTS / 2);
        if (o >= outputs) {
            stage_nothing(n, dst);
        } else if (gate) {
            stage_affine<BITS>(affine_row<BITS>(at, gate_codes, gate_scales, gate_biases, o, inputs), input, n, dst);
        } else {
            stage_affine<BITS>(affine_row<BITS>(at, up_codes, up_scales, up_biases, o, inputs), input, n, dst);
        }
    }
};

template <uint BITS, typename P>
static inline PairWeights<BITS> pair_weights(device const uchar *at, constant P &p, uint out) {
    PairWeights<BITS> w;
    w.at = at;
    w.gate_codes = p.gate.codes;
    w.gate_scales = p.gate.scales;
    w.gate_biases = p.gate.biases;
    w.up_codes = p.up.codes;
    w.up_scales = p.up.scales;
    w.up_biases = p.up.biases;
    w.inputs = p.inputs;
    w.outputs = p.outputs;
    w.out = out;
    return w;
}

// store_geglu writes gelu(gate)*up of the tile's rows to y, [rows, outputs], from row and output on.
template <uint M>
static inline void store_geglu(threadgroup const float *tiles, uint row, uint rows, uint out, uint outputs, device float *y,
                               uint tid) {
    constexpr uint wide = TENSOR_OUTPUTS / 2;
    for (uint e = tid; e < M * wide; e += TENSOR_THREADS) {
        const uint r = e / wide, o = e % wide;
        if (row + r < rows && out + o < outputs) {
            threadgroup const float *at = tiles + r * TENSOR_OUTPUTS + o;
            y[ulong(row + r) * outputs + out + o] = gelu(at[0]) * at[wide];
        }
    }
}
