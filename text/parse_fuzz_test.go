package text

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fuzzIDs reads two bytes for each id: a control token, a piece of what calls and channels are made of, or any id.
func fuzzIDs(tok *Tokenizer, data []byte) []int32 {
	classes := [4][]int32{2: tok.EncodeSpecial("thought\nfinal\n answer\ncall:f{a:1,\"b\":None}[x]🙂é")}
	for id := range int32(tok.Size()) {
		if tok.IsSpecial(id) && !strings.HasPrefix(tok.Token(id), "<unused") {
			classes[1] = append(classes[1], id)
		}
	}
	classes[3] = classes[1]
	var ids []int32
	for ; len(data) >= 2; data = data[2:] {
		n := int(binary.LittleEndian.Uint16(data))
		if class := classes[n&3]; class != nil {
			ids = append(ids, class[(n>>2)%len(class)])
		} else {
			ids = append(ids, int32((n>>2)%(tok.Size()+2))) // two of them have no token
		}
	}
	return ids
}

// fuzzData is the inverse of fuzzIDs for text.
func fuzzData(tok *Tokenizer, s string) []byte {
	var all []byte
	for n := range 1 << 16 {
		all = binary.LittleEndian.AppendUint16(all, uint16(n))
	}
	numbers := make(map[int32]uint16)
	for n, id := range fuzzIDs(tok, all) {
		numbers[id] = uint16(n)
	}
	var data []byte
	for _, id := range tok.EncodeSpecial(s) {
		data = binary.LittleEndian.AppendUint16(data, numbers[id])
	}
	return data
}

// FuzzParser: for every sequence of ids the events are in order and arguments are JSON; and with no tool
// declared, so that each call shows its raw text, they hold exactly what a reader of the whole output finds.
func FuzzParser(f *testing.F) {
	tok := chatTokenizer(f)
	for _, s := range []string{
		"<|channel>thought\nx\n<channel|>", "<|tool_call>call:f{a:1}", "🙂<|channel>漢", "<|tool_call><|\"|><|channel><turn|>",
	} {
		f.Add(fuzzData(tok, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkParser(t, tok, fuzzIDs(tok, data)) })
}

// TestParserLosesNothing is FuzzParser on drawn ids.
func TestParserLosesNothing(t *testing.T) {
	tok := chatTokenizer(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		data := make([]byte, 2*r.IntN(30))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		checkParser(t, tok, fuzzIDs(tok, data))
	}
}

func checkParser(t *testing.T, tok *Tokenizer, ids []int32) {
	t.Helper()
	parse(t, ParserOptions{Tools: testTools}, ids, false)
	got := parse(t, ParserOptions{}, ids, false)
	for i, call := range got.Calls {
		_, got.Calls[i], _ = strings.Cut(call, ": ")
	}
	slices.Sort(got.Strays)
	want := wholeOutput(tok, ids)
	if got.Text != want.Text || got.Reasoning != want.Reasoning ||
		!slices.Equal(got.Calls, want.Calls) || !slices.Equal(got.Strays, want.Strays) {
		t.Errorf("%q:\n got %q\nwant %q", tok.DecodeSpecial(ids), got, want)
	}
}

// Stand-ins for control tokens in the text that wholeOutput searches. No token of the vocabulary contains them.
const (
	symChannel    = "\U0010fff0"
	symChannelEnd = "\U0010fff1"
	symCall       = "\U0010fff2"
	symCallEnd    = "\U0010fff3"
	symEnd        = "\U0010fff4"
	symbols       = symChannel + symChannelEnd + symCall + symCallEnd + symEnd
)

var symbolOf = map[string]string{
	"<|channel>": symChannel, "<channel|>": symChannelEnd, "<|tool_call>": symCall, "<tool_call|>": symCallEnd,
	"<|tool_response>": symEnd, "<turn|>": symEnd, "<eos>": symEnd,
}

// wholeOutput reads a finished output by searching its text, with no tool declared. Strays are sorted.
func wholeOutput(tok *Tokenizer, ids []int32) parsed {
	var out parsed
	s := outputText(tok, ids, &out)
	for s != "" {
		at := strings.IndexAny(s, symbols)
		if at < 0 {
			out.Text += s
			break
		}
		out.Text += s[:at]
		symbol := s[at : at+4]
		body, rest := s[at+4:], ""
		if next := strings.IndexAny(body, symbols); next >= 0 {
			body, rest = body[:next], body[next:]
		}
		switch symbol {
		case symCall:
			raw := "<|tool_call>" + body
			if strings.HasPrefix(rest, symCallEnd) {
				raw, rest = raw+"<tool_call|>", rest[4:]
			}
			out.Calls = append(out.Calls, raw)
		case symChannel:
			readChannel(&out, body, rest)
			rest = strings.TrimPrefix(rest, symChannelEnd)
		case symChannelEnd:
			out.Strays = append(out.Strays, "<channel|>")
			rest = body + rest
		default:
			rest = body + rest
		}
		s = rest
	}
	slices.Sort(out.Strays)
	return out
}

func readChannel(out *parsed, body, rest string) {
	for label := range channelModes {
		after, labelled := strings.CutPrefix(body, label+"\n")
		if labelled && label != thoughtLabel {
			out.Text += after
			return
		}
		if labelled {
			body = after
			break
		}
		if body == label {
			return
		}
	}
	if strings.HasPrefix(rest, symChannelEnd) || strings.HasPrefix(rest, symCall) {
		body = strings.TrimSuffix(body, "\n")
	}
	out.Reasoning += body
}

// outputText returns the text of ids with a symbol for each control token that has a meaning; those that have none
// where they stand go to out.Strays.
func outputText(tok *Tokenizer, ids []int32, out *parsed) string {
	var s string
	var run []int32
	flush := func() {
		s += tok.Decode(run)
		run = nil
	}
	inCall := false
	for _, id := range ids {
		if !tok.IsSpecial(id) {
			run = append(run, id)
			continue
		}
		name := tok.Token(id)
		symbol := symbolOf[name]
		switch {
		case symbol == "" && inCall:
			flush()
			s += name
		case symbol == "" && name == `<|"|>`, symbol == symCallEnd && !inCall:
			flush()
			out.Strays = append(out.Strays, name)
		case symbol == "":
			out.Strays = append(out.Strays, name)
		default:
			flush()
			s += symbol
			inCall = symbol == symCall
		}
	}
	flush()
	return s
}

// FuzzParseToolCall: no call text makes the parser panic; a call that is accepted has arguments that render and
// parse back to themselves.
func FuzzParseToolCall(f *testing.F) {
	for _, s := range []string{
		`{}`, `{a:1,b:<|"|>x<|"|>}`, `{a:[{b:"c\n"}],d:None,e:x y}`, `{a:{b:[1,2,{c:<|"|>`, `{<|"|>a<|"|>:-1.5e3}`, "{a:\"\x00\"}", `{a:1}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tok := chatTokenizer(t)
		ids := tok.EncodeSpecial("<|tool_call>call:f" + s + "<tool_call|>")
		first := parse(t, ParserOptions{Tools: testTools}, ids, false)
		if len(first.Calls) == 0 || !strings.HasPrefix(first.Calls[0], "f {") {
			return
		}
		arguments, err := ParseValue([]byte(first.Calls[0][2:]))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := T4.Render(Conversation{Messages: []Message{{
			Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "f", Arguments: arguments}},
		}}})
		if err != nil || !plainKeys(arguments) {
			return
		}
		start := slices.IndexFunc(pieces, func(p Piece) bool { return p.Text == markCall })
		again, _, err := Encode(tok, pieces[start:], nil)
		if err != nil {
			t.Fatal(err)
		}
		second := parse(t, ParserOptions{Tools: testTools}, again, false)
		want := "f " + renderedOrder(arguments).String()
		if len(second.Calls) != 1 || second.Calls[0] != want {
			t.Errorf("%q: rendered %q, parsed %q, want %q", s, PiecesText(pieces), second.Calls, want)
		}
	})
}

// plainKeys says whether all keys survive without quotes.
func plainKeys(v Value) bool {
	for _, m := range v.Members() {
		if strings.ContainsAny(m.Key, ":{}\"<") || strings.TrimSpace(m.Key) != m.Key || !plainKeys(m.Value) {
			return false
		}
	}
	return !slices.ContainsFunc(v.Items(), func(item Value) bool { return !plainKeys(item) })
}

// renderedOrder is v as the template spells it: members sorted, numbers as Python writes them.
func renderedOrder(v Value) Value {
	switch v.Kind() {
	case KindInt, KindFloat:
		s := pythonNumber(v)
		if strings.HasSuffix(s, "inf") {
			return StringValue(s)
		}
		return numberValue(s)
	case KindList:
		items := make([]Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = renderedOrder(item)
		}
		return ListValue(items...)
	case KindObject:
		var members []Member
		for _, m := range sortedMembers(v.Members()) {
			members = append(members, Member{m.Key, renderedOrder(m.Value)})
		}
		return ObjectValue(members...)
	}
	return v
}
