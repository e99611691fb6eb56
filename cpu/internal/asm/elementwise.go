package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp is e^x in every lane: x = n*ln2 + r, e^r = 1 + r + r^2*P(r), times 2^n through the exponent bits. P is a
// minimax fit of relative error 3.1e-9 over |r| <= ln2/2, so float32 rounding dominates: below 1.2e-7 in all. x is
// held between -87.33 and 88.37, where results are normal numbers.
type exp struct{ constant func(i int) Mem }

var expConstants = []float32{
	-87.33, 88.37, // bounds
	1.44269504088896341, // 1/ln2
	-0.693359375,        // -ln2, its first bits: n times this is exact
	2.12194440054690581e-4,
	0.001381456918886529, 0.008368731000209708, 0.04166838941837727, 0.16666520515331942, 0.49999993439946766,
	1,
}

func newExp() exp { return exp{broadcasts("exp", expConstants...)} }

// of replaces x by e^x.
func (e exp) of(x reg.VecVirtual) {
	VMAXPS(e.constant(0), x, x)
	VMINPS(e.constant(1), x, x)
	n, r := vec(), vec()
	VMULPS(e.constant(2), x, n)
	roundEven(n)
	VMOVUPS(e.constant(3), r)
	VFMADD213PS(x, n, r)
	VFMADD231PS(e.constant(4), n, r)
	p := vec()
	VMOVUPS(e.constant(5), p)
	for i := 6; i <= 9; i++ {
		VFMADD213PS(e.constant(i), r, p)
	}
	VMULPS(r, r, x)
	VFMADD213PS(r, x, p) // p = p*r^2 + r
	VADDPS(e.constant(10), p, p)
	VCVTPS2DQ(n, n)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, p, x)
}

// roundEven replaces x by the nearest integer.
func roundEven(x reg.VecVirtual) {
	if lane == 64 {
		VRNDSCALEPS(Imm(0), x, x)
		return
	}
	VROUNDPS(Imm(0), x, x)
}

// keepFrom remembers the lanes where x is at least low; what it returns clears the others of x.
func keepFrom(x reg.VecVirtual, low Mem) func() {
	if lane == 64 {
		k := K()
		VCMPPS(Imm(13), low, x, k)
		return func() { VMOVAPS_Z(x, k, x) }
	}
	k := YMM()
	VCMPPS(Imm(13), low, x, k)
	return func() { VANDPS(k, x, x) }
}

func broadcast(name string) reg.VecVirtual {
	x, y := XMM(), vec()
	Load(Param(name), x)
	VBROADCASTSS(x, y)
	return y
}

func returnFloat(x reg.VecVirtual) {
	Store(x, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func expSum() {
	kernel(prefix+"ExpSum",
		"func(p *float32, blocks int, shift float32) float32",
		fmt.Sprintf("%sExpSum replaces blocks of %d elements by exp(p-shift) and returns their sum. What is below "+
			"e^-87 becomes 0.", prefix, lane/4))
	p, blocks := ptr("p"), ptr("blocks")
	e := newExp()
	shift, sum := broadcast("shift"), zero()
	times("block", blocks, func() {
		x := vec()
		VMOVUPS(Mem{Base: p}, x)
		VSUBPS(shift, x, x)
		keep := keepFrom(x, e.constant(0))
		e.of(x)
		keep()
		VMOVUPS(x, Mem{Base: p})
		VADDPS(x, sum, sum)
		advance(p, lane)
	})
	returnFloat(laneSum(sum))
}

// geglu: gelu(t) = t / (1 + exp(-2u)), u = sqrt(2/pi)*(t + 0.044715*t^3), the tanh form rewritten.
func geglu() {
	kernel(prefix+"GEGLU",
		"func(gate, up *float32, blocks int)",
		fmt.Sprintf("%sGEGLU replaces blocks of %d gates by gelu(gate)*up.", prefix, lane/4))
	gate, up, blocks := ptr("gate"), ptr("up"), ptr("blocks")
	e := newExp()
	const root = 0.797884560802865355879892 // sqrt(2/pi)
	c := broadcasts("geglu", -2*root*0.044715, -2*root, 1)
	times("block", blocks, func() {
		t, u := vec(), vec()
		VMOVUPS(Mem{Base: gate}, t)
		VMULPS(t, t, u)
		k := vec()
		VMOVUPS(c(0), k)
		VFMADD213PS(c(1), k, u)
		VMULPS(t, u, u)
		e.of(u)
		VADDPS(c(2), u, u)
		VDIVPS(u, t, t)
		VMULPS(Mem{Base: up}, t, t)
		VMOVUPS(t, Mem{Base: gate})
		advance(gate, lane)
		advance(up, lane)
	})
	VZEROUPPER()
	RET()
}

// softcap: limit*tanh(|x|/limit) = limit*(1-e)/(1+e), e = exp(-2|x|/limit), with the sign of x.
func softcap() {
	kernel("simdSoftcap",
		"func(x *float32, blocks int, limit, factor float32)",
		"simdSoftcap replaces blocks of 8 elements by limit*tanh(x/limit); factor is -2/limit.")
	x, blocks := ptr("x"), ptr("blocks")
	e := newExp()
	sign := broadcasts("sign", float32(math.Copysign(0, -1)))(0)
	limit, factor := broadcast("limit"), broadcast("factor")
	times("block", blocks, func() {
		v, s, u := YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: x}, v)
		VANDPS(sign, v, s)
		VXORPS(s, v, u)
		VMULPS(factor, u, u)
		e.of(u)
		one, top := YMM(), YMM()
		VMOVUPS(e.constant(10), one)
		VSUBPS(u, one, top)
		VADDPS(u, one, u)
		VDIVPS(u, top, top)
		VMULPS(limit, top, top)
		VORPS(s, top, top)
		VMOVUPS(top, Mem{Base: x})
		advance(x, lane)
	})
	VZEROUPPER()
	RET()
}

func sumSquares() {
	kernel("simdSumSquares",
		"func(x *float32, blocks int) float32",
		"simdSumSquares returns the sum of the squares of blocks of 8 elements.")
	x, blocks := ptr("x"), ptr("blocks")
	sum := zero()
	times("block", blocks, func() {
		v := YMM()
		VMOVUPS(Mem{Base: x}, v)
		VFMADD231PS(v, v, sum)
		advance(x, lane)
	})
	returnFloat(sum8(sum))
}

func scaleNorm(weighted bool) {
	name, doc := "simdScale", "simdScale writes x*scale, blocks of 8."
	signature := "func(dst, x *float32, scale float32, blocks int)"
	if weighted {
		name, doc = "simdScaleNorm", "simdScaleNorm writes x*scale*w, blocks of 8; w is bfloat16."
		signature = "func(dst, x *float32, scale float32, w *byte, blocks int)"
	}
	kernel(name,
		signature,
		doc)
	dst, x, blocks := ptr("dst"), ptr("x"), ptr("blocks")
	scale := broadcast("scale")
	var w reg.Register
	if weighted {
		w = ptr("w")
	}
	times("block", blocks, func() {
		v := YMM()
		VMULPS(Mem{Base: x}, scale, v)
		if weighted {
			VMULPS(widenBF16(Mem{Base: w}), v, v)
			advance(w, 16)
		}
		VMOVUPS(v, Mem{Base: dst})
		advance(x, lane)
		advance(dst, lane)
	})
	VZEROUPPER()
	RET()
}

func combine() {
	kernel("simdCombine",
		"func(dst *float32, a, b float32, x *float32, blocks int)",
		"simdCombine writes a*dst + b*x to dst, blocks of 8.")
	dst, x, blocks := ptr("dst"), ptr("x"), ptr("blocks")
	a, b := broadcast("a"), broadcast("b")
	times("block", blocks, func() {
		v := YMM()
		VMULPS(Mem{Base: dst}, a, v)
		VFMADD231PS(Mem{Base: x}, b, v)
		VMOVUPS(v, Mem{Base: dst})
		advance(x, lane)
		advance(dst, lane)
	})
	VZEROUPPER()
	RET()
}

func half() {
	kernel("simdHalf",
		"func(dst *byte, x *float32, blocks int)",
		"simdHalf rounds blocks of 8 elements to FP16, ties to even.")
	dst, x, blocks := ptr("dst"), ptr("x"), ptr("blocks")
	times("block", blocks, func() {
		v := YMM()
		VMOVUPS(Mem{Base: x}, v)
		VCVTPS2PH(Imm(0), v, Mem{Base: dst})
		advance(x, lane)
		advance(dst, 16)
	})
	VZEROUPPER()
	RET()
}

func maximum() {
	kernel("simdMax",
		"func(x *float32, blocks int) float32",
		"simdMax returns the largest of blocks of 8 elements, at least one block.")
	x, blocks := ptr("x"), ptr("blocks")
	m := YMM()
	VMOVUPS(Mem{Base: x}, m)
	times("block", blocks, func() {
		VMAXPS(Mem{Base: x}, m, m)
		advance(x, lane)
	})
	returnFloat(max8(m))
}

// max8 leaves the largest lane of y in the first lane of the result.
func max8(y reg.VecVirtual) reg.VecVirtual {
	t := XMM()
	VEXTRACTF128(Imm(1), y, t)
	VMAXPS(y.AsX(), t, t)
	for _, imm := range []uint64{0x4e, 0xb1} {
		u := XMM()
		VPERMILPS(Imm(imm), t, u)
		VMAXPS(u, t, t)
	}
	return t
}
