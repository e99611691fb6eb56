package install

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// backoff computes how long to wait between attempts.
type backoff struct {
	base, limit time.Duration
	jitter      func() time.Duration
	sleep       func(ctx context.Context, d time.Duration) error
	now         func() time.Time
}

const (
	maxJitter     = 250 * time.Millisecond
	maxRetryAfter = time.Hour
)

func (b backoff) withDefaults() backoff {
	if b.base == 0 {
		b.base, b.limit = time.Second, 16*time.Second
	}
	if b.jitter == nil {
		b.jitter = func() time.Duration { return rand.N(maxJitter) }
	}
	if b.sleep == nil {
		b.sleep = sleep
	}
	if b.now == nil {
		b.now = time.Now
	}
	return b
}

// delay returns how long to wait after attempt number attempt has failed. A server that asks for longer is obeyed up
// to an hour; beyond that the error wraps ErrRetryDelay.
func (b backoff) delay(attempt int, failure error) (time.Duration, error) {
	wait := b.limit
	if doubled := b.base << (attempt - 1); attempt < 32 && doubled < b.limit {
		wait = doubled
	}
	wait += b.jitter()
	var refusal *HTTPError
	if !errors.As(failure, &refusal) || refusal.RetryAfter == "" {
		return wait, nil
	}
	asked, err := parseRetryAfter(refusal.RetryAfter, b.now())
	if err != nil {
		return 0, err
	}
	if asked > maxRetryAfter {
		return 0, fmt.Errorf("%w: %v after %w", ErrRetryDelay, asked, failure)
	}
	return max(wait, asked), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
