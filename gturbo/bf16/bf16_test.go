package bf16

import (
	"math"
	"testing"
)

// nearest rounds f by searching all finite values of a 16-bit format: the reference is a search, not bit arithmetic.
// widen must be monotonic on 0..top, where top is the bit pattern of infinity, which stands for limit.
func nearest(f float32, widen func(uint16) float32, top uint16, limit float64) uint16 {
	sign := uint16(0)
	if math.Signbit(float64(f)) {
		sign = 0x8000
	}
	x := math.Abs(float64(f))
	value := func(b uint16) float64 {
		if b == top {
			return limit
		}
		return float64(widen(b))
	}
	lo, hi := uint16(0), top
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; value(mid) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	below, above := x-value(lo), value(hi)-x
	if above < below || above == below && hi%2 == 0 {
		return sign | hi
	}
	return sign | lo
}

// samples covers every exponent, both signs, and the neighbourhood of ties.
func samples() []float32 {
	var out []float32
	for e := uint32(0); e < 255; e++ {
		for _, m := range []uint32{
			0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0x18000, 0x2aaaaa, 0x7fefff, 0x7ff000, 0x7fffff,
		} {
			u := e<<23 | m
			out = append(out, math.Float32frombits(u), math.Float32frombits(u|1<<31))
		}
	}
	return out
}

func TestBitsRoundsToNearestEven(t *testing.T) {
	for _, f := range samples() {
		if got, want := Bits(f), nearest(f, Float32, 0x7f80, 0x1p128); got != want {
			t.Fatalf("Bits(%g) = %#04x, want %#04x", f, got, want)
		}
	}
}

func TestHalfBitsRoundsToNearestEven(t *testing.T) {
	for _, f := range samples() {
		want := uint16(0x7c00)
		if math.Signbit(float64(f)) {
			want |= 0x8000
		}
		if math.Abs(float64(f)) < 65536 {
			want = nearest(f, HalfFloat32, 0x7c00, 65536)
		}
		if got := HalfBits(f); got != want {
			t.Fatalf("HalfBits(%g) = %#04x, want %#04x", f, got, want)
		}
	}
}

func TestEveryValueSurvivesTheRoundTrip(t *testing.T) {
	for b := range 1 << 16 {
		b := uint16(b)
		for _, c := range []struct {
			name     string
			f        float32
			back     uint16
			quietBit uint16
		}{{"bfloat16", Float32(b), Bits(Float32(b)), 0x40}, {"half", HalfFloat32(b), HalfBits(HalfFloat32(b)), 0x200}} {
			if want := b; c.f == c.f && c.back != want {
				t.Fatalf("%s %#04x came back as %#04x", c.name, b, c.back)
			}
			if c.f != c.f && c.back != b|c.quietBit {
				t.Fatalf("%s NaN %#04x came back as %#04x", c.name, b, c.back)
			}
		}
	}
}

func TestHalfKnownValues(t *testing.T) {
	for b, want := range map[uint16]float64{
		0x0000: 0, 0x0001: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14, 0x3c00: 1, 0x3555: 0.333251953125,
		0xc000: -2, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := float64(HalfFloat32(b)); got != want {
			t.Errorf("HalfFloat32(%#04x) = %g, want %g", b, got, want)
		}
	}
	if b := HalfBits(float32(math.Copysign(0, -1))); b != 0x8000 {
		t.Errorf("HalfBits(-0) = %#04x, want 0x8000", b)
	}
}

func TestDecodeReadsAnyAlignment(t *testing.T) {
	buf := []byte{0xff, 0x80, 0x3f, 0x00, 0xc0, 0x49, 0x40, 0xff}
	got := make([]float32, 3)
	Decode(got, buf[1:])
	for i, want := range []float32{1, -2, 3.140625} {
		if got[i] != want {
			t.Errorf("element %d = %g, want %g", i, got[i], want)
		}
	}
}
