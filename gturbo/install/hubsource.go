package install

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// HubStats counts what a source has done.
type HubStats struct {
	Requests, Retries, Bytes int64
}

// HubSource reads a repository of a Hugging Face style hub by range requests.
type HubSource struct {
	opts   HubOptions
	base   *url.URL
	client *http.Client

	commit string // set by Resolve

	mu    sync.Mutex
	files map[string]*hubFile

	requests, retries, bytes atomic.Int64
}

// hubFile is what is known about one file of the repository.
type hubFile struct {
	size int64
	xet  string // content hash that the storage must answer with, where the hub names one

	mu  sync.Mutex
	tag string // strong ETag of the first range; all later ones must agree
}

// NewHubSource checks the options and returns the source; nothing is requested yet.
func NewHubSource(o HubOptions) (*HubSource, error) {
	if o.Endpoint == "" {
		o.Endpoint = DefaultEndpoint
	}
	if o.RepoID == "" {
		o.RepoID = Pinned.RepoID
		if o.Revision == "" {
			o.Revision = Pinned.Revision
		}
	}
	if o.Revision == "" {
		o.Revision = "main"
	}
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Notify == nil {
		o.Notify = func(Retry) {}
	}
	o.backoff = o.backoff.withDefaults()
	base, err := url.Parse(o.Endpoint)
	if err == nil {
		err = o.validate(base)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return &HubSource{opts: o, base: base, client: newClient(&o), files: map[string]*hubFile{}}, nil
}

// newClient speaks HTTP/1.1 on purpose: ranges in flight get a connection and a TCP window each, which one multiplexed
// HTTP/2 connection would take away. Redirects are followed in hubrequest.go, where it is decided what goes along.
func newClient(o *HubOptions) *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 o.Proxy,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   30 * time.Second,
			ResponseHeaderTimeout: o.Idle,
			MaxIdleConnsPerHost:   maxWorkers,
			IdleConnTimeout:       90 * time.Second,
			DisableCompression:    true,
			ReadBufferSize:        64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Stats returns the counts so far.
func (s *HubSource) Stats() HubStats {
	return HubStats{Requests: s.requests.Load(), Retries: s.retries.Load(), Bytes: s.bytes.Load()}
}

// Resolve asks the hub which commit the revision is, unless a commit is pinned, and holds all later requests to it.
func (s *HubSource) Resolve(ctx context.Context, pinned string) (Origin, error) {
	s.commit = s.opts.Revision
	if pinned != "" {
		s.commit = pinned
	}
	meta, err := s.head(ctx, indexName)
	if err != nil {
		return Origin{}, fmt.Errorf("resolve %s at %s: %w", s.opts.RepoID, s.commit, err)
	}
	switch {
	case isCommit(s.commit) && meta.commit != "" && meta.commit != s.commit:
		return Origin{}, fmt.Errorf("%w: asked for commit %s, the server has %s", ErrSourceChanged, s.commit, meta.commit)
	case meta.commit != "":
		s.commit = meta.commit
	case !isCommit(s.commit):
		return Origin{}, fmt.Errorf("%w: it does not say which commit %q is", ErrProtocol, s.commit)
	}
	s.remember(indexName, meta)
	return Origin{RepoID: s.opts.RepoID, RequestedRevision: s.opts.Revision, Revision: s.commit}, nil
}

// Size implements [Source].
func (s *HubSource) Size(ctx context.Context, name string) (int64, error) {
	f, err := s.file(ctx, name)
	if err != nil {
		return 0, err
	}
	return f.size, nil
}

// Open implements [Source]. The first request is made by the first Read.
func (s *HubSource) Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	f, err := s.file(ctx, name)
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off > f.size-n {
		return nil, fmt.Errorf("%w: bytes %d to %d of %s, which has %d", ErrShortSource, off, off+n, name, f.size)
	}
	return newHubRange(ctx, s, name, f, off, n), nil
}

func (s *HubSource) file(ctx context.Context, name string) (*hubFile, error) {
	s.mu.Lock()
	f := s.files[name]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	if !validFileName(name) {
		return nil, fmt.Errorf("%w: %q is not a file name of a repository", ErrOptions, name)
	}
	meta, err := s.head(ctx, name)
	if err != nil {
		return nil, err
	}
	if meta.commit != "" && meta.commit != s.commit {
		return nil, fmt.Errorf("%w: %s is of commit %s, expected %s", ErrSourceChanged, name, meta.commit, s.commit)
	}
	return s.remember(name, meta), nil
}

func (s *HubSource) remember(name string, meta fileMeta) *hubFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[name]; f != nil {
		return f
	}
	f := &hubFile{size: meta.size, xet: meta.xet}
	s.files[name] = f
	return f
}

func (s *HubSource) address(name string) *url.URL {
	return s.base.JoinPath(s.opts.RepoID, "resolve", s.commit, name)
}

// head asks for the metadata of a file, as often as the options allow.
func (s *HubSource) head(ctx context.Context, name string) (fileMeta, error) {
	for attempt := 1; ; attempt++ {
		meta, err := s.headOnce(ctx, name)
		if err == nil {
			return meta, nil
		}
		if err := s.pause(ctx, name, attempt, err); err != nil {
			return fileMeta{}, err
		}
	}
}

func (s *HubSource) headOnce(ctx context.Context, name string) (fileMeta, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Idle, ErrStalled)
	defer cancel()
	resp, err := s.request(ctx, http.MethodHead, s.address(name), "")
	if err != nil {
		return fileMeta{}, err
	}
	resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 399 {
		return fileMeta{}, newHTTPError(resp)
	}
	return parseMeta(resp.StatusCode, resp.Header, resp.ContentLength)
}

// pause waits before another attempt. It returns nil when the request should be made again, else the error to give up
// with: the failure itself when retrying cannot help or has been tried often enough, or the context's.
func (s *HubSource) pause(ctx context.Context, name string, attempt int, failure error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !retryable(failure) {
		return failure
	}
	if attempt >= s.opts.Attempts {
		return fmt.Errorf("gave up after %d attempts: %w", attempt, failure)
	}
	wait, err := s.opts.backoff.delay(attempt, failure)
	if err != nil {
		return err
	}
	s.retries.Add(1)
	s.opts.Notify(Retry{File: name, Attempt: attempt, Of: s.opts.Attempts, Wait: wait, Err: failure})
	return s.opts.backoff.sleep(ctx, wait)
}
