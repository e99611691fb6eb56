// Command asm writes the amd64 assembly of package cpu. It is a module of its own so that the generator's library is
// no dependency of the program. Run it through go generate in package cpu; the output is committed.
//
// One function generates each kernel; -set chooses whose. Registers are virtual: avo allocates them. Operands stand in Go's assembly order,
// sources before destination.
package main

import (
	"flag"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var set = flag.String("set", "avx2", "instruction set: avx2 or avx512")

func main() {
	flag.Parse()
	ConstraintExpr("amd64,!noasm")
	switch *set {
	case "avx2":
		avx2()
	case "avx512":
		prefix, lane = "avx512", 64
		avx512()
	}
	Generate()
}

func avx2() {
	gemv(4)
	gemv(8)
	unpack(4)
	unpack(8)
	for n := 1; n <= 3; n++ {
		affineTile(n)
		denseTile(n)
	}
	finish()
	packInt16()
	gemvInt16()
	unpackInt16()
	tileInt16(1)
	tileInt16(2)
	int8Kernels()
	pack4()
	widen()
	for _, half := range []bool{true, false} {
		scores(4, 3, half)
		scores(2, 4, half)
		scores(1, 4, half)
		for _, t := range [][2]int{{4, 3}, {4, 2}, {4, 1}, {2, 4}, {2, 1}, {1, 4}, {1, 1}} {
			values(t[0], t[1], half)
		}
	}
	expSum()
	geglu()
	softcap()
	sumSquares()
	scaleNorm(true)
	scaleNorm(false)
	combine()
	half()
	maximum()
	outerTile(4)
	outerTile(1)
	outerColumns()
}

// prefix begins the names of kernels that both sets have, lane is the bytes of their registers.
var (
	prefix = "simd"
	lane   = 32
)

// vec is a register of lane bytes.
func vec() reg.VecVirtual {
	if lane == 64 {
		return ZMM()
	}
	return YMM()
}

// kernel begins an assembly function. Its arguments stay where they are: none escapes.
func kernel(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(wrap(doc, 117)...)
}

// wrap breaks text into lines of at most width.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

var tables = map[string]Mem{}

// table is read-only data, size bytes per value, emitted once per name.
func table(name string, size int, values ...Constant) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range values {
		DATA(size*i, v)
	}
	tables[name] = m
	return m
}

// broadcasts is a table of constants, each in every lane.
func broadcasts(name string, values ...float32) func(i int) Mem {
	var lanes []Constant
	for _, v := range values {
		for range lane / 4 {
			lanes = append(lanes, F32(v))
		}
	}
	m := table(name, 4, lanes...)
	return func(i int) Mem { return m.Offset(lane * i) }
}

// ptr loads a pointer or integer parameter.
func ptr(name string) reg.Register { return Load(Param(name), GP64()) }

// times runs body count times: count is consumed. Nothing runs when count is zero.
func times(label string, count reg.Register, body func()) {
	TESTQ(count, count)
	JZ(LabelRef(label + "_done"))
	Label(label)
	body()
	DECQ(count)
	JNZ(LabelRef(label))
	Label(label + "_done")
}

// advance moves a pointer on by some bytes.
func advance(pointer reg.Register, bytes int) { ADDQ(U32(bytes), pointer) }

// sum8 leaves the sum of y's lanes in the first lane of the result: halves first, then pairs, then both pairs. finish
// sums in the same order.
func sum8(y reg.VecVirtual) reg.VecVirtual {
	t := XMM()
	VEXTRACTF128(Imm(1), y, t)
	VADDPS(y.AsX(), t, t)
	VHADDPS(t, t, t)
	VHADDPS(t, t, t)
	return t
}

// sum8x4 leaves the four sums in the lanes of the result.
func sum8x4(y [4]reg.VecVirtual) reg.VecVirtual {
	var t [4]reg.VecVirtual
	for i := range y {
		t[i] = XMM()
		VEXTRACTF128(Imm(1), y[i], t[i])
		VADDPS(y[i].AsX(), t[i], t[i])
	}
	VHADDPS(t[1], t[0], t[0])
	VHADDPS(t[3], t[2], t[2])
	VHADDPS(t[2], t[0], t[0])
	return t[0]
}

// laneSum leaves the sum of the lanes in the first one of the result.
func laneSum(v reg.VecVirtual) reg.VecVirtual {
	if lane == 32 {
		return sum8(v)
	}
	low, high := quarterSums([]reg.VecVirtual{v}, VADDPS)
	VADDPS(high, low, low)
	return low.AsX().(reg.VecVirtual)
}

func zero() reg.VecVirtual {
	y := vec()
	VXORPS(y, y, y)
	return y
}

// widenBF16 reads eight bfloat16.
func widenBF16(m Mem) reg.VecVirtual {
	y := YMM()
	VPMOVZXWD(m, y)
	VPSLLD(Imm(16), y, y)
	return y
}
