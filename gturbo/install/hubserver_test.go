package install

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// This file is a hub for tests. It runs in a process of its own (this test binary, started again) on two loopback
// ports: one is the hub, the other the storage that the hub sends clients to, which is another origin for them.

// roleVariable says what a test binary that was started by another one should be.
const roleVariable = "FIELDFARE_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// roles are what a started test binary may be; each gets the last argument of its command line.
var roles = map[string]func(arg string) error{"hub": serveHub, "install": installInChild, "pattern": servePattern}

// startRole starts this test binary in a role. The process ends with the test, at the end of its standard input.
func startRole(t testing.TB, role, arg string) (firstLine string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], arg)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not start: %v", role, err)
	}
	return strings.TrimSpace(line)
}

// fault is one thing that goes wrong with requests for files whose name contains File.
type fault struct {
	Kind    string
	File    string
	Method  string // empty: GET
	Skip    int    // requests that go well first
	Times   int    // requests that go wrong then; 0: all
	After   int64  // bytes of the body that come through first
	Status  int
	Header  map[string]string // sent along
	Storage bool              // happens at the storage, not at the hub
}

// seenRequest is what the hub remembers about a request.
type seenRequest struct {
	Method, Path, Query, Range, Authorization string
	Encoding                                  string
	Storage                                   bool
}

const (
	testRepo   = "owner/model"
	testCommit = "0123456789abcdef0123456789abcdef01234567"
)

type hub struct {
	dir     string
	storage string // address

	mu     sync.Mutex
	faults []*fault
	seen   []seenRequest
	slow   time.Duration // per 64 KiB of a body
}

// serveHub runs until standard input ends.
func serveHub(dir string) error {
	h := &hub{dir: dir}
	var listeners [2]net.Listener
	for i := range listeners {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		listeners[i] = l
	}
	h.storage = "http://" + listeners[1].Addr().String()
	go http.Serve(listeners[0], http.HandlerFunc(h.serveRepo))
	go http.Serve(listeners[1], http.HandlerFunc(h.serveStorage))
	fmt.Printf("http://%s\n", listeners[0].Addr())
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func (h *hub) serveRepo(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/control/faults":
		h.mu.Lock()
		defer h.mu.Unlock()
		h.faults, h.seen = nil, nil
		var control struct {
			Faults []*fault
			Slow   time.Duration
		}
		if err := json.NewDecoder(r.Body).Decode(&control); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		h.faults, h.slow = control.Faults, control.Slow
		return
	case "/control/seen":
		h.mu.Lock()
		defer h.mu.Unlock()
		json.NewEncoder(w).Encode(h.seen)
		return
	}
	f := h.note(r, false)
	rest, ok := strings.CutPrefix(r.URL.Path, "/"+testRepo+"/resolve/")
	revision, name, _ := strings.Cut(rest, "/")
	info, err := os.Stat(filepath.Join(h.dir, name))
	if !ok || err != nil || revision != testCommit && revision != "main" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("X-Repo-Commit", testCommit)
	w.Header().Set("X-Linked-Size", strconv.FormatInt(info.Size(), 10))
	w.Header().Set("X-Linked-ETag", `"linked-`+name+`"`)
	if f != nil {
		h.misbehave(w, r, f, name)
		return
	}
	if strings.HasSuffix(name, ".safetensors") {
		http.Redirect(w, r, h.storage+"/blob/"+name+"?signature=secret", http.StatusFound)
		return
	}
	h.serveFile(w, r, name, nil)
}

func (h *hub) serveStorage(w http.ResponseWriter, r *http.Request) {
	f := h.note(r, true)
	name := strings.TrimPrefix(r.URL.Path, "/blob/")
	if f != nil {
		h.misbehave(w, r, f, name)
		return
	}
	h.serveFile(w, r, name, nil)
}

// note remembers a request and returns the fault that it is due, if any.
func (h *hub) note(r *http.Request, storage bool) *fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, seenRequest{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Range: r.Header.Get("Range"),
		Authorization: r.Header.Get("Authorization"), Encoding: r.Header.Get("Accept-Encoding"), Storage: storage,
	})
	for i, f := range h.faults {
		method := f.Method
		if method == "" {
			method = http.MethodGet
		}
		if f.Storage != storage || method != r.Method || !strings.Contains(r.URL.Path, f.File) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times == 1 {
			h.faults = slices.Delete(h.faults, i, i+1)
		}
		f.Times--
		return f
	}
	return nil
}

// misbehave answers as the fault says.
func (h *hub) misbehave(w http.ResponseWriter, r *http.Request, f *fault, name string) {
	for key, value := range f.Header {
		w.Header().Set(key, value)
	}
	switch f.Kind {
	case "status":
		w.Header().Del("X-Linked-Size")
		w.WriteHeader(f.Status)
	case "page":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Del("X-Linked-Size")
		io.WriteString(w, "<html>Please log in</html>")
	case "redirect":
		w.WriteHeader(f.Status)
	case "headers": // the right bytes under the wrong headers
		h.serveFile(w, r, name, f)
	case "whole": // ignores the range
		r.Header.Del("Range")
		h.serveFile(w, r, name, nil)
	case "close", "reset", "stall":
		h.serveFile(w, r, name, f)
	default:
		panic("unknown fault " + f.Kind)
	}
}

// serveFile answers a range request by hand, so that a fault can end it at any byte.
func (h *hub) serveFile(w http.ResponseWriter, r *http.Request, name string, f *fault) {
	data, err := os.ReadFile(filepath.Join(h.dir, filepath.Base(name)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	total := len(data)
	first, last, status := 0, total-1, http.StatusOK
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err == nil {
		if first > last || last >= total {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		status = http.StatusPartialContent
	}
	set := func(key, value string) {
		if w.Header().Get(key) == "" {
			w.Header().Set(key, value)
		}
	}
	if status == http.StatusPartialContent {
		set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total))
	}
	set("ETag", `"tag-`+name+`"`)
	set("Accept-Ranges", "bytes")
	set("Content-Length", strconv.Itoa(last+1-first))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	h.serveBody(w, r, data[first:last+1], f)
}

func (h *hub) serveBody(w http.ResponseWriter, r *http.Request, body []byte, f *fault) {
	h.mu.Lock()
	slow := h.slow
	h.mu.Unlock()
	broken := f != nil && f.Kind != "headers"
	if broken {
		body = body[:min(int64(len(body)), f.After)]
	}
	for len(body) > 0 {
		n := min(len(body), 64<<10)
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		body = body[n:]
		if slow > 0 {
			time.Sleep(slow)
		}
	}
	if !broken {
		return
	}
	w.(http.Flusher).Flush()
	switch f.Kind {
	case "stall":
		<-r.Context().Done()
	case "reset":
		time.Sleep(10 * time.Millisecond) // let what was sent arrive
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	case "close":
		panic(http.ErrAbortHandler)
	}
}

// hubProcess is the test's end of a running hub.
type hubProcess struct {
	t       testing.TB
	address string
}

// startHub serves a directory from a new process that ends with the test.
func startHub(t testing.TB, dir string) *hubProcess {
	t.Helper()
	return &hubProcess{t: t, address: startRole(t, "hub", dir)}
}

// breaks replaces the faults and forgets what was seen.
func (p *hubProcess) breaks(slow time.Duration, faults ...fault) {
	p.t.Helper()
	body := mustJSON(map[string]any{"Faults": faults, "Slow": slow})
	resp, err := http.Post(p.address+"/control/faults", "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("control: status %d", resp.StatusCode)
	}
}

// seen returns the requests since breaks.
func (p *hubProcess) seen() []seenRequest {
	p.t.Helper()
	resp, err := http.Get(p.address + "/control/seen")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var seen []seenRequest
	if err := json.NewDecoder(resp.Body).Decode(&seen); err != nil {
		p.t.Fatal(err)
	}
	return seen
}

// source returns a source that reads from the hub and is quick to retry.
func (p *hubProcess) source(change ...func(*HubOptions)) *HubSource {
	p.t.Helper()
	o := HubOptions{
		Endpoint: p.address, RepoID: testRepo, Revision: testCommit, Attempts: 4, Idle: 5 * time.Second,
		backoff: backoff{base: time.Millisecond, limit: 4 * time.Millisecond, jitter: func() time.Duration { return 0 }},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := NewHubSource(o)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// writeFiles puts files into a new directory.
func writeFiles(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
