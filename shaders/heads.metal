// heads: what lies between the projections and attention, in one pass over a row's heads.
//
//   q[n,h,:]  <- RoPE(RMS(q[n,h,:]) * q_norm)                    in place, f32
//   K[slot,g] <- RoPE(RMS(k[n,g,:]) * k_norm)                    stored as T
//   V[slot,g] <- RMS(v[n,g,:])                                   no weight, no rotation
//
// qkv is [N, stride]: H query heads, G key heads and, unless values are made from the raw keys, G value heads, Dh wide
// each. slot = (pos + n) % kv_rows; K and V are [kv_rows, G, Dh]. Pairs are (i, i + Dh/2); the first pairs ones rotate by
// turn[n, i] = (cos, sin), which the CPU makes: at position 1e5 a GPU's sine would need a careful reduction.
// One simdgroup per head: grid of threadgroups (ceil((H + 2G)/4), N).

constant constexpr uint HEAD_SIMDS = 4;

template <typename T>
[[kernel, max_total_threads_per_threadgroup(128)]] void heads(device const ushort *weights [[buffer(0)]],
                  device const float2 *turn [[buffer(1)]],
                  device float *qkv [[buffer(2)]],
                  device T *keys [[buffer(3)]],
                  device T *values [[buffer(4)]],
                  constant HeadsParams &p [[buffer(5)]],
                  uint2 group [[threadgroup_position_in_grid]],
                  uint simd [[simdgroup_index_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]]) {
    const uint head = group.x * HEAD_SIMDS + simd, row = group.y;
    if (head >= p.heads + 2 * p.kv_heads) {
        return;
    }
    const bool query = head < p.heads, value = head >= p.heads + p.kv_heads;
    const uint kv_head = head - p.heads - (value ? p.kv_heads : 0);
    const uint from = query ? head * p.width : (value ? p.value_at : p.key_at) + kv_head * p.width;
    const uint norm = query ? p.query_norm : p.key_norm;
    const uint half_width = p.width / 2;
    device float *x = qkv + ulong(row) * p.stride + from;

    float squares = 0.0f;
    for (uint i = lane; i < half_width; i += LANES) {
        squares = fma(x[i], x[i], squares);
        squares = fma(x[i + half_width], x[i + half_width], squares);
    }
    const float scale = norm_scale(lane_sum(squares), p.width, p.eps);

    const ulong slot = (ulong((p.pos + row) % p.kv_rows) * p.kv_heads + kv_head) * p.width;
    for (uint i = lane; i < half_width; i += LANES) {
        float a = x[i] * scale, b = x[i + half_width] * scale;
        if (value) {
            values[slot + i] = T(a);
            values[slot + i + half_width] = T(b);
            continue;
        }
        a *= bf16(weights[norm + i]);
        b *= bf16(weights[norm + i + half_width]);
        if (i < p.pairs) {
            const float2 t = turn[row * p.pairs + i];
            const float u = fma(a, t.x, -(b * t.y));
            b = fma(b, t.x, a * t.y);
            a = u;
        }
        if (query) {
            x[i] = a;
            x[i + half_width] = b;
        } else {
            keys[slot + i] = T(a);
            keys[slot + i + half_width] = T(b);
        }
    }
}

INSTANCE("heads_f16", heads<half>)
INSTANCE("heads_f32", heads<float>)
