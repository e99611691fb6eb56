package msl

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// forbidden words, with what Apple's compiler says about them.
var forbidden = map[string]string{
	"double": "MSL has no double", "goto": "MSL has no goto", "new": "MSL has no new", "delete": "MSL has no delete",
	"virtual": "MSL has no virtual functions", "try": "MSL has no exceptions", "catch": "MSL has no exceptions",
	"throw": "MSL has no exceptions", "noexcept": "MSL has no exceptions",
	"dynamic_cast": "MSL has no run-time type information", "typeid": "MSL has no run-time type information",
	"thread_local": "MSL has no thread_local", "asm": "MSL has no inline assembly", "wchar_t": "MSL has no wchar_t",
	"char16_t": "MSL has no char16_t", "char32_t": "MSL has no char32_t", "alloca": "MSL has no alloca",
	"register": "MSL has no register storage class", "co_await": "MSL has no coroutines",
	"_Float16": "clang's name, not MSL's: half", "__bf16": "clang's name, not MSL's: bfloat",
	"__fp16": "clang's name, not MSL's: half", "printf": "MSL has no printf (use os_log)",
}

// unsupported words are MSL that the emulator does not cover.
var unsupported = regexp.MustCompile(`^(texture(1d|2d|3d|cube|_buffer).*|depth(2d|cube).*|sampler|imageblock|` +
	`visible_function_table|intersection_function_table|acceleration_structure|mesh|object_data|ray_data|` +
	`convolution2d|tensor_handle|tensor_offset)$`)

// bfloatWord matches the type and its vectors, which came with MSL 3.1.
var bfloatWord = regexp.MustCompile(`^(packed_)?bfloat[234]?$|^simdgroup_bfloat8x8$`)

// tensorWord matches what came with MSL 4.0.
var tensorWord = regexp.MustCompile(`^(mpp|tensor_ops|tensor_inline|dextents|execution_simdgroups|matmul2d)$`)

// scalarTypes and friends start a declaration.
var scalarTypes = words(`void bool char uchar short ushort int uint long ulong float half bfloat size_t ptrdiff_t int8_t
	uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t signed unsigned auto atomic_int atomic_uint atomic_bool
	atomic_float atomic_ulong atomic vec simdgroup_matrix simdgroup_float8x8 simdgroup_half8x8 simdgroup_bfloat8x8`)

var reserved = words(`kernel vertex fragment device constant threadgroup thread threadgroup_imageblock ray_data
	object_data patch_control_point`)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (u *unit) isType(i int) bool {
	t := u.tok(i).text
	return u.ident(i) && (scalarTypes[t] || vectorType(t) || u.types[t] ||
		strings.HasPrefix(t, "packed_") && vectorType(t[7:]))
}

func isSpace(s string) bool {
	return s == "device" || s == "constant" || s == "threadgroup" || s == "thread"
}

// lintWords looks at single words and their neighbours.
func (u *unit) lintWords(s Source) {
	major, minor := s.version()
	hasBfloat := major > 3 || major == 3 && minor >= 1
	for i, t := range u.toks {
		switch t.kind {
		case kNumber:
			if l := strings.ToLower(t.text); strings.HasSuffix(l, "l") && strings.Contains(l, ".") {
				u.fail(t.line, t.file, "no-double", "%s: MSL has no long double", t.text)
			}
		case kIdent:
			u.lintWord(i)
			if major < 4 && tensorWord.MatchString(t.text) {
				u.fail(t.line, t.file, "version", "%s needs MSL 4.0, this is %d.%d", t.text, major, minor)
			}
			if !hasBfloat && bfloatWord.MatchString(t.text) {
				u.fail(t.line, t.file, "version", "%s needs MSL 3.1, this is %d.%d", t.text, major, minor)
			}
		}
	}
}

func (u *unit) lintWord(i int) {
	t := u.tok(i)
	if message, bad := forbidden[t.text]; bad {
		u.fail(t.line, t.file, "forbidden", "%s", message)
	}
	if t.text == "std" && u.is(i+1, "::") {
		u.fail(t.line, t.file, "forbidden", "MSL has no namespace std")
	}
	ours := strings.HasPrefix(t.text, "msl") && (u.is(i+1, "::") || strings.HasPrefix(t.text, "msl_"))
	if ours || strings.HasPrefix(t.text, "__builtin_") || strings.HasPrefix(t.text, "__attribute") {
		u.fail(t.line, t.file, "forbidden", "%s: not part of MSL", t.text)
	}
	if unsupported.MatchString(t.text) && !u.is(i-1, ".") {
		u.warn(t.line, t.file, "not-covered", "%s: not covered by the emulator", t.text)
	}
	if t.text == "operator" && u.tok(i+1).kind == kString {
		u.fail(t.line, t.file, "forbidden", "MSL has no user-defined literals")
	}
	if reserved[t.text] && i > 0 && (u.isType(i-1) || u.is(i-1, "*")) && u.isAny(i+1, ";", "=", ",", "[", ")") {
		u.fail(t.line, t.file, "reserved", "%q is a keyword of MSL", t.text)
	}
}

// lintLambdas looks for "[...](" or "[...]{" where an expression starts.
func (u *unit) lintLambdas(s Source) {
	if major, minor := s.version(); major > 3 || major == 3 && minor >= 2 {
		return
	}
	for i := 1; i < len(u.toks); i++ {
		starts := u.tok(i-1).kind == kPunct && strings.ContainsAny(u.tok(i-1).text, "=(,{;&|?:")
		if !starts || !u.is(i, "[") || u.is(i+1, "[") {
			continue
		}
		if c := u.close(i); u.isAny(c+1, "(", "{") {
			u.warn(u.tok(i).line, u.tok(i).file, "lambda", "lambda expressions need MSL 3.2 or later")
		}
	}
}
