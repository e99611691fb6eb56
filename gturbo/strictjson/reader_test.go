package strictjson

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
)

// skip reads data as one value of any type.
func skip(data string) error { return Parse([]byte(data), func(r *Reader) error { return r.Skip() }) }

func TestGrammar(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{`null`, nil}, {` true `, nil}, {"\t\r\n false", nil}, {`""`, nil}, {`[]`, nil}, {`{}`, nil}, {`[ ]`, nil},
		{`{"a":[1,{"b":null}]}`, nil}, {`0`, nil}, {`-0`, nil}, {`-0.5e-10`, nil}, {`1E+9`,
			nil}, {`123456789012345678901`, nil},
		{`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, nil}, {`"é日😀"`, nil}, {`1` + strings.Repeat(" ", 1000), nil},
		{``, ErrSyntax}, {` `, ErrSyntax}, {"\ufeff1", ErrSyntax}, {`1 2`, ErrSyntax}, {`[1]]`, ErrSyntax}, {`nul`,
			ErrSyntax},
		{`True`, ErrSyntax}, {`NaN`, ErrSyntax}, {`Infinity`, ErrSyntax}, {`'a'`, ErrSyntax}, {`[1,]`, ErrSyntax},
		{`[,1]`, ErrSyntax}, {`[1 2]`, ErrSyntax}, {`[1`, ErrSyntax}, {`{"a":1,}`, ErrSyntax}, {`{"a"}`, ErrSyntax},
		{`{"a":}`, ErrSyntax}, {`{a:1}`, ErrSyntax}, {`{1:1}`, ErrSyntax}, {`{"a":1`, ErrSyntax}, {`{"a" 1}`,
			ErrSyntax},
		{`01`, ErrSyntax}, {`-`, ErrSyntax}, {`+1`, ErrSyntax}, {`.5`, ErrSyntax}, {`1.`, ErrSyntax}, {`1e`, ErrSyntax},
		{`1e+`, ErrSyntax}, {`--1`, ErrSyntax}, {`0x10`, ErrSyntax}, {`1_000`, ErrSyntax}, {`-01`, ErrSyntax},
		{`"`, ErrSyntax}, {`"\`, ErrSyntax}, {`"\x"`, ErrSyntax}, {`"\u12"`, ErrSyntax}, {`"\u12g4"`, ErrSyntax},
		{`"\u+123"`, ErrSyntax}, {`"\ud83d"`, ErrSyntax}, {`"\ude00"`, ErrSyntax}, {`"\ud83d\u0041"`, ErrSyntax},
		{`"\ud83dx"`, ErrSyntax}, {"\"\n\"", ErrSyntax}, {"\"\\t\n\"", ErrSyntax}, {"\"\xff\"",
			ErrSyntax}, {"\"\\n\xff\"", ErrSyntax},
		{"\"\xed\xa0\x80\"", ErrSyntax}, {`/**/1`, ErrSyntax}, {`1//`, ErrSyntax}, {"1\x00", ErrSyntax}, {"1\v",
			ErrSyntax},
		{strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), nil},
		{strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), ErrDepth},
		{strings.Repeat(`{"a":`, 1e6), ErrDepth}, {strings.Repeat("[", 1e6), ErrDepth},
		{strings.Repeat("[[],", 200) + "1" + strings.Repeat("]", 200), nil},
		{`{"a":1,"a":2}`, ErrDuplicate}, {`{"a":1,"\u0061":2}`, ErrDuplicate}, {`[{"b":{"x":0,"y":1,"x":2}}]`,
			ErrDuplicate},
		{`{"a":1,"A":2}`, nil}, {`[{"a":1},{"a":1}]`, nil},
	} {
		if err := skip(c.text); !errors.Is(err, c.want) {
			t.Errorf("%.40q: got %v, want %v", c.text, err, c.want)
		}
	}
}

func TestScalars(t *testing.T) {
	var text string
	var yes bool
	var n int
	var n32 int32
	var n64 int64
	var u64 uint64
	var u32 uint32
	var f float64
	readers := map[string]func(*Reader) error{
		"string":  func(r *Reader) error { return r.String(&text) },
		"bool":    func(r *Reader) error { return r.Bool(&yes) },
		"int":     func(r *Reader) error { return r.Int(&n) },
		"int32":   func(r *Reader) error { return r.Int32(&n32) },
		"int64":   func(r *Reader) error { return r.Int64(&n64) },
		"uint64":  func(r *Reader) error { return r.Uint64(&u64) },
		"uint32":  func(r *Reader) error { return r.Uint32(&u32) },
		"float":   func(r *Reader) error { return r.Float(&f) },
		"object":  func(r *Reader) error { return r.Object(Keys{}, nil) },
		"array":   func(r *Reader) error { return r.Array(func(int) error { return r.Skip() }) },
		"mapping": func(r *Reader) error { return r.Map(func(string) error { return r.Skip() }) },
	}
	values := map[string]string{
		"string": `"x"`, "bool": "true", "int": "1", "object": "{}", "array": "[]",
		"null": "null", "fraction": "1.5", "exponent": "1e2", "nothing": ",",
	}
	accepts := map[string]string{
		"string": "string", "bool": "bool",
		"int": "int", "int32": "int", "int64": "int", "uint64": "int", "uint32": "int",
		"float": "int fraction exponent", "object": "object", "array": "array", "mapping": "object",
	}
	for reader, read := range readers {
		for kind, value := range values {
			err := Parse([]byte(value), read)
			var want error
			switch {
			case strings.Contains(" "+accepts[reader]+" ", " "+kind+" "):
			case kind == "null":
				want = ErrNull
			case kind == "nothing":
				want = ErrSyntax
			default:
				want = ErrType
			}
			if !errors.Is(err, want) {
				t.Errorf("%s from %s: got %v, want %v", reader, value, err, want)
			}
		}
	}
	for _, c := range []struct {
		reader, value string
		ok            bool
	}{
		{"int64", "9223372036854775807", true}, {"int64", "9223372036854775808", false}, {"int64",
			"-9223372036854775808", true},
		{"int32", "2147483647", true}, {"int32", "2147483648", false}, {"int32", "-2147483649", false},
		{"uint64", "18446744073709551615", true}, {"uint64", "18446744073709551616", false}, {"uint64", "-1", false},
		{"uint32", "4294967295", true}, {"uint32", "4294967296", false}, {"float", "1e308", true}, {"float", "1e309",
			false},
		{"uint64", strings.Repeat("9", 1000), false},
	} {
		err := Parse([]byte(c.value), readers[c.reader])
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrRange) {
			t.Errorf("%s from %.30s: %v", c.reader, c.value, err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
	if err := Parse([]byte("1e308"), readers["float"]); err != nil || f != 1e308 {
		t.Errorf("float %v, %v", f, err)
	}
	if err := Parse([]byte(`"a\u0041\n😀\ud83d\ude00"`), readers["string"]); err != nil || text != "aA\n😀😀" {
		t.Errorf("string %q, %v", text, err)
	}
}

func TestObject(t *testing.T) {
	type pair struct {
		Need int
		Want string
	}
	read := func(text string) (p pair, err error) {
		err = Parse([]byte(text), func(r *Reader) error {
			return r.Object(Keys{Required: []string{"need"}, Optional: []string{"want"}}, func(key string) error {
				if key == "need" {
					return r.Int(&p.Need)
				}
				return r.String(&p.Want)
			})
		})
		return p, err
	}
	for _, c := range []struct {
		text string
		got  pair
		want error
	}{
		{`{"need":1}`, pair{1, ""}, nil},
		{`{"want":"x","need":2}`, pair{2, "x"}, nil},
		{`{"want":null,"need":3}`, pair{3, ""}, nil},
		{`{"other":{"need":[]},"need":4,"more":null}`, pair{4, ""}, nil},
		{`{"n\u0065ed":5}`, pair{5, ""}, nil},
		{`{}`, pair{}, ErrMissing},
		{`{"want":"x"}`, pair{}, ErrMissing},
		{`{"need":null}`, pair{}, ErrNull},
		{`{"need":1,"need":1}`, pair{}, ErrDuplicate},
		{`{"need":1,"want":null,"want":null}`, pair{}, ErrDuplicate},
		{`{"need":1,"other":1,"other":1}`, pair{}, ErrDuplicate},
		{`{"need":1,"z":1,"a":1,"z":1}`, pair{}, ErrDuplicate},
		{`[]`, pair{}, ErrType},
	} {
		got, err := read(c.text)
		if !errors.Is(err, c.want) || c.want == nil && got != c.got {
			t.Errorf("%s: got %+v, %v, want %+v, %v", c.text, got, err, c.got, c.want)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	bad := errors.New("out of order")
	read := func(text string) error {
		return Parse([]byte(text), func(r *Reader) error {
			return r.Map(func(string) error {
				return r.Array(func(int) error {
					return r.Object(Keys{Required: []string{"n"}}, func(string) error {
						var n int
						if err := r.Int(&n); err != nil {
							return err
						}
						if n > 9 {
							return bad
						}
						return nil
					})
				})
			})
		})
	}
	for text, want := range map[string]string{
		`{"a":[{"n":1},{"n":true}]}`: `a[1].n: wrong JSON type: expected an integer, found a boolean (byte 19)`,
		`{"a":[{"n":10}]}`:           `a[0].n: out of order`,
		`{"a":[{}]}`:                 `a[0]: missing key: "n" (byte 8)`,
		`{"b":[],"b":[]}`:            `duplicate key: "b" (byte 15)`,
		`{"a":[[]]}`:                 `a[0]: wrong JSON type: expected an object, found an array (byte 6)`,
		`{"a":[{"n":1}]`:             `invalid JSON: expected ',', found the end of the text (byte 14)`,
	} {
		err := read(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	if !errors.Is(read(`{"a":[{"n":10}]}`), bad) {
		t.Error("the callback's own error is lost")
	}
}

func TestRawAndPeeks(t *testing.T) {
	read := func(text string) (raw []byte, object, array bool, err error) {
		err = Parse([]byte(text), func(r *Reader) error {
			object, array = r.IsObject(), r.IsArray()
			return r.Raw(&raw)
		})
		return raw, object, array, err
	}
	for _, c := range []struct {
		text, raw     string
		object, array bool
	}{
		{` {"a" : 1} `, `{"a" : 1}`, true, false}, {` [ 1 ]`, `[ 1 ]`, false, true}, {`null`, ``, false,
			false}, {` -1e5 `, `-1e5`, false, false},
	} {
		raw, object, array, err := read(c.text)
		if err != nil || string(raw) != c.raw || object != c.object || array != c.array {
			t.Errorf("%q: %q %t %t %v", c.text, raw, object, array, err)
		}
	}
	if _, _, _, err := read(`{"a":}`); !errors.Is(err, ErrSyntax) {
		t.Errorf("broken: %v", err)
	}
}

func TestManyKeysStayCheap(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 200_000 {
		b.WriteString(`"` + strings.Repeat("k", i%7) + strconv.Itoa(i) + `":0,`)
	}
	b.WriteString(`"end":0}`)
	if err := skip(b.String()); err != nil {
		t.Fatal(err)
	}
}

// FuzzSkip holds the grammar against encoding/json, which is more lenient in three ways: it replaces what is not
// UTF-8 and lone surrogates, and it takes the last of duplicate keys.
func FuzzSkip(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,null,"x\u00e9\n"],"b":{}}`, `[[[]]]`, `"\ud83d\ude00"`, `01`, `{"a":1,"a":2}`, " 1 ",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Parse(data, func(r *Reader) error { return r.Skip() })
		valid := json.Valid(data)
		if err == nil && !valid {
			t.Fatalf("accepted %q", data)
		}
		if err == nil || !valid {
			return
		}
		lenient := errors.Is(err, ErrDuplicate) || errors.Is(err, ErrDepth) ||
			strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "escape")
		if !lenient {
			t.Fatalf("refused %q: %v", data, err)
		}
	})
}

// FuzzFloat holds numbers against encoding/json.
func FuzzFloat(f *testing.F) {
	for _, text := range []string{"0", "-0", "1e-400", "0.1", "123456789012345678901234567890", "5e-324"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want float64
		err := Parse([]byte(text), func(r *Reader) error { return r.Float(&got) })
		reference := json.Unmarshal([]byte(text), &want)
		if strings.TrimSpace(text) == "null" {
			return // encoding/json takes it for 0
		}
		if (err == nil) != (reference == nil) || err == nil && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: %v, %v; encoding/json %v, %v", text, got, err, want, reference)
		}
	})
}
