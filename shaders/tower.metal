// The image tower: what the text kernels do not have. Activations are f32 throughout.

// pixels: x[i] = 2*(v/255 - 1/2), a byte to [-1, 1]; grid (bytes)
kernel void pixels(device const uchar *patches [[buffer(0)]],
                   device float *x [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    const float v = float(patches[i]) * (1.0f / 255.0f);
    x[i] = 2.0f * (v - 0.5f);
}

// positions: x[i,:] += table[0, column(i), :] + table[1, line(i), :]   table [2, rows, Dv] bf16; grid (Dv, P)
kernel void positions(device const ushort *table [[buffer(0)]],
                      device float *x [[buffer(1)]],
                      constant PositionParams &p [[buffer(2)]],
                      uint2 at [[thread_position_in_grid]]) {
    const uint column = at.y % p.grid_width, line = at.y / p.grid_width;
    const float a = bf16(table[p.table + column * p.width + at.x]);
    const float b = bf16(table[p.table + (p.rows + line) * p.width + at.x]);
    x[ulong(at.y) * p.width + at.x] += a + b;
}

// tower_heads: norms every head of q, k and v, and rotates those of q and k by the patch's column (first half of a head)
// and line (second half); v has no weight. All [P, H, Dh] f32, in place. turn[c, j] = (cos, sin) of coordinate c, Dh/4
// pairs (j, j + Dh/4) in each half. One simdgroup per head: grid of threadgroups (ceil(H/4), P, 3).
[[kernel, max_total_threads_per_threadgroup(128)]] void tower_heads(
    device const ushort *query_norm [[buffer(0)]],
    device const ushort *key_norm [[buffer(1)]],
    device const float2 *turn [[buffer(2)]],
    device float *q [[buffer(3)]],
    device float *k [[buffer(4)]],
    device float *v [[buffer(5)]],
    constant TowerHeadsParams &p [[buffer(6)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    const uint head = group.x * 4 + simd, patch = group.y;
    if (head >= p.heads) {
        return;
    }
    device float *x = (group.z == 0 ? q : group.z == 1 ? k : v) + (ulong(patch) * p.heads + head) * p.width;
    device const ushort *norm = group.z == 0 ? query_norm + p.query_norm : key_norm + p.key_norm;
    const uint quarter = p.width / 4;
    float squares = 0.0f;
    for (uint i = lane; i < p.width; i += LANES) {
        squares = fma(x[i], x[i], squares);
    }
    const float scale = norm_scale(lane_sum(squares), p.width, p.eps);
    simdgroup_barrier(mem_flags::mem_device);  // every element was read
    for (uint pair = lane; pair < 2 * quarter; pair += LANES) {
        const uint axis = pair / quarter, j = pair % quarter;
        const uint at = axis * 2 * quarter + j;
        float a = x[at] * scale, b = x[at + quarter] * scale;
        if (group.z < 2) {
            const uint coordinate = axis == 0 ? patch % p.grid_width : patch / p.grid_width;
            const float2 t = turn[coordinate * quarter + j];
            a *= bf16(norm[at]);
            b *= bf16(norm[at + quarter]);
            const float u = fma(a, t.x, -(b * t.y));
            b = fma(b, t.x, a * t.y);
            a = u;
        }
        x[at] = a;
        x[at + quarter] = b;
    }
}

// geglu: gate = gelu(gate) * up; grid (elements)
kernel void geglu(device float *gate [[buffer(0)]],
                  device const float *up [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    gate[i] = gelu(gate[i]) * up[i];
}

// pool: y[n,:] = (mean of k by k patches * sqrt(Dv) - bias) * scale   x [P, Dv], y [P/k^2, Dv]; grid (Dv, P/k^2)
kernel void pool(device const ushort *bias [[buffer(0)]],
                 device const ushort *scale [[buffer(1)]],
                 device const float *x [[buffer(2)]],
                 device float *y [[buffer(3)]],
                 constant PoolParams &p [[buffer(4)]],
                 uint2 at [[thread_position_in_grid]]) {
    const uint per_line = p.grid_width / p.side;
    const uint left = at.y % per_line * p.side, top = at.y / per_line * p.side;
    float sum = 0.0f;
    for (uint line = top; line < top + p.side; ++line) {
        for (uint column = left; column < left + p.side; ++column) {
            sum += x[(ulong(line) * p.grid_width + column) * p.width + at.x];
        }
    }
    const float scaled = sum / float(p.side * p.side) * p.root;
    y[ulong(at.y) * p.width + at.x] = (scaled - bf16(bias[p.bias + at.x])) * bf16(scale[p.scale + at.x]);
}
