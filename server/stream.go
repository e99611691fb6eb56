package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// mostBuffered bounds what a client may leave untaken before it counts as gone.
const mostBuffered = 16 << 20

// A stream sends server-sent events. Whoever computes never waits for the client: events go into a buffer that a
// goroutine of the stream's own empties. It also keeps the connection alive while there is nothing to say.
type stream struct {
	response http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration // for the client to take a piece
	every    time.Duration // of silence before idle is sent
	idle     func() []byte
	lost     context.CancelCauseFunc // called when the client is gone

	mu     sync.Mutex
	buffer []byte
	ended  bool
	dead   bool

	wake chan struct{} // something is new
	done chan struct{} // closed when nothing is written any more
}

// startStream sends the header. idle makes what is sent into a silence; lost is called when the client is gone.
func (s *Server) startStream(c echo.Context, idle func() []byte, lost context.CancelCauseFunc) *stream {
	header := c.Response().Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	t := &stream{
		response: c.Response(), control: http.NewResponseController(c.Response()),
		timeout: s.opts.WriteTimeout, every: s.opts.KeepAliveEvery, idle: idle, lost: lost,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go t.pump()
	return t
}

// event returns v as one event.
func event(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("BUG: server: an event does not marshal: " + err.Error())
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}

var endMarker = []byte("data: [DONE]\n\n")

// send adds events to what the client gets.
func (t *stream) send(events []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return
	}
	t.buffer = append(t.buffer, events...)
	if len(t.buffer) > mostBuffered {
		t.die(ErrSlowClient)
	}
	t.notify()
}

// end sends the rest and returns when the client has it, or is gone.
func (t *stream) end() {
	t.mu.Lock()
	t.ended = true
	t.notify()
	t.mu.Unlock()
	<-t.done
}

func (t *stream) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// die discards what is left. The caller holds t.mu.
func (t *stream) die(cause error) {
	t.dead, t.buffer = true, nil
	t.lost(cause)
}

func (t *stream) pump() {
	defer close(t.done)
	silence := time.NewTimer(t.every)
	defer silence.Stop()
	for {
		piece, over := t.take()
		if over {
			return
		}
		if piece == nil {
			select {
			case <-t.wake:
				continue
			case <-silence.C:
				piece = t.idle()
			}
		}
		if err := t.write(piece); err != nil {
			t.mu.Lock()
			t.die(ErrSlowClient)
			t.mu.Unlock()
			return
		}
		silence.Reset(t.every)
	}
}

// take returns what is to be written next; over says that nothing will come any more.
func (t *stream) take() (piece []byte, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	piece, t.buffer = t.buffer, nil
	return piece, t.dead || t.ended && piece == nil
}

func (t *stream) write(piece []byte) error {
	const atOnce = 16 << 10 // so that the timeout is for little
	for len(piece) > 0 {
		n := min(len(piece), atOnce)
		_ = t.control.SetWriteDeadline(time.Now().Add(t.timeout)) // tests with recorders have no deadlines
		if _, err := t.response.Write(piece[:n]); err != nil {
			return err
		}
		if err := t.control.Flush(); err != nil {
			return err
		}
		piece = piece[n:]
	}
	return nil
}
