package server

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fieldfare/fieldfare/core"
)

// conversations keeps sessions, so that a follow-up computes only what is new. Each prompt goes to the session where it
// costs least; their memory stays in a budget.
type conversations struct {
	rt     *core.Runtime
	budget int64

	mu   sync.Mutex
	kept []*conversation
	busy *conversation // not in kept
	now  int           // requests so far
}

// A conversation is a session and what is worth keeping of it.
type conversation struct {
	*core.Session
	prompt int // tokens of its last prompt: what a follow-up is likely to begin with
	used   int // when
}

// mostConversations bounds how many are kept, whatever they cost.
const mostConversations = 64

// take returns the conversation for p, new or not. Its caller runs it and gives it back with put; there is one caller
// at a time, the holder of the queue's turn.
func (c *conversations) take(p *core.Prompt) (*conversation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != nil {
		panic("BUG: server: a conversation is taken while another one runs")
	}
	c.now++
	at := c.best(p)
	if (at < 0 || !c.continues(c.kept[at], p)) && c.mayGrow() {
		s, err := c.rt.NewSession()
		if err == nil {
			c.busy = &conversation{Session: s}
		} else if at < 0 {
			return nil, fmt.Errorf("start a conversation: %w", err)
		}
	}
	if c.busy == nil {
		c.busy = c.kept[at]
		c.kept = slices.Delete(c.kept, at, at+1)
	}
	c.busy.prompt, c.busy.used = len(p.Tokens), c.now
	return c.busy, nil
}

// best returns the kept conversation in which p costs least, -1 if there is none: what need not be computed counts for
// it, what it is worth without p against it. So a short side request does not end a long conversation that it has
// nothing in common with.
func (c *conversations) best(p *core.Prompt) (at int) {
	at = -1
	most := 0
	for i, v := range c.kept {
		shared := v.Shared(p).Tokens
		if n := shared - c.worth(v, shared); at < 0 || n > most {
			at, most = i, n
		}
	}
	return at
}

// worth is how many tokens are likely to be computed again when v keeps only its first shared ones: fewer the more
// requests have come since it was used.
func (c *conversations) worth(v *conversation, shared int) int {
	return v.beyond(shared) / (1 + c.now - v.used)
}

// beyond is how many tokens v holds of its last prompt, without the first shared ones.
func (v *conversation) beyond(shared int) int { return max(0, min(v.prompt, v.Tokens())-shared) }

// continues reports whether p goes on from v, or changes little of it. Two conversations that only begin alike, with
// the same instructions for instance, are kept apart as long as there is memory.
func (c *conversations) continues(v *conversation, p *core.Prompt) bool {
	shared := v.Shared(p).Tokens
	lost := v.beyond(shared)
	const tail = 16 // a prompt ends with tokens that no history has
	return shared > 0 && (lost <= tail || 8*lost <= shared)
}

// mayGrow reports whether another session fits the budget.
func (c *conversations) mayGrow() bool {
	if len(c.kept) == 0 {
		return true
	}
	smallest := c.kept[0].SizeBytes()
	for _, v := range c.kept {
		smallest = min(smallest, v.SizeBytes())
	}
	return len(c.kept) < mostConversations && c.bytes()+smallest <= c.budget
}

func (c *conversations) bytes() int64 {
	var sum int64
	for _, v := range c.kept {
		sum += v.SizeBytes()
	}
	return sum
}

// put gives back what take returned. When memory has grown beyond the budget, those that are worth least are closed.
func (c *conversations) put(v *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = nil
	c.kept = append(c.kept, v)
	for len(c.kept) > 1 && c.bytes() > c.budget {
		least := 0
		for i, v := range c.kept {
			if c.worth(v, 0) < c.worth(c.kept[least], 0) {
				least = i
			}
		}
		c.kept[least].Close()
		c.kept = slices.Delete(c.kept, least, least+1)
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
