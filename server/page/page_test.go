package page_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/server/page"
)

// get asks page.Serve directly.
func get(t testing.TB, method, target string, header ...string) (*http.Response, bool) {
	t.Helper()
	rq := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		rq.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	found := page.Serve(w, rq)
	return w.Result(), found
}

func TestEveryFileComesWithPolicyTypeAndTag(t *testing.T) {
	types := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	err := fs.WalkDir(os.DirFS("web"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		resp, found := get(t, "GET", "/"+name)
		if !found || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: found %v, status %d", name, found, resp.StatusCode)
			return nil
		}
		if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, types[path.Ext(name)]) {
			t.Errorf("%s: type %q", name, got)
		}
		if got := resp.Header.Get("Content-Security-Policy"); got != page.Policy {
			t.Errorf("%s: policy %q", name, got)
		}
		again, _ := get(t, "GET", "/"+name, "If-None-Match", resp.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: asked again with its tag: status %d", name, again.StatusCode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOtherRequestsAreLeftAlone(t *testing.T) {
	for _, c := range []struct{ method, target string }{
		{"GET", "/v1/models"}, {"GET", "/web/index.html"}, {"GET", "/style"}, {"GET", "/style/"},
		{"GET", "/../page.go"}, {"POST", "/"},
	} {
		if _, found := get(t, c.method, c.target); found {
			t.Errorf("%s %s was answered", c.method, c.target)
		}
	}
	if resp, found := get(t, "HEAD", "/"); !found || resp.StatusCode != http.StatusOK {
		t.Errorf("HEAD /: found %v, status %d", found, resp.StatusCode)
	}
}

// The policy forbids it anyway; this names the line.
func TestNothingComesFromElsewhereOrStandsInline(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|` +
		`\son[a-z]+=|\sstyle="|<style|@import|url\(|(?:src|href)="(?:https?:)?//`)
	imports := regexp.MustCompile(`from "(\./|\.\./)([^"]+)"|(?:src|href)="([^"#]+)"`)
	err := fs.WalkDir(os.DirFS("web"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path.Join("web", name))
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if found := forbidden.FindString(line); found != "" {
				t.Errorf("%s:%d: %q", name, i+1, found)
			}
			for _, m := range imports.FindAllStringSubmatch(line, -1) {
				target := path.Join(path.Dir(name), m[1]+m[2]+m[3])
				if _, err := os.Stat(path.Join("web", target)); err != nil {
					t.Errorf("%s:%d: %v", name, i+1, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Behind a server with a key, the page comes without one, and other addresses keep their errors.
func TestTheServerMountsThePage(t *testing.T) {
	s, _ := serveWithout(t, func(o *server.Options) { o.APIKey = "secret" })
	for _, c := range []struct {
		path, kind, holds string
		status            int
	}{
		{"/", "text/html", "<title>fieldfare</title>", http.StatusOK},
		{"/main.js", "text/javascript", "import", http.StatusOK},
		{"/v1/nothing", "application/json", `"code":"not_found"`, http.StatusNotFound},
		{"/health", "application/json", `"code":"invalid_api_key"`, http.StatusUnauthorized},
	} {
		resp, err := http.Get(s.URL() + c.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), c.kind) || !strings.Contains(string(body), c.holds) {
			t.Errorf("%s: status %d, type %q, %.200s", c.path, resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
	}
}
