package install

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// secureHub is a hub over TLS whose redirects a test chooses by the name of the file. The certificate counts for
// example.com and for 127.0.0.1, which makes two origins of one server.
func secureHub(t *testing.T, redirects map[string]string) (source *HubSource, seen *[]*http.Request) {
	t.Helper()
	seen = &[]*http.Request{}
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r)
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if to, ok := redirects[name]; ok && r.Method == http.MethodGet {
			w.Header().Set("Location", strings.ReplaceAll(to, "SELF", server.URL))
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Header().Set("X-Repo-Commit", testCommit)
		w.Header().Set("Content-Length", "4")
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Range", "bytes 0-3/4")
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte("data"))
		}
	}))
	t.Cleanup(server.Close)
	source, err := NewHubSource(HubOptions{
		Endpoint: server.URL, RepoID: testRepo, Revision: testCommit, Token: "secret", Attempts: 2,
		backoff: backoff{base: time.Millisecond, limit: time.Millisecond, jitter: func() time.Duration { return 0 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	transport := source.client.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return nil, nil }
	return source, seen
}

func read(t *testing.T, s *HubSource, name string) error {
	t.Helper()
	if _, err := s.Resolve(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	data, err := readRange(t.Context(), s, name, 0, 4)
	if err == nil && string(data) != "data" {
		t.Errorf("read %q", data)
	}
	return err
}

func TestHTTPSIsNeverLeft(t *testing.T) {
	s, seen := secureHub(t, map[string]string{"a": "http://127.0.0.1:1/blob?signature=hidden"})
	err := read(t, s, "a")
	if !errors.Is(err, ErrRedirect) || strings.Contains(err.Error(), "hidden") {
		t.Fatalf("got %v", err)
	}
	if n := len(*seen); n != 3 { // two HEAD and one GET, which was not repeated
		t.Errorf("%d requests", n)
	}
}

func TestTokenIsNotSentAfterTheHostWasLeft(t *testing.T) {
	s, seen := secureHub(t, map[string]string{"a": "/here/b", "b": "SELF/c"})
	if err := read(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	for _, r := range *seen {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s on the hub's own origin went without the token", r.Method, r.URL.Path)
		}
	}
	*seen = nil
	s, seen = secureHub(t, nil)
	away := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r)
		w.Header().Set("Location", s.base.String()+"/back") // and back to where it came from
		w.WriteHeader(http.StatusFound)
	}))
	defer away.Close()
	s.client.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(away.Certificate())
	req, err := url.Parse(s.base.String() + "/" + testRepo + "/resolve/" + testCommit + "/a")
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.request(t.Context(), http.MethodGet, req, "bytes=0-3")
	if err != nil {
		t.Fatal(err)
	}
	first.Body.Close()
	awayURL, err := url.Parse(away.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	*seen = nil
	resp, err := s.request(t.Context(), http.MethodGet, awayURL, "bytes=0-3")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(*seen) != 2 {
		t.Fatalf("%d requests, want one away and one back", len(*seen))
	}
	for _, r := range *seen {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the token went along to %s", r.URL.Path)
		}
		if r.Header.Get("Range") != "bytes=0-3" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s lost its range or its encoding: %v", r.URL.Path, r.Header)
		}
	}
}

func TestUnknownCertificateIsNotRetried(t *testing.T) {
	s, _ := secureHub(t, nil)
	s.client.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
	_, err := s.Resolve(t.Context(), "")
	if err == nil || s.Stats().Requests != 1 || s.Stats().Retries != 0 {
		t.Errorf("%v after %+v", err, s.Stats())
	}
}

func TestProxyIsUsed(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		w.Header().Set("X-Repo-Commit", testCommit)
		w.Header().Set("Content-Length", "4")
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewHubSource(HubOptions{
		Endpoint: "http://hub.invalid", RepoID: testRepo, Revision: testCommit, Proxy: http.ProxyURL(address),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resolve(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "HEAD http://hub.invalid/owner/model/resolve/") {
		t.Errorf("the proxy was asked for %v", asked)
	}
}
