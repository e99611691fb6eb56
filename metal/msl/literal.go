package msl

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// literal translates a number.  MSL has no double: an unsuffixed literal is a float.
func literal(s string, to target) string {
	l := strings.ToLower(s)
	hex := strings.HasPrefix(l, "0x")
	isFloat := !hex && strings.ContainsAny(l, ".e") || hex && strings.Contains(l, "p")
	switch {
	case !hex && strings.HasSuffix(l, "bf"):
		if to == targetCUDA {
			return fmt.Sprintf("::metal::bfloat::from_bits(0x%04x)", toBfloat(l[:len(l)-2]))
		}
		return "bfloat(" + asFloat(s[:len(s)-2]) + ")"
	case !hex && strings.HasSuffix(l, "h"):
		switch to {
		case targetCUDA:
			return fmt.Sprintf("::metal::half::from_bits(0x%04x)", toHalf(l[:len(l)-1]))
		case targetHost:
			return strings.TrimSuffix(asFloat(s[:len(s)-1]), "f") + "f16"
		}
		return strings.TrimSuffix(asFloat(s[:len(s)-1]), "f") + "h"
	case isFloat && !strings.HasSuffix(l, "f"):
		return s + "f"
	}
	return s
}

func asFloat(s string) string {
	if strings.ContainsAny(s, ".eE") {
		return s + "f"
	}
	return s + ".0f"
}

// toHalf rounds a decimal literal to the nearest half, ties to even.
func toHalf(s string) uint16 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0x7e00
	}
	return roundTo(v, 5, 10)
}

func toBfloat(s string) uint16 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0x7fc0
	}
	return roundTo(v, 8, 7)
}

// roundTo encodes v as a small IEEE float with the given exponent and mantissa widths.
func roundTo(v float64, exp, man int) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 1<<(exp+man), -v
	}
	if v == 0 {
		return sign
	}
	bias := 1<<(exp-1) - 1
	e := int(math.Floor(math.Log2(v)))
	if math.Ldexp(1, e) > v {
		e--
	}
	if e < 1-bias {
		e = 1 - bias
	}
	m, _ := big.NewFloat(math.RoundToEven(math.Ldexp(v, man-e))).Int64()
	if m >= 1<<(man+1) {
		m >>= 1
		e++
	}
	if e > bias {
		return sign | uint16(1<<exp-1)<<man
	}
	if m < 1<<man {
		return sign | uint16(m) // subnormal
	}
	return sign | uint16(e+bias)<<man | uint16(m)&(1<<man-1)
}
