package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/metal"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
)

// doctorDemo asks the demo model about a text and, where the GPU runs the image tower, about a picture, on the CPU and on
// the GPU. It says whether the answers agree, and how long both took.
func (a *app) doctorDemo(ctx context.Context, b *metal.Backend) error {
	dir, err := os.MkdirTemp("", "fieldfare-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "demo.gturbo")
	if err := install.Materialise(ctx, testdata.Demo(), path); err != nil {
		return err
	}
	if err := unpackDemoPack(ctx, path); err != nil {
		return err
	}
	onCPU, err := cpu.New(cpu.Options{Threads: cores, Float32: true})
	if err != nil {
		return err
	}
	questions := []demoQuestion{{name: "text", ask: "Write the first ten numbers."}}
	if picture := demoPicture(); picture != nil && b.Images() == nil {
		questions = append(questions, demoQuestion{"picture", "What shape is on the left?", picture})
	}
	fmt.Fprintln(a.stdout, "\ndemo model:")
	for _, q := range questions {
		want, err := q.answer(ctx, path, onCPU)
		if err != nil {
			return fmt.Errorf("demo model on the CPU: %s: %w", q.name, err)
		}
		got, err := q.answer(ctx, path, b)
		if err != nil {
			return fmt.Errorf("demo model on the GPU: %s: %w", q.name, err)
		}
		verdict := "as on the CPU"
		if !slices.Equal(got.ids, want.ids) {
			verdict = fmt.Sprintf("NOT as on the CPU: %v, want %v", got.ids, want.ids)
		}
		fmt.Fprintf(a.stdout, "  %s: %d tokens, %d new, %s\n    CPU: %s\n    GPU: %s\n    %s\n", q.name, got.prompt, len(got.ids),
			verdict, want, got, got.work())
	}
	return nil
}

// A demoQuestion is asked of the demo model.
type demoQuestion struct {
	name, ask string
	media     []core.Media
}

// A demoRun is an answer and what it took.
type demoRun struct {
	prompt      int // tokens
	ids         []int32
	read, write time.Duration // the prompt with its picture, the answer
	stats       metal.Stats   // of the answer, on metal
}

func (r demoRun) String() string {
	return fmt.Sprintf("prompt in %s, then %s a token", r.read.Round(10*time.Microsecond),
		(r.write / time.Duration(len(r.ids))).Round(time.Microsecond))
}

// work says what a token took of the GPU.
func (r demoRun) work() string {
	n, s := len(r.ids), r.stats
	return fmt.Sprintf("a token: the GPU worked %s; %d command buffers, %d dispatches, %d waits of %s",
		(s.GPUTime / time.Duration(n)).Round(time.Microsecond), s.CommandBuffers/n, s.Dispatches/n, s.Waits/n,
		(s.WaitTime / time.Duration(max(1, s.Waits))).Round(time.Microsecond))
}

// answer asks on a backend, greedily.
func (q demoQuestion) answer(ctx context.Context, path string, b core.Backend) (demoRun, error) {
	var out demoRun
	extensions, err := demoExtensions()
	if err != nil {
		return out, err
	}
	rt, err := core.Load(ctx, path, core.Options{Backend: b, MaxContext: 512, Extensions: extensions})
	if err != nil {
		return out, err
	}
	defer rt.Close()
	content := text.Plain(q.ask)
	if len(q.media) > 0 {
		content = text.List(text.Part{Image: true}, text.Part{Text: q.ask})
	}
	conversation := text.Conversation{Messages: []text.Message{{Role: text.RoleUser, Content: content}}}
	from := time.Now()
	p, err := rt.Prepare(ctx, conversation, q.media)
	if err != nil {
		return out, err
	}
	s, err := rt.NewSession()
	if err != nil {
		return out, err
	}
	defer s.Close()
	if _, err := s.Prefill(ctx, p, nil); err != nil {
		return out, err
	}
	out.prompt, out.read = len(p.Tokens), time.Since(from)
	before, from := statsOf(b), time.Now()
	_, err = s.Generate(ctx, core.GenerateOptions{MaxTokens: 24}, func(t core.Token) error {
		out.ids = append(out.ids, t.ID)
		return nil
	})
	out.write, out.stats = time.Since(from), statsOf(b).Sub(before)
	if err == nil && len(out.ids) == 0 {
		err = fmt.Errorf("no answer on %s", b.Name())
	}
	return out, err
}

// statsOf is zero where the CPU computes.
func statsOf(b core.Backend) metal.Stats {
	if m, ok := b.(*metal.Backend); ok {
		return m.Stats()
	}
	return metal.Stats{}
}
