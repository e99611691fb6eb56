package page_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/server/page"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/vision"
)

// demoPath is the demo model with its image pack, installed once for all tests.
var demoPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fieldfare-page-*")
	if err != nil {
		panic(err)
	}
	demoPath = filepath.Join(dir, "demo.gturbo")
	err = errors.Join(
		install.Materialise(context.Background(), testdata.Demo(), demoPath),
		install.MaterialisePack(context.Background(), testdata.DemoVision(), filepath.Join(dir, "demo.vision.gturbo")))
	if err != nil {
		panic(err)
	}
	code := m.Run()
	closeBrowser()
	os.RemoveAll(dir)
	os.Exit(code)
}

// detailed is what a picture of high detail may take, in soft tokens. The demo's default is 70.
const detailed = 280

// loadDemo returns the demo model, which sees.
func loadDemo(t testing.TB) *core.Runtime {
	t.Helper()
	sight, err := vision.New(vision.Options{MaxBudget: detailed})
	if err != nil {
		t.Fatal(err)
	}
	return load(t, sight)
}

// loadBlind returns the demo model without its image pack.
func loadBlind(t testing.TB) *core.Runtime { return load(t) }

func load(t testing.TB, extensions ...core.Extension) *core.Runtime {
	t.Helper()
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := core.Load(context.Background(), demoPath, core.Options{Backend: backend, Extensions: extensions})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// serve serves the demo model and the page until the test ends. Answers are greedy.
func serve(t testing.TB, change ...func(*server.Options)) *server.Server {
	t.Helper()
	s, _ := serveWithout(t, change...)
	rt := loadDemo(t)
	s.SetModel(rt)
	t.Cleanup(func() {
		stop(t, s) // nothing uses the model any more
		if err := rt.Close(); err != nil {
			t.Errorf("close the model: %v", err)
		}
	})
	return s
}

// serveWithout serves the page without a model. The channel gives what Serve returned.
func serveWithout(t testing.TB, change ...func(*server.Options)) (*server.Server, <-chan error) {
	t.Helper()
	o := server.Options{Address: "127.0.0.1:0", Page: page.Serve}
	o.ImageBudgets.High = detailed
	for _, c := range change {
		c(&o)
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() { stop(t, s) })
	return s, served
}

// stop ends a server; one that has ended stays so.
func stop(t testing.TB, s *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("shutdown: %v", err)
	}
}
