package gturbo

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestCanonicalSpelling(t *testing.T) {
	type inner struct {
		Text     string `json:"text"`
		Optional string `json:"optional,omitempty"`
	}
	one := 1
	for _, c := range []struct {
		name, want string
		value      any
	}{
		{"numbers", "[\n  30,\n  1000000,\n  0.25,\n  -3,\n  1e-06,\n  0\n]",
			[]float64{30, 1000000, 0.25, -3, 1e-6, 0}},
		{"large and odd numbers", "[\n  9007199254740991,\n  1e+300,\n  3.0000000000000004\n]",
			[]float64{1<<53 - 1, 1e300, 3.0000000000000004}},
		{"the largest unsigned integer", "18446744073709551615", uint64(math.MaxUint64)},
		{"slashes and other scripts are not escaped", `"a/b é 日本"`, "a/b é 日本"},
		{"control characters", `"\b\t\n\u000b\f\r\u0000\u001f"`, "\b\t\n\v\f\r\x00\x1f"},
		{"quotes", `"\"\\"`, `"\`},
		{"nested", "{\n  \"a\" : {\n    \"text\" : \"x\"\n  },\n  \"b\" : [\n    true\n  ]\n}",
			map[string]any{"b": []bool{true}, "a": inner{Text: "x"}}},
		{"optional members that are set", "{\n  \"optional\" : \"y\",\n  \"text\" : \"x\"\n}", inner{"x", "y"}},
		{"pointers", "{\n  \"n\" : 1\n}", struct {
			N *int `json:"n,omitempty"`
			M *int `json:"m,omitempty"`
		}{N: &one}},
		{"an empty object", "{\n\n}", map[string]int{}},
		{"an empty array inside", "{\n  \"a\" : [\n\n  ]\n}", map[string][]int{"a": {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := EncodeCanonical(c.value)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s, %v\nwant %s", got, err, c.want)
			}
			if !json.Valid(got) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestCanonicalKeyOrder(t *testing.T) {
	// Pairs as the original writer's platform orders them.
	keys := []string{
		"", "1", "2", "10", "A", "a", "a1", "a01", "a2", "ab", "expertsPerLayer", "expertStride", "layer_9.bin",
		"layer_99.bin", "layer_100.bin",
	}
	for i := range keys {
		for j := range keys {
			got := compareKeys(keys[i], keys[j])
			if sign(got) != sign(i-j) && !(keys[i] == "a01" || keys[j] == "a01") {
				t.Errorf("%q against %q: %d", keys[i], keys[j], got)
			}
		}
	}
	shuffled := []string{"a01", "a1", "A1"}
	slices.SortFunc(shuffled, compareKeys)
	if !slices.Equal(shuffled, []string{"A1", "a01", "a1"}) {
		t.Errorf("keys of equal value sort as %q", shuffled)
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestCanonicalRefusals(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := EncodeCanonical(v); !errors.Is(err, ErrArchNumber) {
			t.Errorf("%v: %v", v, err)
		}
	}
	if _, err := EncodeCanonical(map[string]int{"\xff": 1}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a key that is not UTF-8: %v", err)
	}
	for name, v := range map[string]any{
		"nil": nil, "a nil pointer": (*int)(nil), "a channel": make(chan int),
		"a field without a name": struct{ X int }{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was encoded", name)
				}
			}()
			EncodeCanonical(v)
		}()
	}
}
