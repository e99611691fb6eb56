package server

import (
	"fmt"
	"sync"

	"github.com/fieldfare/fieldfare/core"
)

// conversations keeps sessions, so that a follow-up computes only what is new. Each prompt goes to the session where it
// costs least; their memory stays in a budget.
type conversations struct {
	rt     *core.Runtime
	budget int64

	mu   sync.Mutex
	kept []*core.Session // most recently used first
	busy *core.Session   // not in kept
}

// most bounds how many conversations are kept, whatever they cost.
const mostConversations = 64

// take returns the session for p, empty or not. Its caller runs it and gives it back with put; there is one caller at
// a time, the holder of the queue's turn.
func (c *conversations) take(p *core.Prompt) (*core.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != nil {
		panic("BUG: server: a session is taken while another one runs")
	}
	at, score := c.best(p)
	if (at < 0 || score < 0) && c.mayGrow() {
		s, err := c.rt.NewSession()
		if err == nil {
			c.busy = s
			return s, nil
		}
		if at < 0 {
			return nil, fmt.Errorf("start a conversation: %w", err)
		}
	}
	c.busy = c.kept[at]
	c.kept = append(c.kept[:at:at], c.kept[at+1:]...)
	return c.busy, nil
}

// best returns the kept session with the highest score for p, -1 if there is none. The score is how many tokens need
// not be computed, less those that would have to be computed again if the session's own conversation went on; the
// longer a conversation rests, the less likely that is. So a short side request does not take the place of a long
// conversation that it has nothing in common with.
func (c *conversations) best(p *core.Prompt) (at, score int) {
	at = -1
	for i, s := range c.kept {
		shared := s.Shared(p).Tokens
		if n := shared - (s.Tokens()-shared)/(1+i); at < 0 || n >= score {
			at, score = i, n
		}
	}
	return at, score
}

// mayGrow reports whether another session fits the budget.
func (c *conversations) mayGrow() bool {
	if len(c.kept) == 0 {
		return true
	}
	return len(c.kept) < mostConversations && c.bytes()+c.kept[0].SizeBytes() <= c.budget
}

func (c *conversations) bytes() int64 {
	var sum int64
	for _, s := range c.kept {
		sum += s.SizeBytes()
	}
	return sum
}

// put gives the session that take returned back as the most recently used. Those that rested longest are closed when
// memory has grown beyond the budget.
func (c *conversations) put(s *core.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = nil
	c.kept = append([]*core.Session{s}, c.kept...)
	for len(c.kept) > 1 && c.bytes() > c.budget {
		last := len(c.kept) - 1
		c.kept[last].Close()
		c.kept = c.kept[:last]
	}
}

// reusable returns how many tokens of p need not be computed, as far as the conversations can tell that rest right now.
func (c *conversations) reusable(p *core.Prompt) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, s := range c.kept {
		most = max(most, s.Shared(p).Tokens)
	}
	return most
}

// size returns how many conversations are kept, and their memory. That of a running one is not known.
func (c *conversations) size() (n int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, bytes = len(c.kept), c.bytes()
	if c.busy != nil {
		n++
	}
	return n, bytes
}
