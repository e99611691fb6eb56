package driver

import "math"

// A Constant gives one [[function_constant(Index)]] its value.
type Constant struct {
	Index int
	Kind  ConstantKind
	// Bits is the value, zero extended.
	Bits uint64
}

// ConstantKind is the MSL type of a function constant.
type ConstantKind uint8

const (
	KindBool ConstantKind = iota
	KindInt
	KindUint
	KindUshort
	KindFloat
)

// Bool, Int, Uint, Ushort and Float make constants.
func Bool(index int, v bool) Constant {
	c := Constant{Index: index, Kind: KindBool}
	if v {
		c.Bits = 1
	}
	return c
}

func Int(index int, v int32) Constant     { return Constant{index, KindInt, uint64(uint32(v))} }
func Uint(index int, v uint32) Constant   { return Constant{index, KindUint, uint64(v)} }
func Ushort(index int, v uint16) Constant { return Constant{index, KindUshort, uint64(v)} }
func Float(index int, v float32) Constant {
	return Constant{index, KindFloat, uint64(math.Float32bits(v))}
}
