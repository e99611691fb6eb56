// RMSNorm and what is fused with it. One threadgroup of ROW_THREADS threads per row; sums of squares in f32, in the
// order of row_sum. Weights are bf16 in the buffer of resident tensors, at an offset in elements of 2 bytes.

// rmsnorm: y[n,i] = x[n,i] * rsqrt(mean_i(x[n,i]^2) + eps) * w[i]   x, y [N, D] f32 (may alias); without weighted, w = 1
kernel void rmsnorm(device const ushort *weights [[buffer(0)]],
                    device const float *x [[buffer(1)]],
                    device float *y [[buffer(2)]],
                    constant NormParams &p [[buffer(3)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint tid [[thread_index_in_threadgroup]],
                    uint simd [[simdgroup_index_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[ROW_SIMDS];
    device const float *in = x + ulong(row) * p.width;
    device float *out = y + ulong(row) * p.width;
    float squares = 0.0f;
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        squares = fma(in[i], in[i], squares);
    }
    const float scale = norm_scale(row_sum(squares, partial, simd, lane), p.width, p.eps);
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        const float v = in[i] * scale;
        out[i] = p.weighted != 0 ? v * bf16(weights[p.weight + i]) : v;
    }
}

// rmsnorm_add: x[n,i] += RMS(y[n,:])[i] * w[i]   x, y [N, D] f32: a branch joins the residual stream
kernel void rmsnorm_add(device const ushort *weights [[buffer(0)]],
                        device const float *y [[buffer(1)]],
                        device float *x [[buffer(2)]],
                        constant NormParams &p [[buffer(3)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint tid [[thread_index_in_threadgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[ROW_SIMDS];
    device const float *in = y + ulong(row) * p.width;
    device float *out = x + ulong(row) * p.width;
    float squares = 0.0f;
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        squares = fma(in[i], in[i], squares);
    }
    const float scale = norm_scale(row_sum(squares, partial, simd, lane), p.width, p.eps);
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        out[i] += in[i] * scale * bf16(weights[p.weight + i]);
    }
}

// router_input: z[n,i] = RMS(x)[i] * router_scale[i] * D^(-1/2), u[n,i] = RMS(x)[i] * w[i]   both [N, D] f32
// z is what the router's matrix sees, u what the routed experts see.
kernel void router_input(device const ushort *weights [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         device float *z [[buffer(2)]],
                         device float *u [[buffer(3)]],
                         constant RouterInputParams &p [[buffer(4)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[ROW_SIMDS];
    const ulong base = ulong(row) * p.width;
    float squares = 0.0f;
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        squares = fma(x[base + i], x[base + i], squares);
    }
    const float scale = norm_scale(row_sum(squares, partial, simd, lane), p.width, p.eps);
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        const float v = x[base + i] * scale;
        z[base + i] = v * bf16(weights[p.scale + i]) * p.factor;
        u[base + i] = v * bf16(weights[p.weight + i]);
    }
}

// tail: x = (x + RMS(RMS(h)*w1 + RMS(sum_k weight[n,k]*routed[n,k,:])*w2)*w3) * scalar
// x, h [N, D], routed [N, K, D], weight [N, K], all f32; the sum runs over ranks in ascending order. Each thread owns
// its elements through all passes, so that only the sums need barriers. branch holds D floats.
kernel void tail(device const ushort *weights [[buffer(0)]],
                 device const float *h [[buffer(1)]],
                 device const float *routed [[buffer(2)]],
                 device const float *weight [[buffer(3)]],
                 device float *x [[buffer(4)]],
                 constant TailParams &p [[buffer(5)]],
                 threadgroup float *branch [[threadgroup(0)]],
                 uint row [[threadgroup_position_in_grid]],
                 uint tid [[thread_index_in_threadgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[ROW_SIMDS];
    const ulong base = ulong(row) * p.width;
    device const float *experts = routed + base * p.top_k;
    device const float *shares = weight + row * p.top_k;
    float shared_squares = 0.0f, routed_squares = 0.0f;
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        float sum = 0.0f;
        for (uint k = 0; k < p.top_k; ++k) {
            sum = fma(shares[k], experts[k * p.width + i], sum);
        }
        branch[i] = sum;
        routed_squares = fma(sum, sum, routed_squares);
        shared_squares = fma(h[base + i], h[base + i], shared_squares);
    }
    const float routed_scale = norm_scale(row_sum(routed_squares, partial, simd, lane), p.width, p.eps);
    const float shared_scale = norm_scale(row_sum(shared_squares, partial, simd, lane), p.width, p.eps);
    float squares = 0.0f;
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        const float a = branch[i] * routed_scale * bf16(weights[p.post_routed + i]);
        const float b = h[base + i] * shared_scale * bf16(weights[p.post_shared + i]);
        const float t = a + b;
        branch[i] = t;
        squares = fma(t, t, squares);
    }
    const float scale = norm_scale(row_sum(squares, partial, simd, lane), p.width, p.eps);
    for (uint i = tid; i < p.width; i += ROW_THREADS) {
        const float t = branch[i] * scale * bf16(weights[p.post_ffn + i]);
        x[base + i] = (x[base + i] + t) * p.scalar;
    }
}
