package server

import (
	"context"
	"slices"
	"sync"
)

// A queue lets one request at a time through, in the order of their coming. How many may wait is bounded.
type queue struct {
	most int

	mu      sync.Mutex
	running *ticket
	waiting []*ticket
	closed  bool
}

// A ticket is a place in a queue.
type ticket struct {
	queue *queue
	turn  chan struct{} // closed when it is this ticket's turn, or will never be
}

// enter takes the last place. The error is ErrBusy when there is none, ErrShutdown when the queue is closed. Who has a
// ticket must leave.
func (q *queue) enter() (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &ticket{queue: q, turn: make(chan struct{})}
	switch {
	case q.closed:
		return nil, ErrShutdown
	case q.running == nil:
		q.running = t
		close(t.turn)
	case len(q.waiting) == q.most:
		return nil, ErrBusy
	default:
		q.waiting = append(q.waiting, t)
	}
	return t, nil
}

// wait returns when it is the ticket's turn, with ctx's error when that ends first, or ErrShutdown.
func (t *ticket) wait(ctx context.Context) error {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.queue.running != t {
		return ErrShutdown
	}
	return ctx.Err()
}

// leave gives the turn, or the place, to the next. Leaving again does nothing.
func (t *ticket) leave() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running != t {
		q.waiting = slices.DeleteFunc(q.waiting, func(w *ticket) bool { return w == t })
		return
	}
	q.running = nil
	if len(q.waiting) > 0 {
		q.running = q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		close(q.running.turn)
	}
}

// position is how many requests come before the ticket, 0 when it is its turn.
func (t *ticket) position() int {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return slices.Index(t.queue.waiting, t) + 1
}

// length returns how many requests are answered, 0 or 1, and how many wait.
func (q *queue) length() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running != nil {
		running = 1
	}
	return running, len(q.waiting)
}

// close sends away all who wait and all who come. The running one goes on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.waiting {
		close(t.turn)
	}
	q.waiting = nil
}
