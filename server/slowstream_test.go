package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
)

// stuckWriter is a client that takes nothing: a write ends at its deadline.
type stuckWriter struct {
	header   http.Header
	deadline chan time.Time
	writes   chan struct{} // one for each write that has begun
}

func newStuckWriter() *stuckWriter {
	return &stuckWriter{header: http.Header{}, deadline: make(chan time.Time, 1), writes: make(chan struct{}, 100)}
}

func (w *stuckWriter) Header() http.Header { return w.header }
func (w *stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Flush()              {}

func (w *stuckWriter) SetWriteDeadline(at time.Time) error {
	select {
	case <-w.deadline:
	default:
	}
	w.deadline <- at
	return nil
}

func (w *stuckWriter) Write([]byte) (int, error) {
	w.writes <- struct{}{}
	time.Sleep(time.Until(<-w.deadline))
	return 0, os.ErrDeadlineExceeded
}

// stuckStream starts a stream to a client that takes nothing; ctx ends when the client counts as gone.
func stuckStream(t *testing.T, timeout time.Duration) (out *stream, w *stuckWriter, ctx context.Context) {
	t.Helper()
	s, err := New(Options{WriteTimeout: timeout, KeepAliveEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w = newStuckWriter()
	ctx, lost := context.WithCancelCause(t.Context())
	c := s.echo.NewContext(httptest.NewRequest("POST", "/", nil), w)
	c.SetResponse(echo.NewResponse(w, s.echo))
	return s.startStream(c, func() []byte { return nil }, lost), w, ctx
}

func TestClientThatTakesNothingCountsAsGone(t *testing.T) {
	out, w, ctx := stuckStream(t, 100*time.Millisecond)
	out.send([]byte("data: 1\n\n"))
	<-w.writes
	for range 1000 { // the answer goes on meanwhile and does not wait
		out.send([]byte("data: more\n\n"))
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the client is waited for")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrSlowClient) {
		t.Errorf("the answer ends with %v", cause)
	}
	out.end()
}

func TestWhatAClientLeavesIsBounded(t *testing.T) {
	out, w, ctx := stuckStream(t, 2*time.Second)
	out.send([]byte("data: 1\n\n"))
	<-w.writes
	piece := make([]byte, 1<<20)
	for range mostBuffered/len(piece) + 1 {
		out.send(piece)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrSlowClient) {
		t.Errorf("%d bytes wait, the answer ends with %v", mostBuffered, cause)
	}
	out.mu.Lock()
	held := len(out.buffer)
	out.mu.Unlock()
	if held != 0 {
		t.Errorf("%d bytes are held for a client that is gone", held)
	}
	out.end()
}
