package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestQueueKeepsTheOrder(t *testing.T) {
	q := queue{most: 3}
	var tickets []*ticket
	for range 4 {
		k, err := q.enter()
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, k)
	}
	if _, err := q.enter(); !errors.Is(err, ErrBusy) {
		t.Errorf("a fifth enters: %v", err)
	}
	for i, k := range tickets {
		if got := k.position(); got != i {
			t.Errorf("ticket %d is at %d", i, got)
		}
	}
	tickets[1].leave() // gives up waiting
	tickets[1].leave()
	tickets[0].leave()
	if err := tickets[2].wait(t.Context()); err != nil || tickets[2].position() != 0 || tickets[3].position() != 1 {
		t.Errorf("the third does not follow: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tickets[3].wait(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a client that is gone: %v", err)
	}
	q.close()
	if err := tickets[3].wait(t.Context()); !errors.Is(err, ErrShutdown) {
		t.Errorf("waiting in a closed queue: %v", err)
	}
	if _, err := q.enter(); !errors.Is(err, ErrShutdown) {
		t.Errorf("entering a closed queue: %v", err)
	}
	if running, waiting := q.length(); running != 1 || waiting != 0 {
		t.Errorf("%d run, %d wait: closing does not end the running one", running, waiting)
	}
}

// TestQueueLetsOneThrough has many come, wait for random times and leave.
func TestQueueLetsOneThrough(t *testing.T) {
	q := queue{most: 5}
	var inside, served, turned atomic.Int64
	var all sync.WaitGroup
	for seed := range uint64(16) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 200 {
				k, err := q.enter()
				if err != nil {
					turned.Add(1)
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Microsecond)
				if k.wait(ctx) == nil {
					if inside.Add(1) != 1 {
						t.Error("two are inside")
					}
					served.Add(1)
					inside.Add(-1)
				}
				k.leave()
				cancel()
			}
		})
	}
	all.Wait()
	if running, waiting := q.length(); running+waiting != 0 || served.Load() == 0 {
		t.Errorf("%d run and %d wait at the end, %d were served, %d turned away", running, waiting, served.Load(), turned.Load())
	}
}
