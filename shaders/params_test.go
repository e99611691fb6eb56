package shaders

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write params.metal anew")

// paramTypes lists the blocks in the order of their declaration in params.metal.
var paramTypes = []any{
	Matrix{}, NormParams{}, RouterInputParams{}, TailParams{}, EmbedParams{}, AffineParams{}, GegluParams{}, ExpertParams{},
	HeadsParams{}, AttendParams{}, ChooseParams{}, PositionParams{}, TowerHeadsParams{}, PoolParams{}, DenseParams{},
	TowerAttendParams{},
}

// declarations writes the blocks as MSL.
func declarations() string {
	var b strings.Builder
	b.WriteString("// Generated from params.go: go test ./shaders -update\n")
	for _, p := range paramTypes {
		t := reflect.TypeOf(p)
		fmt.Fprintf(&b, "\nstruct %s {\n", t.Name())
		for f := range t.NumField() {
			field := t.Field(f)
			typ, array := field.Type, ""
			if typ.Kind() == reflect.Array {
				array, typ = fmt.Sprintf("[%d]", typ.Len()), typ.Elem()
			}
			fmt.Fprintf(&b, "    %s %s%s;\n", mslType(typ), snake(field.Name), array)
		}
		b.WriteString("};\n")
	}
	return b.String()
}

func mslType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Uint32:
		return "uint"
	case reflect.Float32:
		return "float"
	case reflect.Struct:
		return t.Name()
	}
	panic("BUG: shaders: a parameter of type " + t.String())
}

// snake turns a Go name into MSL's spelling: KVRows into kv_rows.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || next) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestParameterBlocksAreTheGeneratedOnes(t *testing.T) {
	want := declarations()
	if *update {
		if err := os.WriteFile("params.metal", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("params.metal")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("params.metal is not what params.go says; run go test ./shaders -update")
	}
}

func TestParameterBlocksHaveNoPadding(t *testing.T) {
	for _, p := range paramTypes {
		typ, fields := reflect.TypeOf(p), uintptr(0)
		for f := range typ.NumField() {
			fields += typ.Field(f).Type.Size()
		}
		if typ.Size() != fields || typ.Align() != 4 || typ.Size() > 4096 {
			t.Errorf("%s: %d bytes aligned to %d, its fields have %d", typ.Name(), typ.Size(), typ.Align(), fields)
		}
	}
}
