"""SHA-256 of generated tensors, computed with numpy: the reference of TestBytesEqualThoseOfAnotherProgram.

    python3 values.py > values.json

The formulas are written here over whole arrays, in Go element by element; the two share nothing but the description.
"""
import hashlib
import json

import numpy as np

F = np.float32
U = np.uint64
LAYER = "language_model.model.layers."


def words(name, n, lo=0):
    start = np.frombuffer(hashlib.sha256(name.encode()).digest()[:8], "<u8")[0]
    with np.errstate(over="ignore"):
        z = start + (np.arange(lo, lo + n, dtype=U) + U(1)) * U(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> U(shift))) * U(factor)
    return z ^ (z >> U(31))


def units(name, n):
    return (words(name, n) >> U(40)).astype(F) * F(2.0 ** -24)


def rounded(x):
    """bf16 bits by arithmetic on the value: the nearest multiple of the spacing at 8 significant bits, even on a tie."""
    x = x.astype(np.float64)
    _, e = np.frexp(x)
    step = np.ldexp(1.0, e - 8)
    return (np.rint(x / step) * step).astype(F)


def stored(x):
    return (x.view(np.uint32) >> 16).astype("<u2")


def scales(module, rows, cols, bits, uneven):
    k = cols // 64
    w = words(module + ".scales", rows * k)
    u = (w >> U(40)).astype(F) * F(2.0 ** -24)
    gain = F(0.6) + F(1.8) * units(module + ".gain", rows) ** 2 if uneven else np.ones(rows, F)
    amp = gain / (F(4.6097722 if bits == 4 else 73.900383) * F(np.sqrt(cols)))
    m = np.repeat(amp, k) * (F(0.75) + F(0.5) * u)
    return rounded(np.where(w & U(1), -m, m))


def quantized(out, module, rows, cols, bits=4, uneven=False):
    out[module + ".weight"] = words(module + ".weight", rows * cols * bits // 32).astype("<u4")
    s = scales(module, rows, cols, bits, uneven)
    out[module + ".scales"] = stored(s)
    out[module + ".biases"] = stored(rounded(-F(7.5 if bits == 4 else 127.5) * s))


def main():
    out = {}
    quantized(out, "language_model.model.embed_tokens", 4096, 512)
    quantized(out, LAYER + "3.router.proj", 40, 512, 8, True)
    quantized(out, LAYER + "5.self_attn.o_proj", 512, 512)
    quantized(out, LAYER + "11.mlp.down_proj", 512, 320)
    quantized(out, LAYER + "7.experts.switch_glu.down_proj", 40 * 512, 192)
    quantized(out, "embed_vision.embedding_projection", 512, 576)

    def plain(name, n, f):
        out[name] = stored(rounded(f(units(name, n))))

    norm = lambda u: F(0.75) + F(0.5) * u
    plain(LAYER + "0.input_layernorm.weight", 512, norm)
    plain("language_model.model.norm.weight", 512, norm)
    plain(LAYER + "2.router.per_expert_scale", 40, norm)
    plain(LAYER + "2.router.scale", 512, lambda u: F(0.9) + F(0.2) * u)
    plain(LAYER + "9.layer_scalar", 1, lambda u: F(0.8) + F(0.2) * u)
    plain(LAYER + "4.self_attn.q_norm.weight", 64, lambda u: norm(u) * F(64 ** -0.25))
    plain(LAYER + "5.self_attn.k_norm.weight", 128, lambda u: norm(u) * F(128 ** -0.25))
    tower = "vision_tower."
    plain(tower + "encoder.layers.2.self_attn.k_norm.weight", 72, lambda u: norm(u) * F(72 ** -0.25))
    plain(tower + "encoder.layers.1.mlp.down_proj.linear.weight", 576 * 272,
          lambda u: (u - F(0.5)) * F(3.4641016) / F(np.sqrt(272)))
    plain(tower + "patch_embedder.input_proj.weight", 576 * 768,
          lambda u: (u - F(0.5)) * F(3.4641016) / F(np.sqrt(768)))
    plain(tower + "patch_embedder.position_embedding_table", 2 * 640 * 576, lambda u: (u - F(0.5)) * F(0.2))
    plain(tower + "std_bias", 576, lambda u: (u - F(0.5)) * F(0.1))
    plain(tower + "std_scale", 576, lambda u: F(0.5) + u)
    print(json.dumps({k: hashlib.sha256(v.tobytes()).hexdigest() for k, v in sorted(out.items())}, indent=1))


main()
