"""Writes the image files of this folder and expected.json.

Needs numpy, pillow 12 (with WebP and AVIF) and cjpeg of libjpeg-turbo. Expected pixels are Pillow's, except where a
comment says otherwise; "rgb" is the SHA-256 of the upright picture with alpha dropped, "white" of the one on white.
"""
import hashlib
import io
import json
import os
import struct
import subprocess
import tempfile
import zlib

import numpy as np
from PIL import Image, ImageOps

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = []


def scene(w, h, seed=0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([(x * 9 + y * 2) % 256, (y * 11 + x) % 256, (x * y // 2) % 256], -1)
    a[h // 4:h // 2, w // 4:w // 2] = [255, 0, 0]
    a[h // 2:, :w // 3] = [0, 0, 255]
    a = a + rng.integers(-20, 20, a.shape) * ((x // 4 + y // 4) % 2)[..., None]
    return np.clip(a, 0, 255).astype(np.uint8)


def with_alpha(w, h):
    y, x = np.mgrid[0:h, 0:w]
    a = (x * 255 // max(1, w - 1)).astype(np.uint8)
    a[: h // 3] = 255
    a[-1] = 0
    return np.dstack([scene(w, h), a])


def white(rgba):
    c, a = rgba[..., :3].astype(int), rgba[..., 3:].astype(int)
    return ((c * a + 255 * (255 - a) + 127) // 255).astype(np.uint8)


def digest(rgb):
    return hashlib.sha256(np.ascontiguousarray(rgb, dtype=np.uint8).tobytes()).hexdigest()


def write(name, data):
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(data)


def refuse(name, data, error, says="", **options):
    if data is not None:
        write(name, data)
    CASES.append({"file": name, "error": error, "says": says, **options})


def accept(name, data=None, rgba=None, rgb=None, orientation=1, notes=0, drop=True, stored=None, **options):
    """Pixels default to what Pillow makes of the file."""
    if data is not None:
        write(name, data)
    im = Image.open(os.path.join(HERE, name))
    stored = stored or im.size
    if options.get("frame"):
        im.seek(options["frame"] - 1)
    if rgb is None and rgba is None:
        im = ImageOps.exif_transpose(im)
        has_alpha = "A" in im.getbands() or "transparency" in im.info
        rgb = np.asarray(im.convert("RGB"))
        rgba = np.asarray(im.convert("RGBA")) if has_alpha else np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    if rgba is None:
        rgba = np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    if rgb is None:
        rgb = rgba[..., :3]
    case = {"file": name, "size": list(stored), "orientation": orientation, "white": digest(white(rgba)), "notes": notes,
            **options}
    if drop:
        case["rgb"] = digest(rgb)
    CASES.append(case)


def jpeg_bytes(im, **k):
    b = io.BytesIO()
    im.save(b, "JPEG", **k)
    return b.getvalue()


def cjpeg(rgb, *args):
    ppm = b"P6 %d %d 255\n" % (rgb.shape[1], rgb.shape[0]) + rgb.tobytes()
    return subprocess.run(["cjpeg", *args], input=ppm, capture_output=True, check=True).stdout


def app1(block):
    body = b"Exif\0\0" + block
    return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body


def exif(value, order="<", kind=3, count=1, tag=0x112, following=0, entries=1):
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(order + "HHI", tag, kind, count) + struct.pack(order + "HH", value, 0)
    return mark + struct.pack(order + "IH", 8, entries) + entry + struct.pack(order + "I", following)


def insert(jpg, segment):
    return jpg[:2] + segment + jpg[2:]


def patch(data, find, at, new):
    i = data.index(find) + at
    return data[:i] + new + data[i + len(new):]


def jpegs():
    im = Image.fromarray(scene(45, 31))
    for ss in ("444", "422", "420"):
        sub = ":".join(ss)
        accept(f"jpeg-{ss}.jpg", jpeg_bytes(im, quality=80, subsampling=sub))
        accept(f"jpeg-{ss}-progressive.jpg", jpeg_bytes(im, quality=80, subsampling=sub, progressive=True))
    for name, sample in (("440", "1x2"), ("411", "4x1"), ("410", "4x2"), ("odd-chroma", "2x2,2x1,1x2")):
        accept(f"jpeg-{name}.jpg", cjpeg(scene(45, 31), "-sample", sample))
    accept("jpeg-grey.jpg", jpeg_bytes(im.convert("L"), quality=80))
    accept("jpeg-grey-progressive.jpg", jpeg_bytes(im.convert("L"), quality=80, progressive=True))
    accept("jpeg-adobe-rgb.jpg", jpeg_bytes(im, quality=80, keep_rgb=True, subsampling="4:4:4"))
    cmyk = jpeg_bytes(im.convert("CMYK"), quality=80)
    accept("jpeg-adobe-cmyk.jpg", cmyk)
    accept("jpeg-adobe-ycck.jpg", patch(cmyk, b"Adobe", 11, b"\2"))
    accept("jpeg-restart.jpg", jpeg_bytes(im, quality=80, restart_marker_blocks=2))
    accept("jpeg-restart-progressive.jpg", jpeg_bytes(im, quality=80, restart_marker_rows=1, progressive=True))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write("0;1;2;")
        f.flush()
        multi = cjpeg(scene(45, 31), "-scans", f.name, "-sample", "2x2")
    accept("jpeg-three-scans.jpg", multi)
    accept("jpeg-quality-3.jpg", jpeg_bytes(im, quality=3))
    accept("jpeg-1x1.jpg", jpeg_bytes(Image.fromarray(scene(1, 1)), quality=80))
    accept("jpeg-3x3-420.jpg", jpeg_bytes(Image.fromarray(scene(3, 3)), quality=80, subsampling="4:2:0"))
    accept("jpeg-5x2-420.jpg", jpeg_bytes(Image.fromarray(scene(5, 2)), quality=80, subsampling="4:2:0"))
    accept("jpeg-icc.jpg", jpeg_bytes(im, quality=80, icc_profile=b"\0" * 200))
    plain = jpeg_bytes(im, quality=80)
    for o in range(1, 9):
        accept(f"jpeg-orientation-{o}.jpg", insert(plain, app1(exif(o, "<" if o % 2 else ">"))), orientation=o)
    upright = {"rgb": np.asarray(Image.open(io.BytesIO(plain)).convert("RGB"))}
    accept("jpeg-exif-orientation-0.jpg", insert(plain, app1(exif(0))), notes=1, **upright)
    accept("jpeg-exif-orientation-9.jpg", insert(plain, app1(exif(9))), notes=1, **upright)
    accept("jpeg-exif-cycle.jpg", insert(plain, app1(exif(1, tag=0x10F, following=8))), **upright)
    accept("jpeg-exif-count-overflow.jpg", insert(plain, app1(exif(6, kind=4, count=0x40000001))), notes=1, **upright)
    accept("jpeg-exif-short.jpg", insert(plain, app1(exif(6, entries=40)[:14])), notes=1, **upright)
    accept("jpeg-exif-offset.jpg", insert(plain, app1(b"II*\0\xff\xff\xff\x7f")), notes=1, **upright)
    accept("jpeg-exif-garbage.jpg", insert(plain, app1(b"\x01\x02\x03")), notes=1, **upright)
    accept("jpeg-trailing-video.jpg", plain + b"\0\0\0\x18ftypmp42" + b"\x55" * 300)
    accept("jpeg-fill-bytes.jpg", plain[:2] + b"\xff" * 5 + plain[2:])
    thumb = jpeg_bytes(im.resize((16, 11)), quality=50)
    refuse("jpeg-cut-with-thumbnail.jpg", insert(plain, app1(exif(1) + thumb))[:-80], "ErrTruncated", "no end of image")
    refuse("jpeg-cut-in-scan.jpg", plain[:-60], "ErrTruncated", "no end of image")
    refuse("jpeg-cut-in-scan-closed.jpg", plain[:-60] + b"\xff\xd9", "ErrTruncated", "ends in row")
    refuse("jpeg-cut-in-header.jpg", plain[:100], "ErrTruncated")
    refuse("jpeg-cut-in-soi.jpg", plain[:3], "ErrTruncated")
    refuse("jpeg-one-byte-short.jpg", plain[:-1], "ErrTruncated", "no end of image")
    sof = plain.index(b"\xff\xc0")
    refuse("jpeg-claims-65500.jpg", patch(plain, b"\xff\xc0", 5, struct.pack(">HH", 65500, 65500))[:333].ljust(333, b"\0"),
           "ErrSide", "65500x65500")
    refuse("jpeg-claims-8192x8192.jpg", patch(plain, b"\xff\xc0", 5, struct.pack(">HH", 8192, 8192)), "ErrPixels", "67108864")
    refuse("jpeg-claims-6000x8000.jpg", patch(plain, b"\xff\xc0", 5, struct.pack(">HH", 6000, 8000)), "ErrTruncated", "ends in row")
    refuse("jpeg-zero-height.jpg", patch(plain, b"\xff\xc0", 5, b"\0\0"), "ErrZeroSize")
    refuse("jpeg-zero-width.jpg", patch(plain, b"\xff\xc0", 7, b"\0\0"), "ErrZeroSize")
    refuse("jpeg-arithmetic.jpg", cjpeg(scene(45, 31), "-arithmetic"), "ErrUnsupported", "arithmetic")
    refuse("jpeg-12-bit.jpg", patch(plain, b"\xff\xc0", 4, b"\x0c"), "ErrUnsupported", "12 bits")
    refuse("jpeg-lossless.jpg", plain[:sof] + b"\xff\xc3" + plain[sof + 2:], "ErrUnsupported", "lossless")
    refuse("jpeg-hierarchical.jpg", plain[:sof] + b"\xff\xc5" + plain[sof + 2:], "ErrUnsupported", "hierarchical")
    two = plain[:sof] + b"\xff\xc0\0\x0e\x08\0\x1f\0\x2d\x02\1\x11\0\2\x11\1" + plain[sof + 19:]
    refuse("jpeg-two-components.jpg", two, "ErrUnsupported", "2 components")
    refuse("jpeg-no-frame.jpg", plain[:sof] + plain[sof + 19:], "ErrDamaged", "no frame")
    refuse("jpeg-no-tables.jpg", plain[:2] + plain[sof:], "ErrDamaged", "lacks tables")
    sos = plain.index(b"\xff\xda")
    refuse("jpeg-noise-in-scan.jpg", plain[:sos + 14] + bytes((i * 37 + 11) % 251 for i in range(500)) + b"\xff\xd9", "ErrDamaged")
    rst = jpeg_bytes(im, quality=80, restart_marker_blocks=2)
    i = rst.index(b"\xff\xd1")
    refuse("jpeg-restart-out-of-order.jpg", rst[:i + 1] + b"\xd5" + rst[i + 2:], "ErrDamaged", "restart marker")
    prog = jpeg_bytes(im, quality=80, progressive=True)
    refuse("jpeg-progressive-lacks-scans.jpg", prog[:prog.rindex(b"\xff\xda")] + b"\xff\xd9", "ErrTruncated", "missing or coarse")
    refuse("jpeg-three-scans-lacks-one.jpg", multi[:multi.rindex(b"\xff\xda")] + b"\xff\xd9", "ErrTruncated", "missing or coarse")


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(name, data=b""):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def pack_rows(samples, bits):
    """samples [h, w, channels] of integers -> filtered rows; filters 0 to 4 take turns."""
    h, w, n = samples.shape
    out, above = [], None
    for y in range(h):
        flat = samples[y].reshape(-1).astype(np.uint32)
        if bits == 16:
            row = flat.astype(">u2").tobytes()
        elif bits == 8:
            row = flat.astype(np.uint8).tobytes()
        else:
            row = np.packbits(((flat[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).reshape(-1)).tobytes()
        row = np.frombuffer(row, np.uint8).astype(int)
        step = max(1, n * bits // 8)
        up = above if above is not None else np.zeros_like(row)
        left = np.concatenate([np.zeros(step, int), row])[:len(row)]
        corner = np.concatenate([np.zeros(step, int), up])[:len(row)]
        p = left + up - corner
        pa, pb, pc = abs(p - left), abs(p - up), abs(p - corner)
        paeth = np.where((pa <= pb) & (pa <= pc), left, np.where(pb <= pc, up, corner))
        f = y % 5
        filtered = row - [np.zeros_like(row), left, up, (left + up) // 2, paeth][f]
        out.append(bytes([f]) + (filtered & 255).astype(np.uint8).tobytes())
        above = row
    return b"".join(out)


def png(samples, colour, bits, interlaced=False, before=b"", after=b"", packed=None, size=None, split=0):
    h, w = samples.shape[:2]
    if packed is None:
        if interlaced:
            packed = b"".join(pack_rows(samples[y::dy, x::dx], bits) for x, y, dx, dy in ADAM7 if samples[y::dy, x::dx].size)
        else:
            packed = pack_rows(samples, bits)
    w, h = size or (w, h)
    z = zlib.compress(packed)
    parts = [z] if not split else [z[i:i + split] for i in range(0, len(z), split)]
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, colour, 0, 0, int(interlaced))) + before +
            b"".join(chunk(b"IDAT", p) for p in parts) + after + chunk(b"IEND"))


def pngs():
    w, h = 21, 13
    rng = np.random.default_rng(5)
    for bits in (1, 2, 4, 8, 16):  # expected pixels by definition: Pillow saturates 16-bit grey
        s = rng.integers(0, 1 << bits, (h, w, 1))
        v = s >> 8 if bits == 16 else s * 255 // ((1 << bits) - 1)
        rgb = np.repeat(v, 3, 2).astype(np.uint8)
        for lace in (False, True):
            accept(f"png-grey{bits}{'-interlaced' if lace else ''}.png", png(s, 0, bits, lace), rgb=rgb)
        key = int(s[3, 4, 0])
        rgba = np.dstack([rgb, np.where(s[..., 0] == key, 0, 255)]).astype(np.uint8)
        accept(f"png-grey{bits}-key.png", png(s, 0, bits, before=chunk(b"tRNS", struct.pack(">H", key))), rgba=rgba)
    for bits in (8, 16):
        s = rng.integers(0, 1 << bits, (h, w, 4))
        high = (s >> (bits - 8)).astype(np.uint8)
        for lace in (False, True):
            tail = f"{bits}{'-interlaced' if lace else ''}.png"
            accept("png-rgb" + tail, png(s[..., :3], 2, bits, lace), rgb=high[..., :3])
            accept("png-rgba" + tail, png(s, 6, bits, lace), rgba=high)
            accept("png-greyalpha" + tail, png(s[..., 2:], 4, bits, lace), rgba=high[..., [2, 2, 2, 3]])
        key = s[2, 3, :3]
        alpha = np.where((s[..., :3] == key).all(-1), 0, 255).astype(np.uint8)
        accept(f"png-rgb{bits}-key.png", png(s[..., :3], 2, bits, before=chunk(b"tRNS", struct.pack(">HHH", *key.tolist()))),
               rgba=np.dstack([high[..., :3], alpha]))
    for bits in (1, 2, 4, 8):
        colours = rng.integers(0, 256, (1 << bits, 4)).astype(np.uint8)
        s = rng.integers(0, 1 << bits, (h, w, 1))
        plte, trns = chunk(b"PLTE", colours[:, :3].tobytes()), chunk(b"tRNS", colours[:, 3].tobytes())
        px = colours[s[..., 0]]
        accept(f"png-palette{bits}.png", png(s, 3, bits, before=plte), rgb=px[..., :3])
        accept(f"png-palette{bits}-alpha.png", png(s, 3, bits, bits < 8, before=plte + trns), rgba=px)
    rgb = scene(w, h)
    accept("png-smooth-alpha.png", png(with_alpha(w, h), 6, 8), rgba=with_alpha(w, h))
    accept("png-1x1-interlaced.png", png(rgb[:1, :1], 2, 8, True), rgb=rgb[:1, :1])
    accept("png-idat-of-7-bytes.png", png(rgb, 2, 8, split=7))
    accept("png-gamma-icc.png", png(rgb, 2, 8, before=chunk(b"gAMA", struct.pack(">I", 100000)) +
                                    chunk(b"iCCP", b"x\0\0" + zlib.compress(b"\0" * 300))), rgb=rgb)
    accept("png-exif-6.png", png(rgb, 2, 8, before=chunk(b"eXIf", exif(6))), orientation=6)
    accept("png-exif-after-data.png", png(rgb, 2, 8, after=chunk(b"eXIf", exif(8, ">"))), rgb=np.rot90(rgb), orientation=8)
    accept("png-more-data-than-rows.png", png(rgb, 2, 8, packed=pack_rows(rgb, 8) + b"\0" * 5000), rgb=rgb)
    good = png(rgb, 2, 8)
    refuse("png-one-byte-short.png", good[:-1], "ErrTruncated")
    refuse("png-cut-in-data.png", good[:200], "ErrTruncated")
    refuse("png-no-end.png", good[:-12], "ErrTruncated")
    refuse("png-trailing-byte.png", good + b"\0", "ErrTruncated", "last 12 bytes")
    refuse("png-data-ends-early.png", png(rgb, 2, 8, packed=pack_rows(rgb, 8)[:-20]), "ErrTruncated", "row 12")
    i = good.index(b"IDAT")
    refuse("png-data-checksum.png", good[:i + 9] + bytes([good[i + 9] ^ 1]) + good[i + 10:], "ErrDamaged", "checksum")
    bad = bytearray(zlib.compress(pack_rows(rgb, 8)))
    bad[40] ^= 0x55
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
    refuse("png-deflate-damage.png", head + chunk(b"IDAT", bytes(bad)) + chunk(b"IEND"), "ErrDamaged")
    adler = bytearray(zlib.compress(pack_rows(rgb, 8)))
    adler[-1] ^= 1
    refuse("png-adler-damage.png", head + chunk(b"IDAT", bytes(adler)) + chunk(b"IEND"), "ErrDamaged", "checksum")
    refuse("png-filter-7.png", png(rgb, 2, 8, packed=b"\7" + pack_rows(rgb, 8)[1:]), "ErrDamaged", "filter 7")
    refuse("png-palette-missing.png", png(rgb[..., :1], 3, 8), "ErrDamaged", "palette")
    refuse("png-no-data.png", head + chunk(b"IEND"), "ErrTruncated", "no image data")
    refuse("png-depth-3.png", png(rgb, 2, 8)[:24] + b"\3" + good[25:], "ErrDamaged")
    refuse("png-header-late.png", good[:8] + chunk(b"gAMA", b"\0\0\0\1") + good[8:], "ErrDamaged", "IHDR")
    refuse("png-apple.png", good[:8] + chunk(b"CgBI", b"\0\0\0\1") + good[8:], "ErrUnsupported", "CgBI")
    refuse("png-zero-width.png", png(rgb, 2, 8, size=(0, 5)), "ErrZeroSize")
    refuse("png-zero-height.png", png(rgb, 2, 8, size=(5, 0)), "ErrZeroSize")
    refuse("png-bomb-30000.png", png(rgb[..., :1] & 1, 0, 1, size=(30000, 30000), packed=b"\0" * 3000000), "ErrPixels", "900000000")
    refuse("png-side-32769.png", png(rgb, 2, 8, size=(32769, 1)), "ErrSide", "32769x1")
    refuse("png-16-bit-25-megapixels.png", png(rgb, 2, 16, size=(5001, 5000)), "ErrDecodedBytes", "200040000")
    refuse("png-max-int.png", png(rgb, 2, 8, size=(0x7FFFFFFF, 0x7FFFFFFF)), "ErrSide")


def frames(n=3, w=20, h=14):
    out = []
    for i in range(n):
        a = np.zeros((h, w, 4), np.uint8)
        a[..., :3] = scene(w, h, i)
        a[2 + i:8 + i, 3 * i:3 * i + 7, 3] = 255
        if i == 0:
            a[..., 3] = 255
        out.append(Image.fromarray(a))
    return out


def animations():
    f = frames()
    for ext, extra in (("png", {}), ("webp", {"lossless": True})):
        for disposal in (0, 1) if ext == "webp" else (0, 1, 2):
            b = io.BytesIO()
            kw = dict(extra)
            if ext == "png":
                kw["disposal"] = disposal
                kw["blend"] = 1
            f[0].save(b, ext.upper(), save_all=True, append_images=f[1:], duration=100, **kw)
            name = f"{ext}-animated-{disposal}.{ext}"
            refuse(name, b.getvalue(), "ErrAnimated", "3 frames")
            for n in (1, 2, 3):
                accept(name, frame=n, drop=False)
            refuse(name, None, "ErrFrame", "frame 4 of 3", frame=4)


def gif_animations():
    """Frames of different sizes, put together by hand; expected pixels by definition: "restore to background" clears,
    as browsers do, where Pillow fills with a colour."""
    w, h = 20, 14
    areas = [(0, 0, 20, 14), (3, 2, 9, 8), (8, 5, 12, 9)]
    for disposal in range(4):
        out = b"GIF89a" + struct.pack("<HHBBB", w, h, 0, 0, 0)
        canvas = np.zeros((h, w, 4), np.uint8)
        shown = []
        for i, (x, y, fw, fh) in enumerate(areas):
            b = io.BytesIO()
            Image.fromarray(scene(fw, fh, i)).quantize(32).save(b, "GIF", interlace=i % 2)
            one = b.getvalue()
            im = Image.open(io.BytesIO(one))
            index, colours = np.asarray(im), np.array(im.getpalette()).reshape(-1, 3)
            key = int(index[fh // 2, fw // 2])
            table = 3 << ((one[10] & 7) + 1)
            at = one.index(b",", 13 + table)
            out += b"!\xf9\4" + bytes([disposal << 2 | (i > 0), 10, 0, key, 0])
            out += b"," + struct.pack("<HHHH", x, y, fw, fh) + bytes([0x80 | one[at + 9] & 0x40 | one[10] & 7])
            out += one[13:13 + table] + one[at + 10:-1]
            rgba = np.dstack([colours[index].astype(np.uint8), np.where((index == key) & (i > 0), 0, 255).astype(np.uint8)])
            before = canvas.copy()
            area = canvas[y:y + fh, x:x + fw]
            area[rgba[..., 3] == 255] = rgba[rgba[..., 3] == 255]
            shown.append(canvas.copy())
            if disposal == 2:
                area[:] = 0
            if disposal == 3:
                canvas = before
        name = f"gif-animated-{disposal}.gif"
        refuse(name, out + b";", "ErrAnimated", "3 frames")
        for n in (1, 2, 3):
            accept(name, frame=n, drop=False, rgba=shown[n - 1])
        refuse(name, None, "ErrFrame", "frame 4 of 3", frame=4)


def webps():
    for w, h in ((45, 31), (16, 16), (1, 1), (2, 2), (33, 18)):
        im = Image.fromarray(scene(w, h))
        b = io.BytesIO()
        im.save(b, "WEBP", quality=70)
        accept(f"webp-lossy-{w}x{h}.webp", b.getvalue())
    im = Image.fromarray(scene(45, 31))
    rgba = Image.fromarray(with_alpha(45, 31))
    for name, i, kw in (("lossless", im, {"lossless": True}), ("lossless-alpha", rgba, {"lossless": True, "exact": True}),
                        ("lossy-alpha", rgba, {"quality": 70, "exact": True}), ("lossy-alpha-raw", rgba, {"quality": 70, "alpha_quality": 40}),
                        ("exif-3", im, {"quality": 70, "exif": exif(3)})):
        b = io.BytesIO()
        i.save(b, "WEBP", **kw)
        accept(f"webp-{name}.webp", b.getvalue(), orientation=3 if name == "exif-3" else 1)
    b = io.BytesIO()
    im.save(b, "WEBP", lossless=True)
    lossless = b.getvalue()
    b = io.BytesIO()
    im.save(b, "WEBP", quality=70)
    lossy = b.getvalue()
    refuse("webp-cut.webp", lossy[:200], "ErrTruncated", "announces")
    cut = lossy[:200]
    refuse("webp-cut-and-patched.webp", cut[:4] + struct.pack("<I", 192) + cut[8:16] + struct.pack("<I", 180) + cut[20:], "ErrTruncated")
    refuse("webp-bomb.webp", patch(lossless, b"VP8L", 9, b"\xff\xff\xff\x0f"), "ErrPixels", "16384x16384")
    refuse("webp-bomb-lossy.webp", patch(lossy, b"\x9d\x01\x2a", 3, b"\xff\x3f\xff\x3f"), "ErrPixels", "16383x16383")
    refuse("webp-zero-width.webp", patch(lossy, b"\x9d\x01\x2a", 3, b"\0\0"), "ErrZeroSize")
    x = b"VP8X\x0a\0\0\0\0\0\0\0" + struct.pack("<I", 9)[:3] + struct.pack("<I", 9)[:3]
    body = b"WEBP" + x + lossy[12:]
    refuse("webp-sizes-differ.webp", b"RIFF" + struct.pack("<I", len(body)) + body, "ErrDamaged", "10x10")
    body = b"WEBP" + x
    refuse("webp-no-picture.webp", b"RIFF" + struct.pack("<I", len(body)) + body, "ErrTruncated", "without a picture")
    refuse("webp-noise.webp", lossless[:30] + bytes((i * 91 + 7) % 256 for i in range(len(lossless) - 30)), "ErrDamaged")


def gifs():
    im = Image.fromarray(scene(45, 31)).quantize(64)
    b = io.BytesIO()
    im.save(b, "GIF", interlace=0)
    plain = b.getvalue()
    accept("gif-87a.gif", plain)
    b = io.BytesIO()
    im.save(b, "GIF", interlace=1)
    accept("gif-interlaced.gif", b.getvalue())
    b = io.BytesIO()
    im.save(b, "GIF", transparency=int(np.asarray(im)[5, 5]))
    accept("gif-transparent.gif", b.getvalue())
    for n in (2, 4, 16):
        b = io.BytesIO()
        Image.fromarray(scene(9, 7)).quantize(n).save(b, "GIF")
        accept(f"gif-{n}-colours.gif", b.getvalue())
    # A frame smaller than its canvas: what it leaves out is transparent.
    small = patch(plain, plain[:6], 6, struct.pack("<HH", 50, 40))
    rgba = np.zeros((40, 50, 4), np.uint8)
    rgba[:31, :45, :3] = np.asarray(im.convert("RGB"))
    rgba[:31, :45, 3] = 255
    accept("gif-frame-in-corner.gif", small, rgba=rgba)
    refuse("gif-cut.gif", plain[:400], "ErrTruncated")
    refuse("gif-no-trailer.gif", plain[:-1], "ErrTruncated")
    refuse("gif-no-frame.gif", plain[:13] + plain[13:13 + 192] + b";", "ErrTruncated", "no frame")
    refuse("gif-claims-65535.gif", patch(plain, plain[:6], 6, b"\xff\xff\xff\xff"), "ErrSide", "65535x65535")
    refuse("gif-claims-20000.gif", patch(plain, plain[:6], 6, struct.pack("<HH", 20000, 20000)), "ErrPixels", "400000000")
    refuse("gif-zero-size.gif", patch(plain, plain[:6], 6, b"\0\0\0\0")[:13] + plain[13:13 + 192] + b"," + b"\0" * 9 + b"\2\0;", "ErrZeroSize")
    i = plain.index(b",", 13 + 192)
    refuse("gif-frame-outside.gif", plain[:i + 1] + struct.pack("<H", 30) + plain[i + 3:], "ErrDamaged", "in 45x31")
    refuse("gif-code-size-12.gif", plain[:i + 10] + b"\x0c" + plain[i + 11:], "ErrDamaged", "code size 12")
    refuse("gif-data-short.gif", plain[:i + 11] + b"\2\0\1\0;", "ErrTruncated", "row")
    refuse("gif-unknown-block.gif", plain[:i] + b"\x77" + plain[i:], "ErrDamaged", "block 0x77")


def bmps():
    im = Image.fromarray(scene(45, 31))
    for name, i in (("rgb", im), ("palette", im.quantize(200)), ("grey", im.convert("L")), ("1-bit", im.convert("1"))):
        b = io.BytesIO()
        i.save(b, "BMP")
        accept(f"bmp-{name}.bmp", b.getvalue())
    b = io.BytesIO()
    im.save(b, "BMP")
    d = b.getvalue()
    down = patch(d, d[:22], 22, struct.pack("<i", -31))
    accept("bmp-top-down.bmp", down)
    x = np.dstack([scene(45, 31)[..., ::-1], np.full((31, 45), 7, np.uint8)])[::-1]
    accept("bmp-32-bit.bmp", patch(d[:54], d[:28], 28, b"\x20") + x.tobytes(), rgb=scene(45, 31))
    refuse("bmp-cut.bmp", d[:2000], "ErrTruncated", "needs")
    refuse("bmp-rle.bmp", patch(d, d[:30], 30, b"\1"), "ErrUnsupported", "compression 1")
    refuse("bmp-claims-65500.bmp", patch(d, d[:18], 18, struct.pack("<ii", 65500, 65500)), "ErrSide", "65500x65500")
    refuse("bmp-zero-height.bmp", patch(d, d[:22], 22, b"\0\0\0\0"), "ErrZeroSize")
    refuse("bmp-negative-width.bmp", patch(d, d[:18], 18, struct.pack("<i", -5)), "ErrDamaged")
    refuse("bmp-os2.bmp", patch(d, d[:14], 14, b"\x0c"), "ErrUnsupported", "12 bytes")


def tiffs():
    im = Image.fromarray(scene(45, 31))

    def tiff(i, **k):
        b = io.BytesIO()
        i.save(b, "TIFF", **k)
        return b.getvalue()

    plain = tiff(im)
    refuse("tiff-rgb.tif", plain, "ErrTIFF")
    accept("tiff-rgb.tif", tiff=True)
    accept("tiff-lzw.tif", tiff(im, compression="tiff_lzw"), tiff=True)
    accept("tiff-deflate.tif", tiff(im.convert("L"), compression="tiff_adobe_deflate"), tiff=True)
    accept("tiff-alpha.tif", tiff(Image.fromarray(with_alpha(45, 31))), tiff=True)
    accept("tiff-orientation-5.tif", tiff(im, tiffinfo={274: 5}), tiff=True, orientation=5, stored=(45, 31))
    s = (np.arange(45 * 31, dtype=np.uint32).reshape(31, 45) * 47 % 65536).astype(np.uint16)
    accept("tiff-grey16.tif", tiff(Image.fromarray(s)), tiff=True, rgb=np.repeat((s >> 8).astype(np.uint8)[..., None], 3, 2))
    pages = tiff(im, save_all=True, append_images=[Image.fromarray(scene(45, 31, 4))])
    refuse("tiff-two-pages.tif", pages, "ErrAnimated", "2 frames", tiff=True)
    accept("tiff-two-pages.tif", tiff=True, frame=2)
    refuse("tiff-page-sizes.tif", tiff(im, save_all=True, append_images=[im.resize((9, 9))]), "ErrUnsupported", "9x9", tiff=True, frame=2)
    refuse("tiff-cut.tif", plain[:300], "ErrTruncated", tiff=True)
    refuse("tiff-cmyk.tif", tiff(im.convert("CMYK")), "ErrUnsupported", tiff=True)
    refuse("tiff-cycle.tif", b"II*\0\x08\0\0\0\0\0\x08\0\0\0", "ErrUnsupported", "1024 pages", tiff=True)


def others():
    b = io.BytesIO()
    Image.fromarray(scene(45, 31)).save(b, "AVIF", quality=50)
    refuse("avif.avif", b.getvalue(), "ErrAVIF")
    refuse("heic.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 40, "ErrHEIF")
    refuse("heif-mif1.heif", b"\0\0\0\x14ftypmif1\0\0\0\0mif1" + b"\0" * 40, "ErrHEIF")
    refuse("heic-sequence.heic", b"\0\0\0\x18ftyphevc\0\0\0\0hevcheic" + b"\0" * 40, "ErrHEIF")
    refuse("video.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0" * 40, "ErrFormat", "mp42")
    refuse("jpeg-xl.jxl", b"\xff\x0a" + b"\0" * 20, "ErrUnsupported", "JPEG XL")
    refuse("jpeg-2000.jp2", b"\0\0\0\x0cjP  \r\n\x87\n", "ErrUnsupported", "JPEG 2000")
    refuse("bigtiff.tif", b"II+\0" + b"\0" * 12, "ErrUnsupported", "BigTIFF")
    refuse("document.pdf", b"%PDF-1.7\n", "ErrUnsupported", "PDF")
    refuse("text.png", b"this is no picture\n", "ErrFormat", "74 68 69 73")
    refuse("empty.jpg", b"", "ErrFormat", "empty")
    png_in_disguise = open(os.path.join(HERE, "png-rgb8.png"), "rb").read()
    accept("png-named-jpg.jpg", png_in_disguise)


jpegs()
pngs()
animations()
gif_animations()
webps()
gifs()
bmps()
tiffs()
others()
with open(os.path.join(HERE, "expected.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
print(len(CASES), "cases,", len({c["file"] for c in CASES}), "files,",
      sum(os.path.getsize(os.path.join(HERE, c)) for c in {c["file"] for c in CASES}), "bytes")
