package install

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultEndpoint is the public hub.
const DefaultEndpoint = "https://huggingface.co"

const (
	defaultAttempts = 8
	defaultIdle     = 60 * time.Second
)

// HubOptions say which repository to read and how. They are copied in and never change.
type HubOptions struct {
	Endpoint string // base address of the hub or of a mirror; default [DefaultEndpoint]
	RepoID   string // owner/name; default the pinned checkpoint
	Revision string // branch, tag or commit; default the pinned commit when RepoID is the default, else "main"
	// Token is sent to the endpoint's own host and to no other. Empty: none.
	Token string
	// Proxy chooses a proxy per request as http.Transport.Proxy does; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Attempts bounds how often one request is tried without progress; default 8, about a minute of waiting.
	Attempts int
	// Idle is how long a connection may bring nothing; default 60 s.
	Idle time.Duration
	// Notify is told about every failure that is going to be retried; may be nil. Called from several goroutines.
	Notify func(Retry)

	backoff backoff // of tests; the zero value is the default
}

// Retry describes a request that failed and will be made again.
type Retry struct {
	File    string
	Attempt int // that failed, counting from 1 since the last progress
	Of      int
	Wait    time.Duration
	Err     error
}

func (o *HubOptions) validate(base *url.URL) error {
	var errs []error
	if base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil || base.RawQuery != "" {
		errs = append(errs, fmt.Errorf("endpoint %q is not a plain http or https address", base.Redacted()))
	}
	owner, name, ok := strings.Cut(o.RepoID, "/")
	if !ok || !validFileName(owner) || !validFileName(name) {
		errs = append(errs, fmt.Errorf("repository %q is not owner/name", o.RepoID))
	}
	for part := range strings.SplitSeq(o.Revision, "/") {
		if !validFileName(part) {
			errs = append(errs, fmt.Errorf("revision %q is not a branch, tag or commit", o.Revision))
			break
		}
	}
	if strings.ContainsAny(o.Token, "\r\n") {
		errs = append(errs, errors.New("the token holds a line break"))
	}
	if o.Attempts < 0 || o.Idle < 0 {
		errs = append(errs, fmt.Errorf("%d attempts, %v idle", o.Attempts, o.Idle))
	}
	return errors.Join(errs...)
}
