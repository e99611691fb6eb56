package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

var (
	// ErrOptions: an option is out of its bounds.
	ErrOptions = errors.New("bad server option")
	// ErrExposed: an address that others can reach, and no API key.
	ErrExposed = errors.New("an address beyond loopback needs an API key")
	// ErrBusy: the queue is full.
	ErrBusy = errors.New("too many requests wait already")
	// ErrShutdown: the server is about to end.
	ErrShutdown = errors.New("the server is shutting down")
	// ErrLoading: the model is not loaded yet.
	ErrLoading = errors.New("the model is being loaded")
	// ErrNoModel: loading the model failed; the message goes on with the reason.
	ErrNoModel = errors.New("there is no model")
	// ErrSlowClient: a client took nothing of its answer for too long.
	ErrSlowClient = errors.New("the client does not take its answer")
)

// Types of errors beside openai.TypeInvalidRequest.
const (
	typeAuthentication = "authentication_error"
	typePermission     = "permission_error"
	typeNotFound       = "not_found_error"
	typeRateLimit      = "rate_limit_error"
	typeServer         = "server_error"
)

// A problem is an error as it is answered.
type problem struct {
	status     int
	body       *openai.Error
	retryAfter time.Duration
}

func (p *problem) Error() string { return p.body.Message }

func newProblem(status int, kind, code, format string, args ...any) *problem {
	return &problem{status: status, body: &openai.Error{Type: kind, Code: code, Message: fmt.Sprintf(format, args...)}}
}

func badRequest(code string, err error) *problem {
	return newProblem(http.StatusBadRequest, openai.TypeInvalidRequest, code, "%v", err)
}

// statusClientClosed is logged, never sent: nobody is there to read it.
const statusClientClosed = 499

// explain is the one place where an error becomes a status and words for the client.
func (s *Server) explain(err error) *problem {
	var own *problem
	var refused *openai.Error
	var echoed *echo.HTTPError
	var length *core.ContextError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		status := http.StatusBadRequest
		if refused.Code == openai.CodeImageTooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		return &problem{status: status, body: refused}
	case errors.As(err, &echoed):
		return routeProblem(echoed)
	case errors.As(err, &length):
		return newProblem(http.StatusBadRequest, openai.TypeInvalidRequest, openai.CodeContextLength,
			"the messages take %d tokens, %d of them for images; the maximum context length is %d tokens",
			length.Prompt, length.Soft, length.Context)
	case s.base.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrSlowClient)):
		return newProblem(statusClientClosed, typeServer, "client_closed_request", "the client has left")
	case errors.Is(err, ErrBusy):
		p := newProblem(http.StatusTooManyRequests, typeRateLimit, "queue_full", "%v", ErrBusy)
		p.retryAfter = s.retryAfter()
		return p
	case errors.Is(err, ErrShutdown), errors.Is(err, core.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, ErrSlowClient):
		return newProblem(http.StatusServiceUnavailable, typeServer, "shutting_down", "%v", ErrShutdown)
	case errors.Is(err, ErrLoading), errors.Is(err, ErrNoModel):
		p := newProblem(http.StatusServiceUnavailable, typeServer, "model_not_ready", "%v", err)
		p.retryAfter = time.Second
		return p
	case errors.Is(err, core.ErrNoMedia):
		return newProblem(http.StatusBadRequest, openai.TypeInvalidRequest, "vision_unavailable",
			"images are not taken: %s", s.visionReason())
	}
	if p := s.explainImage(err); p != nil {
		return p
	}
	for _, of := range requestErrors {
		if errors.Is(err, of) {
			return badRequest(openai.CodeInvalidValue, err)
		}
	}
	return newProblem(http.StatusInternalServerError, typeServer, "internal_error", "%v", err)
}

// requestErrors are what a request can cause in the packages below.
var requestErrors = []error{
	core.ErrOptions, core.ErrToken, core.ErrSpan, core.ErrNoPrompt,
	text.ErrNoPlace, text.ErrResultName, text.ErrArguments, text.ErrNoMessages, text.ErrValue,
}

// explainImage knows errors that a picture caused.
func (s *Server) explainImage(err error) *problem {
	code, hint := s.opts.ImageError(err)
	var admission *admissionError
	if code == "" && errors.As(err, &admission) {
		code = openai.CodeInvalidImage
	}
	if code == "" {
		return nil
	}
	p := badRequest(code, err)
	if code == openai.CodeImageTooLarge {
		p.status = http.StatusRequestEntityTooLarge
	}
	if hint != "" {
		p.body.Message += ": " + hint
	}
	return p
}

// An admissionError is an error of the image extension's admission whose kind nobody knows.
type admissionError struct{ err error }

func (e *admissionError) Error() string { return e.err.Error() }
func (e *admissionError) Unwrap() error { return e.err }

// routeProblem is about requests that no handler took.
func routeProblem(e *echo.HTTPError) *problem {
	switch e.Code {
	case http.StatusNotFound:
		return newProblem(e.Code, typeNotFound, "not_found", "there is nothing at this address")
	case http.StatusMethodNotAllowed:
		return newProblem(e.Code, openai.TypeInvalidRequest, "method_not_allowed", "this address takes another method")
	}
	return newProblem(e.Code, typeServer, "internal_error", "%v", e.Message)
}

// logFailure logs what is neither the client's doing nor the way of things.
func (s *Server) logFailure(c echo.Context, p *problem, err error) {
	if p.status == http.StatusInternalServerError {
		s.opts.Log.Error("request failed", "route", c.Path(), "error", err)
	}
}

// handleError answers an error that no stream has carried yet.
func (s *Server) handleError(err error, c echo.Context) {
	p := s.explain(err)
	c.Set(keyStatus, p.status)
	s.metrics.refused(p)
	s.logFailure(c, p, err)
	if c.Response().Committed || p.status == statusClientClosed {
		return
	}
	if p.retryAfter > 0 {
		seconds := int64(math.Ceil(p.retryAfter.Seconds()))
		c.Response().Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	}
	if p.status == http.StatusUnauthorized {
		c.Response().Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = c.JSON(p.status, openai.ErrorEnvelope{Error: p.body}) // a client that is gone
}
