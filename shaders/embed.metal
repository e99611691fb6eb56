// embed: x[n,i] = (scale*code + bias) * factor of row tokens[n] of an affine table [V, D]   x [N, D] f32
// One thread per 4 codes, grid (D/4, N). Codes may begin at any even address: they are read as ushorts.

template <uint BITS>
[[kernel]] void embed(device const ushort *weights [[buffer(0)]],
                      device const uint *tokens [[buffer(1)]],
                      device float *x [[buffer(2)]],
                      constant EmbedParams &p [[buffer(3)]],
                      uint2 at [[thread_position_in_grid]]) {
    constexpr uint per_half = 16 / BITS;
    const uint token = tokens[at.y], i = at.x * 4;
    const ulong code = ulong(token) * (p.width / per_half) + i / per_half;
    const ulong group = (ulong(token) * p.width + i) / 64;
    const float scale = bf16(weights[p.table.scales + group]), bias = bf16(weights[p.table.biases + group]);
    const ushort low = weights[p.table.codes + code];
    float4 q;
    if (BITS == 4) {
        q = float4(float(low & 15), float((low >> 4) & 15), float((low >> 8) & 15), float(low >> 12));
    } else {
        const ushort high = weights[p.table.codes + code + 1];
        q = float4(float(low & 255), float(low >> 8), float(high & 255), float(high >> 8));
    }
    *(device float4 *)(x + ulong(at.y) * p.width + i) = fma(float4(scale), q, float4(bias)) * p.factor;
}

INSTANCE("embed_int4", embed<4>)
INSTANCE("embed_int8", embed<8>)
