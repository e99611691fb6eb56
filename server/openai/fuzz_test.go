package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	model "github.com/fieldfare/fieldfare/text"
)

// FuzzDecodeChat holds every request to one promise: it is refused with an Error, or both templates render it.
func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{
		`{` + user + `}`,
		`{"messages":[` + callAB + `,{"role":"tool","tool_call_id":"b","content":"2"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto"}`,
		`{"messages":[{"role":"system","content":"A"},{"role":"developer","content":[]},` + asked + `],"stop":["a"],"logit_bias":{"1":2},"seed":1e3}`,
		`{"messages":[{"role":"tool","content":null},{"role":"function","name":"f","content":"x"},` + callA + `],"response_format":{"type":"text"}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeChat(data, Options{Vocab: 100})
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.Code == "" || refused.Message == "" {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		for _, template := range []model.Template{model.T3, model.T4} {
			if _, err := template.Render(c.Conversation); err != nil {
				t.Fatalf("%v cannot render it: %v", template, err)
			}
		}
	})
}

// FuzzJSON compares the reader of values with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e3,-0],"b":{"c":null,"d":[true,false]},"é":"\u00e9\n\ud83d\ude42"}`, ` [ ] `, `{ }`, `"\\\""`, `[[],{}, "]"]`, `1`, `{"a":"}","a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parse(data)
		var want any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err != nil {
			if json.Valid(data) && nesting(data) <= maxDepth {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		if d.Decode(&want) != nil {
			t.Fatal("taken, but not JSON")
		}
		if got := generic(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, want %#v", got, want)
		}
	})
}

// generic turns v into what encoding/json makes.
func generic(v value) any {
	switch v.kind() {
	case "object":
		out := map[string]any{}
		for _, m := range v.members() {
			out[m.key] = generic(m.value)
		}
		return out
	case "array":
		out := []any{}
		for _, item := range v.items() {
			out = append(out, generic(item))
		}
		return out
	case "string":
		return v.text()
	case "boolean":
		return v[0] == 't'
	case "null":
		return nil
	}
	return json.Number(v)
}
