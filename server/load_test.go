package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/server"
)

// TestLoad lets many clients come and go: a third leaves at a random moment, some read slowly, some never finish their
// request. FIELDFARE_LOAD=full sends 200 requests by 20 clients, else it is a fifth of that.
func TestLoad(t *testing.T) {
	clients, each := 8, 5
	if os.Getenv("FIELDFARE_LOAD") == "full" {
		clients, each = 20, 10
	}
	s := start(t, func(o *server.Options) {
		o.QueueLength = clients
		o.BodyTimeout, o.HeaderTimeout = 500*time.Millisecond, 500*time.Millisecond
		o.WriteTimeout = 5 * time.Second
	})
	s.chat(say("Hello")) // what is only made once is made now
	s.chat(look(t, "Describe the image.", scene))
	before := rest(s)
	l := &load{s: s, picture: look(t, "Describe the image.", scene)}
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(11, uint64(c)))
			for range each {
				l.visit(r)
			}
		})
	}
	all.Wait()
	s.waitIdle()
	t.Logf("%d answered, %d left, %d read slowly, %d never finished their request, %d turned away",
		l.answered.Load(), l.left.Load(), l.slow.Load(), l.loris.Load(), l.busy.Load())
	if l.answered.Load() == 0 || l.left.Load() == 0 || l.slow.Load() == 0 || l.loris.Load() == 0 {
		t.Error("the load had not all kinds of clients")
	}
	if a := s.chat(say("Hello")); a.content() != "Hello! How can I help you?" {
		t.Errorf("afterwards: %q", a.content())
	}
	if after := rest(s); after.goroutines > before.goroutines+5 || after.heap > before.heap+16<<20 {
		stacks := make([]byte, 1<<20)
		t.Errorf("before %+v, after %+v\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
	if kv := s.rt.Memory()["kv"]; kv > 1<<30 {
		t.Errorf("conversations hold %d bytes", kv)
	}
	_, data := s.get("/metrics")
	if !strings.Contains(string(data), "fieldfare_request_bytes 0\n") {
		t.Error("bytes of requests are still held")
	}
}

// state is what must not grow.
type state struct {
	goroutines int
	heap       uint64
}

// rest measures when connections that nobody uses are closed and garbage is gone.
func rest(s *testServer) state {
	s.waitIdle()
	var st state
	for range 50 {
		http.DefaultClient.CloseIdleConnections()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now := state{runtime.NumGoroutine(), m.HeapAlloc}
		if st.goroutines != 0 && now.goroutines >= st.goroutines {
			return now
		}
		st = now
		time.Sleep(100 * time.Millisecond)
	}
	return st
}

// load counts what became of the visits.
type load struct {
	s                                 *testServer
	picture                           string
	answered, left, slow, loris, busy atomic.Int64
}

// visit is one request of a random kind.
func (l *load) visit(r *rand.Rand) {
	body := []string{
		say(fmt.Sprintf("What is %d + %d?", r.IntN(90), r.IntN(90))),
		say("Count from 1 to 9.", `"max_tokens":300`, endless),
		say(strings.Repeat("word ", 100+r.IntN(400)) + "Hello"),
		l.picture,
	}[r.IntN(4)]
	if r.IntN(4) > 0 {
		body = strings.TrimSuffix(body, "}") + `,"stream":true}`
	}
	switch r.IntN(6) {
	case 0, 1:
		l.leave(body, time.Duration(r.IntN(300))*time.Millisecond)
	case 2:
		l.readSlowly(body)
	case 3:
		l.neverFinish(body)
	default:
		l.stay(body)
	}
}

func (l *load) post(ctx context.Context, body string) (*http.Response, error) {
	rq := l.s.request("POST", "/v1/chat/completions", body).WithContext(ctx)
	return http.DefaultClient.Do(rq)
}

func (l *load) stay(body string) {
	resp, err := l.post(context.Background(), body)
	if err != nil {
		l.s.t.Error(err)
		return
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		l.busy.Add(1)
	case err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(data), `"error":{`):
		l.s.t.Errorf("status %d, %v: %s", resp.StatusCode, err, data)
	default:
		l.answered.Add(1)
	}
}

func (l *load) leave(body string, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	if resp, err := l.post(ctx, body); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	l.left.Add(1)
}

// readSlowly takes the answer in small pieces through a small window.
func (l *load) readSlowly(body string) {
	conn := l.dial()
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	io.WriteString(conn, rawRequest("POST /v1/chat/completions", body, "Host: localhost", "Content-Type: application/json", "Connection: close"))
	r := bufio.NewReaderSize(conn, 256)
	for range 20 {
		if _, err := r.Discard(256); err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.slow.Add(1)
}

// neverFinish sends the beginning of a request and waits to be left.
func (l *load) neverFinish(body string) {
	conn := l.dial()
	defer conn.Close()
	request := rawRequest("POST /v1/chat/completions", body, "Host: localhost", "Content-Type: application/json")
	io.WriteString(conn, request[:len(request)/2])
	if _, err := io.Copy(io.Discard, conn); err != nil {
		l.s.t.Errorf("an unfinished request: %v", err)
	}
	l.loris.Add(1)
}

func (l *load) dial() net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.s.url, "http://"))
	if err != nil {
		panic(err)
	}
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}
