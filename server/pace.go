package server

import (
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/core"
)

// A pace remembers how fast this machine is with this model, for estimates. Newer answers count more.
type pace struct {
	mu      sync.Mutex
	prefill float64 // seconds per token; 0 as long as nothing was measured
	decode  float64 // seconds per token
	encode  float64 // seconds per soft token
	answer  float64 // seconds per request
}

// learn takes the account of one answer; soft is how many soft tokens were encoded for it.
func (p *pace) learn(a core.Answer, soft int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mix(&p.prefill, a.Prefilled.Duration-a.Prefilled.Encode, a.Prefilled.Computed, 8)
	mix(&p.decode, a.Result.Decode, a.Result.Tokens-1, 4)
	mix(&p.encode, a.Prefilled.Encode, soft, 1)
	mix(&p.answer, took, 1, 1)
}

// mix moves mean towards the time that each of n took, unless n is too few to tell.
func mix(mean *float64, took time.Duration, n, few int) {
	if n < few || took <= 0 {
		return
	}
	each := took.Seconds() / float64(n)
	if *mean == 0 {
		*mean = each
	}
	*mean += (each - *mean) / 4
}

// prompt estimates the seconds for tokens of a prompt and soft tokens to encode; ok is false before the first answer.
func (p *pace) prompt(tokens, soft int) (seconds float64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prefill == 0 || soft > 0 && p.encode == 0 {
		return 0, false
	}
	return float64(tokens)*p.prefill + float64(soft)*p.encode, true
}

// rates returns tokens per second of prompts and answers, 0 as long as nothing was measured.
func (p *pace) rates() (prompt, answer float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prefill > 0 {
		prompt = 1 / p.prefill
	}
	if p.decode > 0 {
		answer = 1 / p.decode
	}
	return prompt, answer
}

// retryAfter estimates when a place in the queue is free.
func (s *Server) retryAfter() time.Duration {
	s.pace.mu.Lock()
	defer s.pace.mu.Unlock()
	seconds := max(1, min(s.pace.answer, 600))
	return time.Duration(seconds * float64(time.Second))
}
