package core

// Phase is a part of a Prefill that a progress report is about.
type Phase int

const (
	PhaseEncode  Phase = iota // attachments are being encoded, in the extension's units
	PhasePrefill              // tokens of the prompt, reused ones included
)

func (p Phase) String() string { return [...]string{"encode", "prefill"}[p] }

// Progress says how far a Prefill is.
type Progress struct {
	Phase       Phase
	Done, Total int
}
