// embed: x[n,i] = (scale*code + bias) * factor of row tokens[n] of an affine int4 table [V, D]   x [N, D] f32
// One thread per 4 codes, grid (D/4, N). Codes begin at any even address: they are read as ushorts.

kernel void embed_int4(device const uchar *weights [[buffer(0)]],
                       device const uint *tokens [[buffer(1)]],
                       device float *x [[buffer(2)]],
                       constant EmbedParams &p [[buffer(3)]],
                       uint2 at [[thread_position_in_grid]]) {
    const ulong first = ulong(tokens[at.y]) * p.width + at.x * 4;
    device const ushort *code = (device const ushort *)(weights + p.table.codes);
    const float scale = bf16(((device const ushort *)(weights + p.table.scales))[first / 64]);
    const float bias = bf16(((device const ushort *)(weights + p.table.biases))[first / 64]);
    const ushort c = code[first / 4];
    const float4 q = float4(float(c & 15), float((c >> 4) & 15), float((c >> 8) & 15), float(c >> 12));
    *(device float4 *)(x + ulong(at.y) * p.width + at.x * 4) = fma(float4(scale), q, float4(bias)) * p.factor;
}
