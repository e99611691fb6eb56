package text

import "fmt"

// ParserOptions says what the model was asked.
type ParserOptions struct {
	// Tools are the functions that were declared. A call of any other is malformed.
	Tools []Tool
	// InThought says that the prompt ends inside a thought: see OpensThought.
	InThought bool
}

// A Parser reads what the model writes, one token at a time: visible text, thoughts, tool calls. It goes by the
// ids of control tokens, so that text that merely looks like one stays text. Every token shows in some event,
// except those that are pure syntax.
//
// It takes what the model gets wrong as the format's references do: a call whose end token is missing counts if
// it is complete, JSON strings and null are understood besides the format's own, and bare words are strings.
//
// A Parser serves one turn and one goroutine.
type Parser struct {
	tok      *Tokenizer
	decoder  *Decoder
	marks    map[int32]string // the control tokens that have a meaning here
	declared map[string]bool
	mode     parserMode
	label    string // modeLabel: what came so far
	newline  bool   // modeThought: a line feed is held back, for the one before the end token is syntax
	call     *callReader
	started  int // calls whose start was reported
	complete int // calls that ended well
	events   []Event
}

type parserMode uint8

const (
	modeText    parserMode = iota
	modeLabel              // behind <|channel>, before its first line ends
	modeThought            //
	modeShown              // inside a channel that is meant to be seen
	modeCall               // inside a tool call
)

// NewParser returns a Parser at the start of the model's turn. The error wraps ErrMissingToken.
func NewParser(t *Tokenizer, o ParserOptions) (*Parser, error) {
	p := &Parser{tok: t, decoder: NewDecoder(t), marks: make(map[int32]string), declared: make(map[string]bool)}
	for _, name := range []string{
		markChannel, markChannelEnd, markCall, markCallEnd, markResponse, markQuote, markTurnEnd, markEOS,
	} {
		id, ok := t.Special(name)
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrMissingToken, name)
		}
		p.marks[id] = name
	}
	for _, tool := range o.Tools {
		p.declared[tool.Name] = true
	}
	if o.InThought {
		p.mode = modeThought
	}
	return p, nil
}

// Push takes the next token, a stop token included, and returns what is certain after it. The result is valid
// until the next call.
func (p *Parser) Push(id int32) []Event {
	p.events = p.events[:0]
	mark, meaningful := p.marks[id]
	switch {
	case p.mode == modeCall && (meaningful || p.tok.IsSpecial(id)):
		p.text(p.decoder.Flush())
		p.markInCall(p.tok.Token(id))
	case meaningful:
		p.text(p.decoder.Flush())
		p.mark(mark)
	case p.tok.IsSpecial(id):
		p.stray(p.tok.Token(id))
	default:
		p.text(p.decoder.Push(id))
	}
	return p.events
}

// Close ends the turn; cut says that a limit on its length ended it. The last event is EventDone. The Parser must
// not be used afterwards.
func (p *Parser) Close(cut bool) []Event {
	p.events = p.events[:0]
	p.text(p.decoder.Flush())
	p.endChannel(false)
	if p.mode == modeCall {
		p.endCall()
	}
	finish := FinishStop
	switch {
	case cut:
		finish = FinishLength
	case p.complete > 0:
		finish = FinishToolCalls
	}
	p.emit(Event{Kind: EventDone, Finish: finish})
	return p.events
}

func (p *Parser) emit(e Event) { p.events = append(p.events, e) }

func (p *Parser) stray(name string) { p.emit(Event{Kind: EventStray, Text: name}) }

// text takes text in the current mode.
func (p *Parser) text(s string) {
	if s == "" {
		return
	}
	switch p.mode {
	case modeText, modeShown:
		p.emit(Event{Kind: EventText, Text: s})
	case modeLabel:
		p.label += s
		p.readLabel()
	case modeThought:
		p.thought(s)
	case modeCall:
		p.call.text(s)
		p.reportCall()
	}
}

// mark takes a control token outside of calls.
func (p *Parser) mark(name string) {
	switch name {
	case markChannel:
		p.endChannel(false)
		p.mode = modeLabel
	case markChannelEnd:
		if p.mode == modeText {
			p.stray(name)
		}
		p.endChannel(true)
	case markCall:
		p.endChannel(true)
		p.mode = modeCall
		p.call = newCallReader(p.declared)
	case markCallEnd, markQuote:
		p.stray(name)
	default: // the turn ends
		p.endChannel(false)
	}
}

// markInCall takes a special token inside a call. Inside a string only what ends a call or a turn is more than text.
func (p *Parser) markInCall(name string) {
	switch name {
	case markCallEnd:
		p.call.raw.WriteString(name)
		p.endCall()
		return
	case markResponse, markTurnEnd, markEOS:
		p.endCall()
		return
	case markQuote:
		p.call.quote()
		p.reportCall()
		return
	case markCall, markChannel, markChannelEnd:
		if !p.call.inString() {
			p.endCall()
			p.mark(name)
			return
		}
	}
	p.call.text(name)
	p.reportCall()
}

// reportCall reports what is new in the current call.
func (p *Parser) reportCall() {
	c := p.call
	if c.err != nil {
		return
	}
	if c.named && !c.reported {
		c.reported = true
		p.emit(Event{Kind: EventCallStart, Index: p.started, Name: c.name})
		p.started++
	}
	if n := len(c.json); n > c.sent {
		p.emit(Event{Kind: EventCallArguments, Index: p.started - 1, Text: string(c.json[c.sent:])})
		c.sent = n
	}
}

func (p *Parser) endCall() {
	c := p.call
	p.call, p.mode = nil, modeText
	index := -1
	if c.reported {
		index = p.started - 1
	}
	arguments, err := c.finish()
	if err != nil {
		p.emit(Event{Kind: EventMalformed, Index: index, Err: &CallError{Name: c.name, Raw: c.raw.String(), Err: err}})
		return
	}
	p.complete++
	call := ToolCall{Name: c.name, Arguments: arguments}
	p.emit(Event{Kind: EventCallEnd, Index: index, Text: string(c.json), Call: call})
}
