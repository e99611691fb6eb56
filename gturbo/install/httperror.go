package install

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
)

// HTTPError is a refusal by the server. It wraps ErrStatus, and fs.ErrNotExist for status 404.
type HTTPError struct {
	Status     int
	Address    string // without query and fragment, which may hold a signature
	Reason     string // the server's own words, where it has any
	RetryAfter string // as the server sent it
}

func newHTTPError(resp *http.Response) *HTTPError {
	e := &HTTPError{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	e.Reason = clip(resp.Header.Get("X-Error-Message"))
	if resp.Request != nil {
		e.Address = plainAddress(resp.Request.URL)
	}
	return e
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("%v: status %d", ErrStatus, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	text += " for " + e.Address
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += " (it wants a token, or the token's owner has not been given access)"
	case http.StatusRequestedRangeNotSatisfiable:
		text += " (the file is shorter than it was)"
	}
	return text
}

func (e *HTTPError) Unwrap() []error {
	switch e.Status {
	case http.StatusNotFound:
		return []error{ErrStatus, fs.ErrNotExist}
	case http.StatusRequestedRangeNotSatisfiable:
		return []error{ErrStatus, ErrSourceChanged}
	}
	return []error{ErrStatus}
}

// temporary reports whether the same request may succeed later.
func (e *HTTPError) temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryable reports whether making the same request again may help.
func retryable(err error) bool {
	var refusal *HTTPError
	switch {
	case errors.As(err, &refusal):
		return refusal.temporary()
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrSourceChanged), errors.Is(err, ErrRedirect):
		return false
	case errors.Is(err, errHopeless):
		return false
	}
	return true // the network: lost, refused, reset, unresolved, timed out, stalled, truncated
}
