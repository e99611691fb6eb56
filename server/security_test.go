package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/server"
)

// TestAttacksAreRefused sends what the rules of security.go and body.go are there for, over a connection of its own.
func TestAttacksAreRefused(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.AllowedHosts = []string{"mac.local"}
		o.AllowedOrigins = []string{"http://localhost:3000"}
		o.MaxBody = 4096
	})
	host := strings.TrimPrefix(s.url, "http://")
	_, port, _ := net.SplitHostPort(host)
	body := say("Hello", `"max_tokens":1`)
	post := func(headers ...string) string {
		return rawRequest("POST /v1/chat/completions", body, append([]string{"Content-Type: application/json"}, headers...)...)
	}
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"a plain request", post("Host: " + host), 200},
		{"localhost", post("Host: localhost:" + port), 200},
		{"LOCALHOST", post("Host: LOCALHOST"), 200},
		{"a listed name", post("Host: Mac.local:80"), 200},
		{"IPv6 loopback", post("Host: [::1]:" + port), 200},
		{"another address of loopback", post("Host: 127.8.8.8"), 200},

		{"DNS rebinding: another name", post("Host: evil.example"), 403},
		{"DNS rebinding: another name with our port", post("Host: evil.example:" + port), 403},
		{"a name that begins like ours", post("Host: localhost.evil.example"), 403},
		{"a name that ends like ours", post("Host: evil-localhost"), 403},
		{"an address as part of a name", post("Host: 127.0.0.1.evil.example"), 403},
		{"a subdomain of localhost", post("Host: evil.localhost"), 403},
		{"a final dot", post("Host: localhost."), 403},
		{"an address that is not ours", post("Host: 8.8.8.8"), 403},
		{"an address as one number", post("Host: 2130706433"), 403},
		{"an address in octal", post("Host: 0177.0.0.1"), 403},
		{"no name", post("Host: "), 403},
		{"a port alone", post("Host: :" + port), 403},
		{"a user in front", post("Host: 127.0.0.1@evil.example"), 400},

		{"our own page", post("Host: "+host, "Origin: http://"+host), 200},
		{"a listed page", post("Host: "+host, "Origin: http://localhost:3000"), 200},
		{"a page of nowhere", post("Host: "+host, "Origin: null"), 403},
		{"a page of another site", post("Host: "+host, "Origin: http://evil.example"), 403},
		{"our page by another scheme", post("Host: "+host, "Origin: https://"+host), 403},
		{"our page by another port", post("Host: "+host, "Origin: http://127.0.0.1:1"), 403},
		{"a listed origin as a prefix", post("Host: "+host, "Origin: http://localhost:3000.evil.example"), 403},
		{"a listed origin as a suffix", post("Host: "+host, "Origin: http://evil.example/http://localhost:3000"), 403},
		{"a listed origin in capitals", post("Host: "+host, "Origin: HTTP://LOCALHOST:3000"), 403},
		{"two origins", post("Host: "+host, "Origin: http://localhost:3000", "Origin: http://evil.example"), 403},
		{"an empty origin", post("Host: "+host, "Origin: "), 403},
		{"a rebound name with its own origin", post("Host: evil.example", "Origin: http://evil.example"), 403},

		{"a form of a page", rawRequest("POST /v1/chat/completions", body, "Host: "+host, "Content-Type: text/plain"), 415},
		{"a form with fields", rawRequest("POST /v1/chat/completions", body, "Host: "+host, "Content-Type: application/x-www-form-urlencoded"), 415},
		{"no type", rawRequest("POST /v1/chat/completions", body, "Host: "+host), 415},
		{"two types in one", rawRequest("POST /v1/chat/completions", body, "Host: "+host, "Content-Type: text/plain, application/json"), 415},
		{"another character set", rawRequest("POST /v1/chat/completions", body, "Host: "+host, "Content-Type: application/json; charset=utf-16"), 415},
		{"UTF-8 by name", rawRequest("POST /v1/chat/completions", body, "Host: "+host, "Content-Type: Application/JSON; charset=UTF-8"), 200},
		{"a compressed body", post("Host: "+host, "Content-Encoding: gzip"), 415},

		{"a body beyond the limit", rawRequest("POST /v1/chat/completions", strings.Repeat(" ", 4097), "Host: "+host, "Content-Type: application/json"), 413},
		{"a length beyond the limit", "POST /v1/chat/completions HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n", 413},
		{"chunks beyond the limit", "POST /v1/chat/completions HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2000\r\n" + strings.Repeat(" ", 0x2000) + "\r\n0\r\n\r\n", 413},
		{"chunks within the limit", "POST /v1/chat/completions HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body), 200},
		{"neither body nor length", "POST /v1/chat/completions HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n\r\n", 411},
		{"both length and chunks", "POST /v1/chat/completions HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: gzip, chunked\r\n\r\n{}", 501},
		{"an empty body", rawRequest("POST /v1/chat/completions", "", "Host: "+host, "Content-Type: application/json"), 400},
		{"depth", rawRequest("POST /v1/chat/completions", strings.Repeat(`{"a":`, 500), "Host: "+host, "Content-Type: application/json"), 400},
		{"headers beyond the limit", "GET /livez HTTP/1.1\r\nHost: " + host + "\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
		{"a path upwards", "GET /../../etc/passwd HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 404},
		{"a method nobody knows", "BREW /v1/models HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 405},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header := sendRaw(t, host, c.request)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if allowed := header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != "http://localhost:3000" {
				t.Errorf("origin %q is allowed", allowed)
			}
		})
	}
}

// rawRequest spells a request with a body of its length.
func rawRequest(line, body string, headers ...string) string {
	return line + " HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// sendRaw sends bytes as they are and reads the answer's status and header.
func sendRaw(t *testing.T, address, request string) (int, http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	go io.WriteString(conn, request) // the server may answer before it has read everything
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header
}

func TestPreflight(t *testing.T) {
	s := start(t, func(o *server.Options) { o.AllowedOrigins = []string{"http://localhost:3000"} })
	ask := func(origin, headers string) (int, http.Header) {
		rq := s.request("OPTIONS", "/v1/chat/completions", "")
		if origin != "" {
			rq.Header.Set("Origin", origin)
		}
		rq.Header.Set("Access-Control-Request-Method", "POST")
		rq.Header.Set("Access-Control-Request-Headers", headers)
		rq.Header.Set("Access-Control-Request-Private-Network", "true")
		status, header, _ := s.do(rq)
		return status, header
	}
	status, header := ask("http://localhost:3000", "content-type, authorization, x-stainless-os, x-evil")
	if status != 204 || header.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
		header.Get("Access-Control-Allow-Headers") != "authorization, content-type, x-stainless-os" ||
		header.Get("Access-Control-Allow-Private-Network") != "true" || header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("a listed origin: status %d, %v", status, header)
	}
	if !strings.Contains(strings.Join(header.Values("Vary"), ","), "Origin") {
		t.Errorf("Vary is %q", header.Values("Vary"))
	}
	for _, origin := range []string{"http://evil.example", "null"} {
		if status, header := ask(origin, "content-type"); status != 403 || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, %v", origin, status, header)
		}
	}
	if status, _ := ask("", ""); status != 405 {
		t.Errorf("no origin: status %d", status)
	}
}

func TestAPIKey(t *testing.T) {
	s := start(t, func(o *server.Options) { o.APIKey = "correct horse" })
	for _, c := range []struct {
		path, header string
		status       int
	}{
		{"/v1/models", "", 401},
		{"/v1/models", "Bearer wrong", 401},
		{"/v1/models", "Bearer correct horse", 200},
		{"/v1/models", "bearer  correct horse", 200},
		{"/v1/models", "Basic correct horse", 401},
		{"/v1/models", "correct horse", 401},
		{"/v1/models", "Bearer correct hors", 401},
		{"/v1/models", "Bearer correct horse battery", 401},
		{"/v1/nothing", "", 401},
		{"/metrics", "", 401},
		{"/health", "", 401},
		{"/livez", "", 200},
		{"/readyz", "", 200},
	} {
		rq := s.request("GET", c.path, "")
		if c.header != "" {
			rq.Header.Set("Authorization", c.header)
		}
		status, header, data := s.do(rq)
		if status != c.status || status == 401 && (header.Get("WWW-Authenticate") != "Bearer" || decode[apiError](t, data).Error.Code != "invalid_api_key") {
			t.Errorf("%s with %q: status %d: %s", c.path, c.header, status, data)
		}
	}
}

func TestAddressesBeyondLoopbackNeedAKey(t *testing.T) {
	for _, c := range []struct {
		address, key string
		want         error
	}{
		{"", "", nil}, {"127.0.0.1:0", "", nil}, {"localhost:0", "", nil}, {"[::1]:0", "", nil},
		{"0.0.0.0:0", "", server.ErrExposed}, {":0", "", server.ErrOptions}, {"[::]:0", "", server.ErrExposed},
		{"192.168.1.2:0", "", server.ErrExposed}, {"0.0.0.0:0", "key", nil},
		{"evil.example:0", "key", server.ErrOptions}, {"127.0.0.1", "", server.ErrOptions}, {"127.0.0.1:0", " key", server.ErrOptions},
	} {
		_, err := server.New(server.Options{Address: c.address, APIKey: c.key})
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("address %q, key %q: %v, want %v", c.address, c.key, err, c.want)
		}
	}
}

func TestSlowClientsAreLeft(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.HeaderTimeout, o.BodyTimeout, o.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	})
	address := strings.TrimPrefix(s.url, "http://")
	for _, c := range []struct {
		name, bytes, answer string
	}{
		{"half a header", "GET /livez HTTP/1.1\r\nHost: loc", ""},
		{"half a body", "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "408"},
		{"half a body that nobody reads", "POST /livez HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n{", "403"},
		{"nothing after an answer", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			io.WriteString(conn, c.bytes)
			got, err := io.ReadAll(conn) // ends when the server closes
			if err != nil || !strings.Contains(string(got), c.answer) {
				t.Errorf("the connection ended with %q, %v", got, err)
			}
		})
	}
}

func TestLogsHoldNothingOfTheUsers(t *testing.T) {
	log := new(logBuffer)
	s := start(t, func(o *server.Options) {
		o.APIKey = "key-4711"
		o.Log = log.logger()
	})
	rq := s.request("POST", "/v1/chat/completions?q=SECRETQUERY%0aX", say("SECRETPROMPT", `"max_tokens":1`))
	rq.Header.Set("Authorization", "Bearer key-4711")
	rq.Header.Set("X-Request-Id", "SECRETID")
	rq.Header.Set("User-Agent", "SECRETAGENT")
	s.do(rq)
	rq = s.request("POST", "/v1/chat/completions", `{"SECRETFIELD":1}`)
	rq.Header.Set("Authorization", "Bearer key-4711")
	s.do(rq)
	rq = s.request("GET", "/SECRETPATH%0d%0aX", "")
	rq.Header.Set("Authorization", "Bearer SECRETKEY")
	s.do(rq)
	text := log.String()
	if n := strings.Count(text, "\n"); n != 3 || strings.Contains(text, "SECRET") || strings.Contains(text, "key-4711") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
