package text

import "strings"

// channelModes holds the labels of channels that are known. What other channels hold is reasoning, label included.
var channelModes = map[string]parserMode{thoughtLabel: modeThought, "final": modeShown, "answer": modeShown}

// readLabel leaves modeLabel once it is certain whether the channel has a label that is known.
func (p *Parser) readLabel() {
	for label, mode := range channelModes {
		line := label + "\n"
		if rest, found := strings.CutPrefix(p.label, line); found {
			p.label, p.mode = "", mode
			p.text(rest)
			return
		}
		if strings.HasPrefix(line, p.label) {
			return
		}
	}
	s := p.label
	p.label, p.mode = "", modeThought
	p.text(s)
}

func (p *Parser) thought(s string) {
	if p.newline {
		s = "\n" + s
	}
	if p.newline = strings.HasSuffix(s, "\n"); p.newline {
		s = s[:len(s)-1]
	}
	if s != "" {
		p.emit(Event{Kind: EventReasoning, Text: s})
	}
}

// endChannel goes back to visible text from inside a channel; marked says that the channel's own end token does
// it, which takes the line feed before it along.
func (p *Parser) endChannel(marked bool) {
	if p.mode == modeLabel {
		if _, known := channelModes[p.label]; !known {
			p.mode = modeThought
			p.text(p.label)
		}
		p.label = ""
	}
	if p.newline && !marked {
		p.emit(Event{Kind: EventReasoning, Text: "\n"})
	}
	p.newline = false
	if p.mode != modeCall {
		p.mode = modeText
	}
}
