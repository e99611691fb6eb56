package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const shard1, shard2 = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"

// hubInstall installs from a hub to a new directory of the host's file system.
func hubInstall(t *testing.T, r *rig, source Source) (string, error) {
	t.Helper()
	o := r.options(HostFS())
	o.Source, o.Output, o.Workers = source, filepath.Join(t.TempDir(), "tiny.gturbo"), 4
	_, err := Install(t.Context(), o)
	return o.Output, err
}

// sameWeights compares what does not depend on where an install lies or comes from.
func sameWeights(t *testing.T, r *rig, dir string) {
	t.Helper()
	want, got := map[string]string{}, tree(t, dir)
	for name, data := range r.want {
		if name != receiptName {
			want[name] = data
		}
	}
	delete(got, receiptName)
	sameTree(t, want, got)
}

func TestHubInstallsTheSameBytes(t *testing.T) {
	r := newRig(t)
	p := startHub(t, writeFiles(t, r.source.files))
	p.breaks(0)
	dir, err := hubInstall(t, r, p.source(func(o *HubOptions) { o.Token, o.Revision = "secret", "main" }))
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, r, dir)
	for _, s := range p.seen() {
		if s.Encoding != "identity" {
			t.Errorf("%s %s accepts encoding %q", s.Method, s.Path, s.Encoding)
		}
		switch {
		case s.Storage && s.Authorization != "":
			t.Errorf("the token went to the storage host: %s", s.Path)
		case s.Storage && s.Method == http.MethodGet && s.Range == "":
			t.Errorf("the range was lost on the redirect: %s", s.Path)
		case !s.Storage && s.Authorization != "Bearer secret":
			t.Errorf("%s %s without the token", s.Method, s.Path)
		case s.Method == http.MethodHead && s.Storage:
			t.Errorf("a metadata request followed the hub to its storage: %s", s.Path)
		}
		if strings.Contains(s.Path, "/resolve/main/") && !strings.HasSuffix(s.Path, indexName) {
			t.Errorf("%s is not held to the resolved commit", s.Path)
		}
	}
}

// TestHubFaults: each fault is recognised, retried where that helps, and explained where it does not.
func TestHubFaults(t *testing.T) {
	r := newRig(t)
	p := startHub(t, writeFiles(t, r.source.files))
	storage := func(f fault) fault { f.Storage, f.File = true, shard1; return f }
	for _, c := range []struct {
		name    string
		faults  []fault
		want    error  // nil: the install succeeds
		says    string // part of the error's text
		tries   int    // requests for the broken file until success or failure; 0: not counted
		retries int64  // at least, on success
	}{
		{name: "503 twice, then well", faults: []fault{storage(fault{Kind: "status", Status: 503, Times: 2})}, retries: 2},
		{name: "500 for ever", faults: []fault{storage(fault{Kind: "status", Status: 500})}, want: ErrStatus,
			says: "gave up after 4 attempts", tries: 4},
		{name: "429 with Retry-After in seconds", faults: []fault{storage(fault{Kind: "status", Status: 429, Times: 1,
			Header: map[string]string{"Retry-After": "0"}})}, retries: 1},
		{name: "503 with a Retry-After beyond patience", faults: []fault{storage(fault{Kind: "status", Status: 503,
			Header: map[string]string{"Retry-After": "7200"}})}, want: ErrRetryDelay, tries: 1},
		{name: "503 with an unreadable Retry-After", faults: []fault{storage(fault{Kind: "status", Status: 503,
			Header: map[string]string{"Retry-After": "soon"}})}, want: ErrProtocol, tries: 1},
		{name: "404 is tried once", faults: []fault{storage(fault{Kind: "status", Status: 404})}, want: ErrStatus,
			says: "404 Not Found", tries: 1},
		{name: "401 asks for a token", faults: []fault{{Kind: "status", Status: 401, Method: "HEAD", File: indexName,
			Header: map[string]string{"X-Error-Message": "Access to model is restricted"}}}, want: ErrStatus,
			says: "Access to model is restricted (it wants a token"},
		{name: "416 means that the file has changed", faults: []fault{storage(fault{Kind: "status", Status: 416})},
			want: ErrSourceChanged, tries: 1},
		{name: "connection closed in the middle", faults: []fault{storage(fault{Kind: "close", After: 700, Times: 2, Skip: 1})},
			retries: 2},
		{name: "connection reset in the middle", faults: []fault{storage(fault{Kind: "reset", After: 700, Times: 2, Skip: 1})},
			retries: 2},
		{name: "empty body", faults: []fault{storage(fault{Kind: "close", Times: 3})}, retries: 3},
		{name: "empty body for ever", faults: []fault{storage(fault{Kind: "close"})}, want: ErrShortSource, tries: 4},
		{name: "stall in the middle", faults: []fault{storage(fault{Kind: "stall", After: 700, Times: 1})}, retries: 1},
		{name: "stall before the first byte", faults: []fault{storage(fault{Kind: "stall", Times: 1})}, retries: 1},
		{name: "200 in place of 206", faults: []fault{storage(fault{Kind: "whole"})}, want: ErrProtocol,
			says: "does not serve ranges", tries: 1},
		{name: "a web page", faults: []fault{storage(fault{Kind: "page"})}, want: ErrProtocol,
			says: "a web page instead of the file", tries: 1},
		{name: "a web page in place of a small file", faults: []fault{{Kind: "page", Method: "HEAD", File: configName}},
			want: ErrProtocol, says: "a web page instead of the file"},
		{name: "206 with another range", faults: []fault{storage(fault{Kind: "headers",
			Header: map[string]string{"Content-Range": "bytes 0-7/" + fmt.Sprint(len(r.source.files[shard1]))}, Skip: 1})},
			want: ErrProtocol, says: "Content-Range"},
		{name: "206 of another size of file", faults: []fault{storage(fault{Kind: "headers",
			Header: map[string]string{"Content-Range": "bytes 0-7/12"}, Skip: 1})}, want: ErrSourceChanged},
		{name: "another Content-Length", faults: []fault{storage(fault{Kind: "headers",
			Header: map[string]string{"Content-Length": "3"}})}, want: ErrProtocol, says: "Content-Length", tries: 1},
		{name: "compressed body", faults: []fault{storage(fault{Kind: "headers",
			Header: map[string]string{"Content-Encoding": "gzip"}})}, want: ErrProtocol, says: "content encoding", tries: 1},
		{name: "changed ETag", faults: []fault{storage(fault{Kind: "headers", Skip: 2,
			Header: map[string]string{"ETag": `"other"`}})}, want: ErrSourceChanged},
		{name: "content hash that the storage does not confirm", faults: []fault{{Kind: "redirect", Status: 302,
			Method: "HEAD", File: shard1, Header: map[string]string{"X-Xet-Hash": "abc", "Location": "http://127.0.0.1:9/"}}},
			want: ErrSourceChanged, says: "content hash"},
		{name: "redirect in a circle", faults: []fault{{Kind: "redirect", File: shard1, Status: 302,
			Header: map[string]string{"Location": "/" + testRepo + "/resolve/" + testCommit + "/" + shard1}}},
			want: ErrRedirect, says: "more than 5", tries: 6},
		{name: "redirect without a location", faults: []fault{{Kind: "redirect", File: shard1, Status: 302}},
			want: ErrRedirect},
		{name: "redirect to another scheme", faults: []fault{{Kind: "redirect", File: shard1, Status: 302,
			Header: map[string]string{"Location": "ftp://127.0.0.1/x?signature=secret"}}}, want: ErrRedirect,
			says: "ftp://127.0.0.1/x, which is not https"},
		{name: "another commit", faults: []fault{{Kind: "headers", Method: "HEAD", File: configName,
			Header: map[string]string{"X-Repo-Commit": strings.Repeat("f", 40)}}}, want: ErrSourceChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.breaks(0, c.faults...)
			idle := 5 * time.Second
			if strings.HasPrefix(c.name, "stall") {
				idle = 150 * time.Millisecond
			}
			source := p.source(func(o *HubOptions) { o.Idle = idle })
			dir, err := hubInstall(t, r, source)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil {
				sameWeights(t, r, dir)
				if n := source.Stats().Retries; n < c.retries {
					t.Errorf("%d retries, want %d", n, c.retries)
				}
				return
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q shows a signature", err)
			}
			if n := p.requests(c.faults[0]); c.tries != 0 && n != c.tries {
				t.Errorf("%d requests, want %d", n, c.tries)
			}
		})
	}
}

// requests counts the requests that a fault could have met.
func (p *hubProcess) requests(f fault) int {
	n := 0
	for _, s := range p.seen() {
		method := f.Method
		if method == "" {
			method = http.MethodGet
		}
		if s.Storage == f.Storage && s.Method == method && strings.Contains(s.Path, f.File) {
			n++
		}
	}
	return n
}

// TestHubContinuesWhereAConnectionBroke: a replaced connection asks for the rest and not for everything again.
func TestHubContinuesWhereAConnectionBroke(t *testing.T) {
	data := make([]byte, 300<<10)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	p := startHub(t, writeFiles(t, map[string][]byte{"x.safetensors": data, indexName: []byte("{}")}))
	p.breaks(0, fault{Kind: "close", File: "x.", Storage: true, After: 100 << 10, Times: 2})
	s := p.source()
	if _, err := s.Resolve(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	got, err := readRange(t.Context(), s, "x.safetensors", 5, int64(len(data))-5)
	if err != nil || !slices.Equal(got, data[5:]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	var ranges []string
	for _, r := range p.seen() {
		if r.Storage {
			ranges = append(ranges, r.Range)
		}
	}
	want := []string{"bytes=5-307199", "bytes=102405-307199", "bytes=204805-307199"}
	if !slices.Equal(ranges, want) {
		t.Errorf("asked for %v, want %v", ranges, want)
	}
}

func TestHubStopsAtOnceWhenItsContextEnds(t *testing.T) {
	r := newRig(t)
	p := startHub(t, writeFiles(t, r.source.files))
	p.breaks(0, fault{Kind: "status", Status: 503, Method: "HEAD", File: indexName,
		Header: map[string]string{"Retry-After": "3000"}})
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	s := p.source(func(o *HubOptions) { o.Notify = func(Retry) { cancel() } })
	if _, err := s.Resolve(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("stopped after %v", waited)
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{base: 100, limit: 500, jitter: func() time.Duration { return 10 }, now: time.Now}
	for i, want := range []time.Duration{110, 210, 410, 510, 510} {
		if got, err := b.delay(i+1, errors.New("lost")); err != nil || got != want {
			t.Errorf("delay %d is %v, %v, want %v", i+1, got, err, want)
		}
	}
	if got, err := b.delay(63, errors.New("lost")); err != nil || got != 510 {
		t.Errorf("a late delay is %v, %v", got, err)
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second,
		"Sat, 01 Aug 2026 12:00:30 GMT":    30 * time.Second,
		"Saturday, 01-Aug-26 12:00:30 GMT": 30 * time.Second,
		"Sat Aug  1 12:00:30 2026":         30 * time.Second,
		"Sat, 01 Aug 2026 11:00:00 GMT":    0,
		"99999999999999999":                2 * time.Hour,
	} {
		if got, err := parseRetryAfter(value, now); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"", "-1", "1.5", "soon", "Sat, 32 Aug 2026 12:00:30 GMT"} {
		if got, err := parseRetryAfter(value, now); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q is %v, %v", value, got, err)
		}
	}
}

func TestHubOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]HubOptions{
		"endpoint without a scheme":  {Endpoint: "example.org"},
		"endpoint of another scheme": {Endpoint: "ftp://example.org"},
		"endpoint with a password":   {Endpoint: "https://me:secret@example.org"},
		"endpoint with a query":      {Endpoint: "https://example.org?x=1"},
		"repository of one part":     {RepoID: "model"},
		"repository of three parts":  {RepoID: "a/b/c"},
		"repository that climbs":     {RepoID: "../b"},
		"revision that climbs":       {Revision: "a/../b"},
		"token of two lines":         {Token: "a\nX-Evil: 1"},
		"negative attempts":          {Attempts: -1},
	} {
		if _, err := NewHubSource(o); !errors.Is(err, ErrOptions) || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewHubSource(HubOptions{}); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}
