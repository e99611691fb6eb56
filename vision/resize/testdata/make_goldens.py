"""Writes goldens.json: SHA-256 of what torchvision and Pillow make of generated pictures.

Needs numpy, pillow, torch and torchvision (the CPU kernels). The pictures come from a counter-based generator that
the Go test repeats, so that only hashes need to be kept.
"""
import hashlib
import json
import os

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms.v2 import functional as F

SIZES = [  # width, height -> width, height
    (1, 1, 768, 768), (2, 3, 480, 768), (48, 48, 768, 768), (47, 49, 48, 48), (64, 64, 48, 48), (63, 65, 48, 96),
    (300, 200, 960, 624), (110, 77, 912, 672), (960, 672, 960, 672), (960, 671, 960, 672), (961, 672, 960, 672),
    (1440, 1008, 960, 672), (1600, 1200, 912, 672), (2000, 1500, 912, 672), (1920, 1080, 1056, 576),
    (1080, 1920, 288, 528), (1920, 1080, 2112, 1200), (2532, 1170, 1152, 528), (10000, 50, 11328, 48),
    (279, 1, 13392, 48), (32768, 1, 13440, 48), (20, 5601, 48, 13440), (2016, 1512, 912, 672), (1512, 2016, 336, 432),
    (500, 333, 480, 288), (333, 500, 288, 480), (97, 31, 672, 192), (1000, 1000, 384, 384), (1000, 999, 1584, 1584),
]


def noise(w, h, seed):
    i = np.arange(w * h * 3, dtype=np.uint32)
    with np.errstate(over="ignore"):
        x = (i + np.uint32(seed)) * np.uint32(0x9E3779B1)
        x ^= x >> np.uint32(15)
        x *= np.uint32(0x85EBCA77)
        x ^= x >> np.uint32(13)
    return (x & np.uint32(255)).astype(np.uint8).reshape(h, w, 3)


def waves(w, h, seed):
    y, x, c = np.meshgrid(np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    a = (x * (3 + c) + y * 2 + seed * 17) % 510
    return np.where(a > 255, 510 - a, a).astype(np.uint8)


def torchvision_resize(rgb, w, h):
    t = torch.from_numpy(rgb.transpose(2, 0, 1).copy())
    out = F.resize(t, [h, w], interpolation=F.InterpolationMode.BICUBIC, antialias=True)
    return out.numpy().transpose(1, 2, 0)


def pillow_resize(rgb, w, h):
    return np.asarray(Image.fromarray(rgb).resize((w, h), Image.BICUBIC))


def main():
    rows = []
    for seed, (w, h, tw, th) in enumerate(SIZES):
        for pattern in (noise, waves):
            rgb = pattern(w, h, seed)
            tv, pil = torchvision_resize(rgb, tw, th), pillow_resize(rgb, tw, th)
            gap = np.abs(tv.astype(int) - pil.astype(int))
            print(pattern.__name__, (w, h), (tw, th), "largest gap", gap.max())
            rows.append({
                "pattern": pattern.__name__, "seed": seed, "from": [w, h], "to": [tw, th],
                "torchvision": hashlib.sha256(tv.tobytes()).hexdigest(),
                "pillow": hashlib.sha256(pil.tobytes()).hexdigest(),
                "largestGap": int(gap.max()),
            })
    made = {"torch": torch.__version__, "torchvision": torchvision.__version__, "pillow": PIL.__version__}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens.json"), "w") as f:
        json.dump({"made by": made, "cases": rows}, f, indent=0)
        f.write("\n")


main()
