package text

import (
	"slices"
	"strings"
	"testing"
)

func mustValue(tb testing.TB, s string) Value {
	tb.Helper()
	v, err := ParseValue([]byte(s))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestNormalizeSchema(t *testing.T) {
	for _, test := range []struct {
		name, schema, want string
		notes              []string
	}{
		{"null is no parameters", `null`, `null`, nil},
		{"an empty schema is no parameters", `{}`, `null`, nil},
		{"a missing type is an object", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`, nil},
		{"true is an object", `true`, `{"type":"object"}`, nil},
		{"a number is no schema", `3`, `{"type":"object"}`, []string{"parameters: 3 is not a schema; any value is allowed"}},
		{"a tool that takes a string", `{"type":"string"}`, `{"type":"object"}`,
			[]string{"parameters: a tool takes an object, not string; shown without properties"}},
		{"annotations go without a word", `{"$schema":"x","title":"T","additionalProperties":false,"type":"object","properties":{"a":{"type":"string","title":"A","default":"x","examples":["y"]}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, nil},
		{"what can be shown stays", `{"type":"object","required":["b","a"],"properties":{"b":{"type":"string","description":"B","enum":["x","y"]},"a":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer","nullable":true}},"required":["c"]}}}}`,
			`{"properties":{"b":{"description":"B","enum":["x","y"],"type":"string"},"a":{"items":{"properties":{"c":{"nullable":true,"type":"integer"}},"required":["c"],"type":"object"},"type":"array"}},"required":["b","a"],"type":"object"}`, nil},
		{"limits are reported", `{"properties":{"a":{"type":"integer","minimum":1,"maximum":3},"b":{"type":"string","format":"date","pattern":"x"}}}`,
			`{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"type":"object"}`,
			[]string{"parameters.a: not shown to the model: minimum, maximum", "parameters.b: not shown to the model: format, pattern"}},
		{"capital types", `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`, nil},
		{"unknown types", `{"properties":{"a":{"type":"file"},"b":{"type":"any"},"c":{"type":7}}}`, `{"properties":{"a":{},"b":{},"c":{}},"type":"object"}`,
			[]string{`parameters.a: unknown type "file"; any value is allowed`}},

		{"type with null", `{"properties":{"a":{"type":["string","null"]},"b":{"type":"null"}}}`,
			`{"properties":{"a":{"nullable":true,"type":"string"},"b":{"type":"null"}},"type":"object"}`, nil},
		{"types that differ", `{"properties":{"a":{"type":["string","array"],"description":"d"}}}`, `{"properties":{"a":{"description":"d"}},"type":"object"}`,
			[]string{"parameters.a: string or array cannot be shown; any value is allowed"}},
		{"integer or number", `{"properties":{"a":{"type":["integer","number"]}}}`, `{"properties":{"a":{"type":"number"}},"type":"object"}`, nil},
		{"optional by anyOf", `{"properties":{"a":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}],"description":"d"}}}`,
			`{"properties":{"a":{"description":"d","enum":["x"],"nullable":true,"type":"string"}},"type":"object"}`, nil},
		{"constants of oneOf", `{"properties":{"a":{"oneOf":[{"const":"x"},{"const":"y"}]}}}`,
			`{"properties":{"a":{"enum":["x","y"],"type":"string"}},"type":"object"}`, nil},
		{"anyOf of text and list", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}}`,
			`{"properties":{"a":{}},"type":"object"}`, []string{"parameters.a: string or array cannot be shown; any value is allowed"}},
		{"anyOf of objects", `{"properties":{"a":{"anyOf":[{"type":"object","properties":{"k":{"const":"x"},"p":{"type":"integer"}},"required":["k","p"]},{"type":"object","properties":{"k":{"const":"y"},"q":{"type":"integer"}},"required":["k"]}]}}}`,
			`{"properties":{"a":{"properties":{"k":{"enum":["x","y"],"type":"string"},"p":{"type":"integer"},"q":{"type":"integer"}},"required":["k"],"type":"object"}},"type":"object"}`,
			[]string{"parameters.a: variants of an object are shown as one with the properties of all"}},
		{"anyOf of required sets", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`,
			[]string{"parameters: variants of an object are shown as one with the properties of all"}},
		{"allOf", `{"properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"number"}}},{"properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["y"]}]}}}`,
			`{"properties":{"a":{"properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["y"],"type":"object"}},"type":"object"}`, nil},
		{"allOf that contradicts itself", `{"properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`,
			[]string{"parameters.a: it cannot be string and integer at once; shown as string"}},
		{"enums that are combined", `{"properties":{"a":{"type":"string","enum":["x","y"],"allOf":[{"enum":["y","z"]}]},"b":{"type":"string","enum":["x"],"allOf":[{"enum":["z"]}]},"c":{"anyOf":[{"enum":["x"]},{"type":"string"}]}}}`,
			`{"properties":{"a":{"enum":["y"],"type":"string"},"b":{"enum":["x"],"type":"string"},"c":{"type":"string"}},"type":"object"}`, nil},
		{"arrays that are combined", `{"properties":{"a":{"type":"array","allOf":[{"items":{"type":"number"}},{"items":{"type":"integer"}}]},"b":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"type":"number"}}]},"c":{"anyOf":[{"type":"array"},{"items":{"type":"string"}}]},"d":{"anyOf":[{"type":"null"}]}}}`,
			`{"properties":{"a":{"items":{"type":"integer"},"type":"array"},"b":{"items":{"type":"number"},"type":"array"},"c":{"type":"array"},"d":{"type":"null"}},"type":"object"}`, nil},
		{"enum without a type", `{"properties":{"a":{"enum":["x",null]},"b":{"enum":[1,2]},"c":{"enum":["x",1]}}}`,
			`{"properties":{"a":{"enum":["x"],"nullable":true,"type":"string"},"b":{"type":"integer"},"c":{}},"type":"object"}`,
			[]string{"parameters.b: not shown to the model: the 2 values that integer may have",
				"parameters.c: not shown to the model: the 2 values that integer may have",
				"parameters.c: string or integer cannot be shown; any value is allowed"}},
		{"types told by other keywords", `{"properties":{"a":{"items":{"type":"string"}},"b":{"properties":{}},"c":{"additionalProperties":{"type":"string"}}}}`,
			`{"properties":{"a":{"items":{"type":"string"},"type":"array"},"b":{"properties":{},"type":"object"},"c":{"properties":{},"type":"object"}},"type":"object"}`,
			[]string{"parameters.c: not shown to the model: additionalProperties"}},
		{"tuples", `{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"},{"type":"number"}],"items":false}}}`,
			`{"properties":{"a":{"items":{"type":"number"},"type":"array"}},"type":"object"}`,
			[]string{"parameters.a: the elements' order of types cannot be shown"}},

		{"references", `{"$defs":{"City":{"type":"string","description":"a city"}},"properties":{"a":{"$ref":"#/$defs/City"},"b":{"$ref":"#/$defs/City","description":"mine"},"c":{"type":"array","items":{"$ref":"#/$defs/City"}}}}`,
			`{"properties":{"a":{"description":"a city","type":"string"},"b":{"description":"mine","type":"string"},"c":{"items":{"description":"a city","type":"string"},"type":"array"}},"type":"object"}`, nil},
		{"escapes in references", `{"definitions":{"a/b~c d":{"type":"integer"}},"properties":{"x":{"$ref":"#/definitions/a~1b~0c%20d"},"y":{"$ref":"#/properties/z/anyOf/1"},"z":{"anyOf":[{"type":"null"},{"type":"boolean"}]}}}`,
			`{"properties":{"x":{"type":"integer"},"y":{"type":"boolean"},"z":{"nullable":true,"type":"boolean"}},"type":"object"}`, nil},
		{"the whole schema by reference", `{"$ref":"#/$defs/P","$defs":{"P":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, nil},
		{"recursion is cut", `{"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}}}`,
			`{"properties":{"n":{"properties":{"next":{"properties":{},"type":"object"}},"type":"object"}},"type":"object"}`,
			[]string{`parameters.n.next: reference "#/$defs/N" leads back to itself and is cut`}},
		{"references that lead nowhere", `{"properties":{"a":{"$ref":"#/$defs/X"},"b":{"$ref":"http://x/y"},"c":{"$ref":5},"d":{"$ref":"#x"},"e":{"$ref":"#/properties/list/9"},"list":[]}}`,
			`{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"list":{}},"type":"object"}`,
			[]string{`parameters.a: reference "#/$defs/X" leads nowhere; any value is allowed`, `parameters.b: reference "http://x/y" leads nowhere; any value is allowed`,
				`parameters.c: reference 5 leads nowhere; any value is allowed`, `parameters.d: reference "#x" leads nowhere; any value is allowed`,
				`parameters.e: reference "#/properties/list/9" leads nowhere; any value is allowed`, `parameters.list: [] is not a schema; any value is allowed`}},
		{"odd keywords", `{"type":"object","properties":[],"required":[1,"a","a"],"description":3}`, `{"required":["a"],"type":"object"}`,
			[]string{"parameters: properties are not an object"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, notes := NormalizeSchema(mustValue(t, test.schema))
			if got.String() != test.want {
				t.Errorf("normal form:\n got %v\nwant %s", got, test.want)
			}
			if !slices.Equal(notes, test.notes) {
				t.Errorf("notes:\n got %q\nwant %q", notes, test.notes)
			}
			checkNormal(t, got)
		})
	}
}

// TestNormalizeSchemaBoundsItsWork: references that double at every level would give 2^60 schemas.
func TestNormalizeSchemaBoundsItsWork(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$defs":{"d0":{"type":"string"}`)
	for i := 1; i < 25; i++ {
		ref := `{"$ref":"#/$defs/d` + string(rune('a'+i-2)) + `"}`
		if i == 1 {
			ref = `{"$ref":"#/$defs/d0"}`
		}
		b.WriteString(`,"d` + string(rune('a'+i-1)) + `":{"type":"object","properties":{"x":` + ref + `,"y":` + ref + `}}`)
	}
	b.WriteString(`},"properties":{"p":{"$ref":"#/$defs/dx"}}}`)
	got, notes := NormalizeSchema(mustValue(t, b.String()))
	if len(notes) != maxSchemaNotes+1 || !strings.Contains(notes[0], "too large") {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
	if size := len(got.String()); size > 64*maxSchemaNodes {
		t.Errorf("%d bytes", size)
	}
	checkNormal(t, got)
}

// checkNormal: the normal form stays as it is, and every declaration of it has balanced braces.
func checkNormal(t *testing.T, normal Value) {
	t.Helper()
	if again, _ := NormalizeSchema(normal); again.String() != normal.String() {
		t.Errorf("normalized again:\n got %v\nfrom %v", again, normal)
	}
	for _, template := range []Template{T3, T4} {
		pieces, err := template.Render(Conversation{
			Messages: []Message{{Role: RoleUser}}, Tools: []Tool{{Name: "f", Parameters: normal}},
		})
		if err != nil {
			t.Fatal(err)
		}
		depth := 0
		for _, p := range pieces {
			if p.Kind == PieceLiteral {
				depth += strings.Count(p.Text, "{") - strings.Count(p.Text, "}")
			}
			if p.Kind == PieceSpecial && p.Text == markToolEnd && depth != 0 {
				t.Errorf("%v: unbalanced by %d: %s", template, depth, PiecesText(pieces))
			}
		}
	}
}

// FuzzNormalizeSchema: every JSON value has a normal form.
func FuzzNormalizeSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":["object","null"],"properties":{"a":{"$ref":"#"},"b":{"anyOf":[{"const":1},{"enum":["x"]},true]}},"required":[1]}`,
		`{"allOf":[{"$ref":"#/allOf/1"},{"items":[{"type":"string"},{"type":"array","items":{"nullable":true}}]}]}`,
		`[1,{"type":{}}]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseValue([]byte(s))
		if err != nil {
			return
		}
		normal, _ := NormalizeSchema(v)
		checkNormal(t, normal)
	})
}
