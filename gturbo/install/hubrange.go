package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// progressBytes is how much a connection must bring for its failure to count as a new one instead of a repetition.
const progressBytes = 256 << 10

// hubRange reads bytes [at, end) of a file. A connection that fails is replaced by another that asks for what is
// still missing; the caller sees one unbroken stream.
type hubRange struct {
	ctx  context.Context
	src  *HubSource
	name string
	file *hubFile
	at   int64
	end  int64

	body    io.ReadCloser // nil between connections
	cancel  context.CancelCauseFunc
	stall   *time.Timer
	connCtx context.Context

	attempt int   // failures since the last progress
	fresh   int64 // bytes since the last failure
}

func newHubRange(ctx context.Context, s *HubSource, name string, f *hubFile, off, n int64) *hubRange {
	return &hubRange{ctx: ctx, src: s, name: name, file: f, at: off, end: off + n}
}

// Read fills p from the current connection, and opens one first where there is none.
func (r *hubRange) Read(p []byte) (int, error) {
	for r.at < r.end {
		n, err := r.readOnce(p)
		if n > 0 {
			r.at += int64(n)
			r.fresh += int64(n)
			r.src.bytes.Add(int64(n))
			return n, nil // an error that came with bytes comes again without them
		}
		if err == nil {
			continue
		}
		r.disconnect()
		if r.fresh >= progressBytes {
			r.attempt = 0
		}
		r.fresh = 0
		r.attempt++
		if err := r.src.pause(r.ctx, r.name, r.attempt, err); err != nil {
			return 0, fmt.Errorf("%s: bytes %d to %d: %w", r.name, r.at, r.end, err)
		}
	}
	return 0, io.EOF
}

func (r *hubRange) readOnce(p []byte) (int, error) {
	if r.body == nil {
		if err := r.connect(); err != nil {
			return 0, err
		}
	}
	r.stall.Reset(r.src.opts.Idle)
	n, err := r.body.Read(p[:min(int64(len(p)), r.end-r.at)])
	r.stall.Stop()
	if n > 0 || err == nil {
		return n, nil
	}
	if cause := context.Cause(r.connCtx); cause != nil {
		return 0, cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%w: the connection closed with %d bytes to come", ErrShortSource, r.end-r.at)
	}
	return 0, err
}

// connect asks for the bytes that are still missing and checks the answer before any of them is taken.
func (r *hubRange) connect() error {
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.connCtx, r.cancel = ctx, cancel
	r.stall = time.AfterFunc(r.src.opts.Idle, func() {
		cancel(fmt.Errorf("%w: nothing came for %v", ErrStalled, r.src.opts.Idle))
	})
	first, last := r.at, r.end-1
	resp, err := r.src.request(ctx, http.MethodGet, r.src.address(r.name), fmt.Sprintf("bytes=%d-%d", first, last))
	if err != nil {
		return err
	}
	r.body = resp.Body
	if resp.StatusCode >= 400 {
		return newHTTPError(resp)
	}
	if err := checkPartial(resp.StatusCode, resp.Header, resp.ContentLength, first, last, r.file.size); err != nil {
		return err
	}
	r.file.mu.Lock()
	defer r.file.mu.Unlock()
	tag, err := checkTag(resp.Header, r.file.xet, r.file.tag)
	if err != nil {
		return err
	}
	r.file.tag = tag
	return nil
}

func (r *hubRange) disconnect() {
	if r.stall != nil {
		r.stall.Stop()
	}
	if r.cancel != nil {
		r.cancel(nil)
	}
	if r.body != nil {
		r.body.Close()
	}
	r.body, r.cancel, r.stall = nil, nil, nil
}

// Close ends the current connection. One that has been read to its end serves the next request.
func (r *hubRange) Close() error {
	r.disconnect()
	return nil
}
