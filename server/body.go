package server

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/server/openai"
)

// A bodyLimit bounds the bytes that requests in work hold together.
type bodyLimit struct {
	most int64
	held atomic.Int64
}

// A hold is one request's share of a bodyLimit.
type hold struct {
	limit *bodyLimit
	bytes int64
}

// grow takes n bytes more; it reports false, and takes none, when that is beyond the limit.
func (h *hold) grow(n int64) bool {
	if h.limit.held.Add(n) > h.limit.most {
		h.limit.held.Add(-n)
		return false
	}
	h.bytes += n
	return true
}

func (h *hold) release() {
	h.limit.held.Add(-h.bytes)
	h.bytes = 0
}

// body reads the JSON of a request. release is called when nothing of it is held any more.
func (s *Server) body(c echo.Context) (data []byte, release func(), err error) {
	rq := c.Request()
	if err := checkJSON(rq); err != nil {
		return nil, nil, err
	}
	switch {
	case rq.ContentLength > s.opts.MaxBody:
		return nil, nil, s.bodyTooLarge()
	case rq.ContentLength == 0 && rq.Header.Get("Content-Length") == "":
		return nil, nil, newProblem(http.StatusLengthRequired, openai.TypeInvalidRequest, "length_required",
			"the request has no body and no Content-Length")
	}
	held := &hold{limit: &s.bodies}
	if data, err = s.read(c, held); err != nil {
		held.release()
		return nil, nil, err
	}
	return data, held.release, nil
}

func (s *Server) bodyTooLarge() error {
	return newProblem(http.StatusRequestEntityTooLarge, openai.TypeInvalidRequest, "request_too_large",
		"the request is larger than %d bytes", s.opts.MaxBody)
}

// checkJSON refuses what is not plain JSON by its header. Asking for the type keeps simple requests of web pages out;
// compression would let a small request fill memory.
func checkJSON(rq *http.Request) error {
	if e := rq.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return newProblem(http.StatusUnsupportedMediaType, openai.TypeInvalidRequest, "unsupported_encoding",
			"requests are taken uncompressed only")
	}
	kind, params, err := mime.ParseMediaType(rq.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return newProblem(http.StatusUnsupportedMediaType, openai.TypeInvalidRequest, "unsupported_media_type",
			"the request needs Content-Type: application/json")
	}
	return nil
}

// limitBody gives a client its time for the body, whether a handler reads it or not: what is left of one is read before
// the connection's next request.
func (s *Server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().ContentLength != 0 {
			control := http.NewResponseController(c.Response())
			_ = control.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout)) // tests with recorders have no deadlines
		}
		return next(c)
	}
}

// read takes the body. Then the deadline is lifted: later it would end the wait for the client's leaving, and with it
// the answer.
func (s *Server) read(c echo.Context, held *hold) ([]byte, error) {
	data, err := s.readGrowing(c.Request(), held)
	if err == nil {
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{})
	}
	var slow net.Error
	var own *problem
	switch {
	case err == nil, errors.As(err, &own), errors.Is(err, ErrBusy):
		return data, err
	case errors.As(err, &slow) && slow.Timeout():
		return nil, newProblem(http.StatusRequestTimeout, openai.TypeInvalidRequest, "request_timeout",
			"the body did not come within %v", s.opts.BodyTimeout)
	}
	return nil, newProblem(http.StatusBadRequest, openai.TypeInvalidRequest, "incomplete_body", "the body ended early")
}

// readGrowing holds memory for what has come, not for what a header promised.
func (s *Server) readGrowing(rq *http.Request, held *hold) ([]byte, error) {
	most := s.opts.MaxBody + 1 // one more shows that there is more
	if rq.ContentLength >= 0 {
		most = rq.ContentLength
	}
	var data []byte
	for size := min(most, 64<<10); ; size = min(most, 2*size) {
		if !held.grow(size - int64(len(data))) {
			return nil, ErrBusy
		}
		grown := make([]byte, size)
		n := copy(grown, data)
		m, err := io.ReadFull(rq.Body, grown[n:])
		data = grown[:n+m]
		switch {
		case rq.ContentLength < 0 && (err == io.EOF || err == io.ErrUnexpectedEOF):
			return data, nil
		case err != nil:
			return nil, err
		case int64(len(data)) > s.opts.MaxBody:
			return nil, s.bodyTooLarge()
		case size == most:
			return data, nil
		}
	}
}
