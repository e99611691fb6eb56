package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parsed is what the events of one turn say, joined.
type parsed struct {
	Text, Reasoning string
	Calls           []string // NAME JSON, or "malformed: RAW" with the kind of error
	Strays          []string
	Finish          Finish
}

var testTools = []Tool{{Name: "f"}, {Name: "get_weather"}, {Name: "a.b:c-d"}}

// parse runs ids through a Parser and checks what holds for every sequence of events.
func parse(tb testing.TB, o ParserOptions, ids []int32, cut bool) parsed {
	tb.Helper()
	p, err := NewParser(chatTokenizer(tb), o)
	if err != nil {
		tb.Fatal(err)
	}
	var c collector
	for _, id := range ids {
		c.add(tb, p.Push(id))
	}
	if c.out.Finish != "" {
		tb.Error("EventDone before Close")
	}
	c.add(tb, p.Close(cut))
	if c.out.Finish == "" || c.open {
		tb.Errorf("turn is not complete: finish %q, open call %v", c.out.Finish, c.open)
	}
	return c.out
}

type collector struct {
	out       parsed
	open      bool // a call was started and has not ended
	started   int
	name      string
	arguments string
}

func (c *collector) add(tb testing.TB, events []Event) {
	tb.Helper()
	for _, e := range events {
		if c.out.Finish != "" {
			tb.Errorf("event %+v after EventDone", e)
		}
		if c.open && !slices.Contains([]EventKind{EventCallArguments, EventCallEnd, EventMalformed}, e.Kind) {
			tb.Errorf("event %+v inside a call", e)
		}
		switch e.Kind {
		case EventText:
			c.out.Text += e.Text
		case EventReasoning:
			c.out.Reasoning += e.Text
		case EventStray:
			c.out.Strays = append(c.out.Strays, e.Text)
		case EventDone:
			c.out.Finish = e.Finish
		default:
			c.call(tb, e)
		}
		if e.Text == "" && e.Kind < EventMalformed && e.Kind != EventCallStart {
			tb.Errorf("event without text: %+v", e)
		}
	}
}

func (c *collector) call(tb testing.TB, e Event) {
	switch e.Kind {
	case EventCallStart:
		if e.Index != c.started {
			tb.Errorf("call %d starts with index %d", c.started, e.Index)
		}
		c.started++
		c.open, c.name, c.arguments = true, e.Name, ""
	case EventCallArguments:
		c.arguments += e.Text
		if !c.open || e.Index != c.started-1 {
			tb.Errorf("arguments outside of their call: %+v", e)
		}
	case EventCallEnd:
		if !c.open || e.Index != c.started-1 || e.Text != c.arguments || e.Call.Name != c.name || !json.Valid([]byte(e.Text)) {
			tb.Errorf("call of %s with the arguments %q ends as %+v", c.name, c.arguments, e)
		}
		if again, err := ParseValue([]byte(e.Text)); err != nil || again.String() != e.Call.Arguments.String() {
			tb.Errorf("arguments %v, JSON %q", e.Call.Arguments, e.Text)
		}
		c.open = false
		c.out.Calls = append(c.out.Calls, e.Call.Name+" "+e.Text)
	case EventMalformed:
		if want := c.started - 1; c.open && e.Index != want || !c.open && e.Index != -1 {
			tb.Errorf("malformed call has index %d", e.Index)
		}
		c.open = false
		kind := "?"
		for _, err := range []error{ErrCallSyntax, ErrCallUnfinished, ErrUnknownTool} {
			if errors.Is(e.Err, err) {
				kind = err.Error()
			}
		}
		c.out.Calls = append(c.out.Calls, kind+": "+e.Err.Raw)
	}
}

func TestParser(t *testing.T) {
	const call = "<|tool_call>call:"
	for _, test := range []struct {
		name   string
		output string
		want   parsed
	}{
		{"nothing", "", parsed{}},
		{"plain text", "Hello  world.\n<turn|>", parsed{Text: "Hello  world.\n"}},
		{"end of sequence", "Hi<eos>", parsed{Text: "Hi"}},
		{"bytes that are no token", "Grüße 🙂 漢<turn|>", parsed{Text: "Grüße 🙂 漢"}},
		{"thought and answer", "<|channel>thought\na\n b\n<channel|>c<turn|>", parsed{Reasoning: "a\n b", Text: "c"}},
		{"empty thought", "<|channel>thought\n<channel|>c", parsed{Text: "c"}},
		{"thought of blank lines", "<|channel>thought\n\n\n<channel|>c", parsed{Reasoning: "\n", Text: "c"}},
		{"label alone", "<|channel>thought<channel|>c", parsed{Text: "c"}},
		{"thought that does not end", "<|channel>thought\nabc\n", parsed{Reasoning: "abc\n"}},
		{"thought ended by the turn", "<|channel>thought\nabc\n<turn|>", parsed{Reasoning: "abc\n"}},
		{"label cut short", "<|channel>thou", parsed{Reasoning: "thou"}},
		{"thought without a label", "<|channel>I wonder\n<channel|>c", parsed{Reasoning: "I wonder", Text: "c"}},
		{"channel of another name is hidden", "<|channel>plan\nx<channel|>c", parsed{Reasoning: "plan\nx", Text: "c"}},
		{"final channel is shown", "<|channel>final\nx\n<channel|>c", parsed{Text: "x\nc"}},
		{"answer channel is shown", "<|channel>answer\nx", parsed{Text: "x"}},
		{"two thoughts", "<|channel>thought\na\n<channel|>b<|channel>thought\nc\n<channel|>d", parsed{Reasoning: "ac", Text: "bd"}},
		{"thought begins inside a thought", "<|channel>thought\na\n<|channel>thought\nb<channel|>c", parsed{Reasoning: "a\nb", Text: "c"}},
		{"stray markers", "a<channel|>b<tool_call|>c<|\"|>d<|image|>e<mask>", parsed{Text: "abcde",
			Strays: []string{"<channel|>", "<tool_call|>", "<|\"|>", "<|image|>", "<mask>"}}},
		{"response token ends", call + "f{}<tool_call|><|tool_response>", parsed{Calls: []string{"f {}"}}},

		{"one call", "a" + call + `get_weather{city:<|"|>São "P"<|"|>,days:3}<tool_call|><|tool_response>`,
			parsed{Text: "a", Calls: []string{`get_weather {"city":"São \"P\"","days":3}`}}},
		{"two calls", call + "f{a:1}<tool_call|>" + call + "f{b:2}<tool_call|><turn|>",
			parsed{Calls: []string{`f {"a":1}`, `f {"b":2}`}}},
		{"thought, then a call", "<|channel>thought\na\n<channel|>" + call + "f{}<tool_call|>", parsed{Reasoning: "a", Calls: []string{"f {}"}}},
		{"call inside a thought ends it", "<|channel>thought\na\n" + call + "f{}<tool_call|>b",
			parsed{Reasoning: "a", Calls: []string{"f {}"}, Text: "b"}},
		{"odd name", call + "a.b:c-d{}<tool_call|>", parsed{Calls: []string{"a.b:c-d {}"}}},
		{"blanks everywhere", "<|tool_call> call: f { a : 1 , b : [ 1 , 2 ] , c : { } , d : [ ] } <tool_call|>",
			parsed{Calls: []string{`f {"a":1,"b":[1,2],"c":{},"d":[]}`}}},
		{"values", call + `f{a:true,b:false,c:null,d:None,e:-1.5e+10,f:123456789012345678901234567890,g:[<|"|><|"|>,[{x:1}]],h:{i:{}}}<tool_call|>`,
			parsed{Calls: []string{`f {"a":true,"b":false,"c":null,"d":null,"e":-1.5e+10,"f":123456789012345678901234567890,"g":["",[{"x":1}]],"h":{"i":{}}}`}}},
		{"bare words are strings", call + `f{a:hello world,b:01,c:1.2.3,d:True,e:-,f:[x,y z]}<tool_call|>`,
			parsed{Calls: []string{`f {"a":"hello world","b":"01","c":"1.2.3","d":"True","e":"-","f":["x","y z"]}`}}},
		{"JSON strings", call + `f{a:"x\n\u00e9\"",b:["}"],"c d":"e:f"}<tool_call|>`,
			parsed{Calls: []string{`f {"a":"x\né\"","b":["}"],"c d":"e:f"}`}}},
		{"JSON string with a bad escape stays as it is", call + `f{a:"\d+"}<tool_call|>`, parsed{Calls: []string{`f {"a":"\\d+"}`}}},
		{"JSON string with a line feed", call + "f{a:\"x\ny\"}<tool_call|>", parsed{Calls: []string{`f {"a":"x\ny"}`}}},
		{"quoted keys", call + `f{<|"|>a:b<|"|>:1,<|"|>c<|"|>:2}<tool_call|>`, parsed{Calls: []string{`f {"a:b":1,"c":2}`}}},
		{"odd keys", call + `f{a b:1,x.y$:2,ü:3,:4}<tool_call|>`, parsed{Calls: []string{`f {"a b":1,"x.y$":2,"ü":3,"":4}`}}},
		{"syntax inside strings", call + `f{a:<|"|>}]{,:"\<|"|>}<tool_call|>`, parsed{Calls: []string{`f {"a":"}]{,:\"\\"}`}}},
		{"control characters in strings", call + "f{a:<|\"|>x\n\t\x01<|\"|>}<tool_call|>", parsed{Calls: []string{`f {"a":"x\n\t\u0001"}`}}},
		{"control tokens in strings are text", call + `f{a:<|"|>x<|turn>y<|channel>z<|tool_call><image|><|"|>}<tool_call|>`,
			parsed{Calls: []string{`f {"a":"x<|turn>y<|channel>z<|tool_call><image|>"}`}}},
		{"repeated keys stay in the JSON text", call + `f{a:1,a:2}<tool_call|>`, parsed{Calls: []string{`f {"a":1,"a":2}`}}},
		{"no end token", call + "f{a:1}", parsed{Calls: []string{`f {"a":1}`}}},
		{"no end token before the next call", call + "f{a:1}" + call + "f{b:1}<tool_call|>", parsed{Calls: []string{`f {"a":1}`, `f {"b":1}`}}},
		{"no end token before the turn ends", call + "f{}<turn|>", parsed{Calls: []string{"f {}"}}},
		{"no end token before a thought", call + "f{}<|channel>thought\nx\n<channel|>y", parsed{Calls: []string{"f {}"}, Reasoning: "x", Text: "y"}},
		{"text between calls", call + "f{}<tool_call|>\nand\n" + call + "f{}<tool_call|>", parsed{Text: "\nand\n", Calls: []string{"f {}", "f {}"}}},

		{"unknown tool", "a" + call + `rm{a:<|"|>b<|"|>}<tool_call|>c`, parsed{Text: "ac",
			Calls: []string{ErrUnknownTool.Error() + `: <|tool_call>call:rm{a:<|"|>b<|"|>}<tool_call|>`}}},
		{"no call prefix", "<|tool_call>f{}<tool_call|>", parsed{Calls: []string{ErrCallSyntax.Error() + ": <|tool_call>f{}<tool_call|>"}}},
		{"no arguments", call + "f<tool_call|>", parsed{Calls: []string{ErrCallUnfinished.Error() + ": <|tool_call>call:f<tool_call|>"}}},
		{"empty call", "<|tool_call><tool_call|>", parsed{Calls: []string{ErrCallUnfinished.Error() + ": <|tool_call><tool_call|>"}}},
		{"string cut short", call + `f{a:<|"|>b`, parsed{Calls: []string{ErrCallUnfinished.Error() + `: <|tool_call>call:f{a:<|"|>b`}}},
		{"end token inside a string", call + `f{a:<|"|>b}<tool_call|>c`, parsed{Text: "c", Calls: []string{ErrCallUnfinished.Error() + `: <|tool_call>call:f{a:<|"|>b}<tool_call|>`}}},
		{"one brace too many", call + "f{a:1}}<tool_call|>", parsed{Calls: []string{ErrCallSyntax.Error() + ": <|tool_call>call:f{a:1}}<tool_call|>"}}},
		{"missing value", call + "f{a:,b:1}<tool_call|>", parsed{Calls: []string{ErrCallSyntax.Error() + ": <|tool_call>call:f{a:,b:1}<tool_call|>"}}},
		{"trailing comma", call + "f{a:1,}<tool_call|>", parsed{Calls: []string{ErrCallSyntax.Error() + ": <|tool_call>call:f{a:1,}<tool_call|>"}}},
		{"quote token inside a word", call + `f{a:b<|"|>c<|"|>}<tool_call|>`, parsed{Calls: []string{ErrCallSyntax.Error() + `: <|tool_call>call:f{a:b<|"|>c<|"|>}<tool_call|>`}}},
		{"text behind a string", call + `f{a:"b" c}<tool_call|>`, parsed{Calls: []string{ErrCallSyntax.Error() + `: <|tool_call>call:f{a:"b" c}<tool_call|>`}}},
		{"text behind a key", call + `f{"a" b:1}<tool_call|>`, parsed{Calls: []string{ErrCallSyntax.Error() + `: <|tool_call>call:f{"a" b:1}<tool_call|>`}}},
		{"malformed, then a good one", call + "f{a}<tool_call|>" + call + "f{}<tool_call|>",
			parsed{Calls: []string{ErrCallUnfinished.Error() + ": <|tool_call>call:f{a}<tool_call|>", "f {}"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ids := chatTokenizer(t).EncodeSpecial(test.output)
			got := parse(t, ParserOptions{Tools: testTools}, ids, false)
			got.Finish = ""
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
				t.Errorf("%q:\n got %q\nwant %q", test.output, got, test.want)
			}
		})
	}
}

func TestParserInThought(t *testing.T) {
	ids := chatTokenizer(t).EncodeSpecial("why\n<channel|>because")
	got := parse(t, ParserOptions{InThought: true}, ids, false)
	if got.Reasoning != "why" || got.Text != "because" {
		t.Errorf("parsed %+v", got)
	}
}

func TestParserFinishReasons(t *testing.T) {
	for _, test := range []struct {
		output string
		cut    bool
		want   Finish
	}{
		{"Hi<turn|>", false, FinishStop},
		{"Hi", true, FinishLength},
		{"<|tool_call>call:f{}<tool_call|><|tool_response>", false, FinishToolCalls},
		{"<|tool_call>call:f{}<tool_call|><turn|>", false, FinishToolCalls},
		{"<|tool_call>call:f{", true, FinishLength},
		{"<|tool_call>call:g{}<tool_call|><|tool_response>", false, FinishStop},
	} {
		ids := chatTokenizer(t).EncodeSpecial(test.output)
		if got := parse(t, ParserOptions{Tools: testTools}, ids, test.cut); got.Finish != test.want {
			t.Errorf("%q, cut %v: %q, want %q", test.output, test.cut, got.Finish, test.want)
		}
	}
}

func TestCallErrorSaysWhatAndWhy(t *testing.T) {
	p, err := NewParser(chatTokenizer(t), ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range chatTokenizer(t).EncodeSpecial("<|tool_call>call:rm{}") {
		p.Push(id)
	}
	events := p.Close(false)
	if len(events) != 2 || events[0].Err == nil {
		t.Fatalf("events %+v", events)
	}
	want := `tool call "<|tool_call>call:rm{}": tool is not declared: "rm"`
	if got := events[0].Err; got.Error() != want || got.Name != "rm" {
		t.Errorf("got %q of %q, want %q", got, got.Name, want)
	}
}

// TestParserNeedsTheMarkers: a vocabulary without them is not one of this model.
func TestParserNeedsTheMarkers(t *testing.T) {
	if p, err := NewParser(&Tokenizer{}, ParserOptions{}); !errors.Is(err, ErrMissingToken) {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestParserStreamsArguments: the arguments do not wait for the call to end.
func TestParserStreamsArguments(t *testing.T) {
	tok := chatTokenizer(t)
	p, err := NewParser(tok, ParserOptions{Tools: testTools})
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	for _, id := range tok.EncodeSpecial(`<|tool_call>call:f{text:<|"|>one two three`) {
		for _, e := range p.Push(id) {
			if e.Kind == EventCallArguments {
				sent += e.Text
			}
		}
	}
	if want := `{"text":"one two three`; sent != want {
		t.Errorf("sent %q before the end, want %q", sent, want)
	}
}

func TestParserBoundsDepth(t *testing.T) {
	for depth, want := range map[int]string{
		maxDepth:     "f {\"a\":" + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + "}",
		maxDepth + 1: ErrCallSyntax.Error(),
	} {
		output := "<|tool_call>call:f{a:" + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}<tool_call|>"
		got := parse(t, ParserOptions{Tools: testTools}, chatTokenizer(t).EncodeSpecial(output), false)
		if len(got.Calls) != 1 || !strings.HasPrefix(got.Calls[0], want) {
			t.Errorf("depth %d: %.80q", depth, got.Calls)
		}
	}
}

// TestRenderedCallsParseBack: arguments survive the way to the model's syntax and back, in both templates.
func TestRenderedCallsParseBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		want := ObjectValue(Member{"v", randomValue(r, 0)}, Member{"w", randomValue(r, 0)})
		for _, template := range []Template{T3, T4} {
			pieces, err := template.Render(Conversation{Messages: []Message{{
				Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "f", Arguments: want}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			start := slices.IndexFunc(pieces, func(p Piece) bool { return p.Text == markCall })
			ids, _, err := Encode(chatTokenizer(t), pieces[start:], nil)
			if err != nil {
				t.Fatal(err)
			}
			got := parse(t, ParserOptions{Tools: testTools}, ids, false)
			if len(got.Calls) != 1 || got.Calls[0] != "f "+want.String() {
				t.Fatalf("%v: %q, want %v", template, got.Calls, want)
			}
		}
	}
}

func randomValue(r *rand.Rand, depth int) Value {
	kinds := 7
	if depth > 3 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return Value{}
	case 1:
		return BoolValue(r.IntN(2) == 0)
	case 2:
		return numberValue(fmt.Sprint(r.IntN(2000) - 1000))
	case 3:
		f := r.NormFloat64() * math.Pow10(r.IntN(40)-20)
		return numberValue(pythonNumber(Value{kind: KindFloat, text: strconv.FormatFloat(f, 'g', -1, 64)}))
	case 4:
		return StringValue(randomText(r))
	case 5:
		items := make([]Value, r.IntN(4))
		for i := range items {
			items[i] = randomValue(r, depth+1)
		}
		return ListValue(items...)
	}
	var members []Member
	for i := range r.IntN(4) { // in the order in which they are written
		members = append(members, Member{fmt.Sprintf("k%d%s", i, strings.Repeat("ü", r.IntN(2))), randomValue(r, depth+1)})
	}
	return ObjectValue(members...)
}

func randomText(r *rand.Rand) string {
	words := []string{"a", " ", "\n", `"`, `\`, "{", "}", "[", "]", ",", ":", "ü", "🙂", "漢", "<|\"|>", "<tool_call|>", "None", "1"}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}
