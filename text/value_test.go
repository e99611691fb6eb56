package text

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestValueKeepsOrderAndDigits(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , null , "x" ] } `:       `{"b":1,"a":[true,null,"x"]}`,
		`123456789012345678901234567890`:                    `123456789012345678901234567890`,
		`[1.50, -0, 1E400, 1e-7]`:                           `[1.50,-0,1E400,1e-7]`,
		`{"a":1,"b":2,"a":3}`:                               `{"a":3,"b":2}`,
		`"\u00e9\ud83d\ude42\ud800\/\b\u2028<"`:             "\"é🙂\uFFFD/\\u0008\u2028<\"",
		"\"\xff\"":                                          "\"\uFFFD\"",
		`[[],{},""]`:                                        `[[],{},""]`,
		strings.Repeat("[", 101) + strings.Repeat("]", 101): strings.Repeat("[", 101) + strings.Repeat("]", 101),
	} {
		v, err := ParseValue([]byte(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if v.String() != want {
			t.Errorf("%q: got %s, want %s", in, v, want)
		}
		if !json.Valid([]byte(v.String())) {
			t.Errorf("%q: %s is no JSON", in, v)
		}
	}
}

func TestParseValueRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "{", "[1", `{"a"`, `{"a":`, "[1,]", `{"a":1,}`, "{1:2}", "1 2", "nul", "NaN", "01", `"a`, "]",
		strings.Repeat("[", 102) + strings.Repeat("]", 102),
	} {
		if v, err := ParseValue([]byte(in)); !errors.Is(err, ErrValue) {
			t.Errorf("%.20q: got %v, %v", in, v, err)
		}
	}
}

func TestParseArguments(t *testing.T) {
	for in, want := range map[string]string{"": "{}", " \n": "{}", `{"a":1}`: `{"a":1}`, "{}": "{}"} {
		if v, err := ParseArguments(in); err != nil || v.String() != want {
			t.Errorf("%q: got %v, %v", in, v, err)
		}
	}
	for _, in := range []string{"[]", "null", `"{}"`, "{", "a"} {
		if v, err := ParseArguments(in); !errors.Is(err, ErrArguments) {
			t.Errorf("%q: got %v, %v", in, v, err)
		}
	}
}

func TestValueInsideEncodingJSON(t *testing.T) {
	var request struct{ Arguments Value }
	if err := json.Unmarshal([]byte(`{"Arguments":{"z":1,"a":[9007199254740993]}}`), &request); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(request)
	if want := `{"Arguments":{"z":1,"a":[9007199254740993]}}`; err != nil || string(again) != want {
		t.Errorf("got %s, %v", again, err)
	}
	if err := json.Unmarshal([]byte(strings.Repeat("[", 200)+strings.Repeat("]", 200)), &request.Arguments); !errors.Is(err, ErrValue) {
		t.Errorf("200 levels: %v", err)
	}
}

func TestPythonNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "-7": "-7", "0.0": "0.0", "-0.0": "-0.0", "1.0": "1.0", "2.50": "2.5", "1e21": "1e+21",
		"1e15": "1000000000000000.0", "1e16": "1e+16", "0.0001": "0.0001", "0.00001": "1e-05", "1.5E300": "1.5e+300",
		"1e400": "inf", "-1e400": "-inf", "1e-400": "0.0", "123456789.125": "123456789.125", "5e-324": "5e-324",
	} {
		if got := pythonNumber(mustValue(t, in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestStripIsPythons(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \t\n\v\f\r\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000": "",
		"\x1b x \u200b": "\x1b x \u200b", " \xff ": "\xff", "\u180ea\ufeff": "\u180ea\ufeff",
	} {
		if got := strip(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
