package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

const maxRedirects = 5

// errHopeless marks failures of the transport that will be the same next time.
var errHopeless = errors.New("cannot be retried")

// request makes a request and follows redirects. byteRange is the value of the Range header or empty.
//
// HEAD stays on the endpoint's own host and returns a redirect to anywhere else as the answer; GET goes where it is
// sent, over https unless the endpoint itself is plain http. The token goes to the endpoint's origin as long as no
// other one has been visited, and never again after that: a signed address on a storage host must not learn it.
func (s *HubSource) request(ctx context.Context, method string, address *url.URL, byteRange string) (*http.Response, error) {
	trusted := true
	for redirects := 0; ; redirects++ {
		trusted = trusted && sameOrigin(address, s.base)
		resp, err := s.requestOnce(ctx, method, address, byteRange, trusted)
		if err != nil {
			return nil, err
		}
		next, err := redirectTarget(resp)
		if err != nil {
			resp.Body.Close()
			return nil, err
		}
		if next == nil || method == http.MethodHead && !sameOrigin(next, s.base) {
			return resp, nil
		}
		resp.Body.Close()
		if redirects == maxRedirects {
			return nil, fmt.Errorf("%w: more than %d, the last to %s", ErrRedirect, maxRedirects, plainAddress(next))
		}
		if next.Scheme != "https" && (next.Scheme != "http" || s.base.Scheme != "http") {
			return nil, fmt.Errorf("%w: to %s, which is not https", ErrRedirect, plainAddress(next))
		}
		address = next
	}
}

func (s *HubSource) requestOnce(
	ctx context.Context, method string, address *url.URL, byteRange string, trusted bool,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrRedirect, plainAddress(address))
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "fieldfare")
	if byteRange != "" {
		req.Header.Set("Range", byteRange)
	}
	if trusted && s.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	s.requests.Add(1)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, transportError(ctx, method, address, err)
	}
	return resp, nil
}

// transportError names the request without its query, which the client's own error would print, and tells failures
// that will repeat from those of the moment.
func transportError(ctx context.Context, method string, address *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	err = fmt.Errorf("%s %s: %w", method, plainAddress(address), err)
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &host) || errors.As(err, &certificate) {
		return fmt.Errorf("%w: %w", errHopeless, err)
	}
	return err
}

// redirectTarget returns where a response sends us, or nil when it is an answer.
func redirectTarget(resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, fmt.Errorf("%w: status %d without a location", ErrRedirect, resp.StatusCode)
	}
	next, err := resp.Request.URL.Parse(location)
	if err != nil || next.Host == "" {
		return nil, fmt.Errorf("%w: status %d to an unreadable location", ErrRedirect, resp.StatusCode)
	}
	return next, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// plainAddress is an address as errors may show it.
func plainAddress(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
