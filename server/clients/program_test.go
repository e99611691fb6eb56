package clients_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// scratch is where the program is built.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "fieldfare-clients-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// program builds the command once for all tests.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "fieldfare")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/fieldfare").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return path, err
})

// serveProgram runs the real program until the test ends and returns its address.
func serveProgram(t *testing.T, flags ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	cmd := exec.Command(path, append([]string{"serve", "--address", "127.0.0.1:0", "--log", "off"}, flags...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "HOME="+home, "LocalAppData="+home)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	lines := bufio.NewScanner(stderr)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if _, url, ok := strings.Cut(lines.Text(), "serving "); ok {
			go func() {
				for lines.Scan() { // so that the program never waits for a reader
				}
			}()
			return strings.TrimSuffix(url, "/v1")
		}
	}
	t.Fatalf("the program does not serve:\n%s", &said)
	return ""
}

// A picture is a question about one with its right answer.
type picture struct{ url, question, answer string }

// pictureCase is the first of the demo model's cases with pictures.
func pictureCase(t *testing.T) picture {
	t.Helper()
	folder := filepath.Join("..", "..", "testdata", "eval-images")
	data, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Messages []struct{ Content json.RawMessage } // a text or parts
		Expected string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var parts []struct{ File, Text string }
	if err := json.Unmarshal(cases[0].Messages[0].Content, &parts); err != nil {
		t.Fatal(err)
	}
	var p picture
	for _, part := range parts {
		p.question += part.Text
		if part.File != "" {
			if data, err = os.ReadFile(filepath.Join(folder, part.File)); err != nil {
				t.Fatal(err)
			}
			// Some clients look at the media type.
			p.url = "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data)
		}
	}
	p.answer = strings.TrimSuffix(cases[0].Expected, "<turn|>")
	return p
}

// waitIdle waits until the program computes nothing.
func waitIdle(t *testing.T, url string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for ctx.Err() == nil {
		resp, err := http.Get(url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		var health struct {
			Queue struct{ Running, Waiting int }
		}
		err = json.NewDecoder(resp.Body).Decode(&health)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if health.Queue.Running+health.Queue.Waiting == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program does not come to rest")
}
