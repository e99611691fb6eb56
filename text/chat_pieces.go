package text

import "strings"

// The control tokens that the chat format is made of. Their ids come from the tokenizer file.
const (
	markBOS           = "<bos>"
	markEOS           = "<eos>"
	markTurn          = "<|turn>"
	markTurnEnd       = "<turn|>"
	markThink         = "<|think|>"
	markChannel       = "<|channel>"
	markChannelEnd    = "<channel|>"
	markTool          = "<|tool>"
	markToolEnd       = "<tool|>"
	markCall          = "<|tool_call>"
	markCallEnd       = "<tool_call|>"
	markResponse      = "<|tool_response>"
	markResponseEnd   = "<tool_response|>"
	markQuote         = `<|"|>`
	markImage         = "<|image|>"
	thoughtLabel      = "thought"
	channelFirstLine  = thoughtLabel + "\n"
	roleOfModel       = "model"
	callTextPrefix    = "call:"
	resultTextPrefix  = "response:"
	declarationPrefix = "declaration:"
)

// A PieceKind says where a stretch of a rendered conversation comes from.
type PieceKind uint8

const (
	// PieceLiteral is the template's own text between control tokens.
	PieceLiteral PieceKind = iota
	// PieceUser is text from outside: content, names, keys, descriptions, results. It never becomes a control token,
	// whatever it says.
	PieceUser
	// PieceSpecial is one control token.
	PieceSpecial
	// PieceImage is the place of an image.
	PieceImage
)

// A Piece is a stretch of a rendered conversation.
type Piece struct {
	Kind PieceKind
	Text string // for PieceSpecial and PieceImage the token's name
}

// PiecesText returns the text that the Jinja template would give. It is for people and for comparison: encoding
// it would turn control tokens that somebody typed into real ones. Use Encode.
func PiecesText(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Text)
	}
	return b.String()
}

// OpensThought says whether the pieces end inside a thought, so that the model's first token already belongs to
// it: see ParserOptions.InThought.
func OpensThought(pieces []Piece) bool {
	for i := len(pieces) - 1; i >= 0; i-- {
		if pieces[i].Kind == PieceSpecial {
			return pieces[i].Text == markChannel
		}
	}
	return false
}

// pieceWriter collects pieces; neighbours of one kind are not joined, Encode does that.
type pieceWriter struct{ pieces []Piece }

func (w *pieceWriter) add(kind PieceKind, s string) {
	if s != "" {
		w.pieces = append(w.pieces, Piece{kind, s})
	}
}

func (w *pieceWriter) literal(s string) { w.add(PieceLiteral, s) }
func (w *pieceWriter) user(s string)    { w.add(PieceUser, s) }
func (w *pieceWriter) special(s string) { w.add(PieceSpecial, s) }
func (w *pieceWriter) image()           { w.add(PieceImage, markImage) }

// quoted writes s between quote tokens. There is no escaping: the quotes are tokens that s cannot contain.
func (w *pieceWriter) quoted(s string) {
	w.special(markQuote)
	w.user(s)
	w.special(markQuote)
}
