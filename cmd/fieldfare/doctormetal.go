package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/metal"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
)

// doctorMetal prints everything that a report about the GPU needs, after checking every kernel anew: at the small size,
// and at the dimensions of the real model. Kernels that are wrong are an error.
func (a *app) doctorMetal(ctx context.Context) error {
	g, err := openGPU(ctx)
	if err != nil {
		return err
	}
	info := g.device.Info()
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	yes := map[bool]string{true: "yes", false: "no"}
	images := "yes"
	if err := g.backend.Images(); err != nil {
		images = "no: " + err.Error()
	}
	for _, row := range [][2]string{
		{"fieldfare", build() + ", " + runtime.Version()},
		{"system", g.system + ", " + runtime.GOARCH},
		{"gpu", info.Name},
		{"family", fmt.Sprintf("Apple%d, Metal 3: %s, Metal 4: %s", info.AppleFamily, yes[info.Metal3], yes[info.Metal4])},
		{"memory shared with the CPU", yes[info.UnifiedMemory]},
		{"working set", size(info.WorkingSet)},
		{"longest buffer", size(info.MaxBuffer)},
		{"threads of a threadgroup", fmt.Sprint(info.MaxThreads)},
		{"memory of a threadgroup", size(int64(info.MaxThreadgroupMemory))},
		{"pages", size(int64(info.PageSize))},
		{"images", images},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	small, failed := g.check(true)
	if small == nil {
		return failed
	}
	fmt.Fprintln(a.stdout, "\nkernels, small:")
	for _, line := range small.Lines {
		fmt.Fprintln(a.stdout, "  "+line)
	}
	if failed == nil {
		if err := a.doctorDemo(ctx, g); err != nil {
			return err
		}
	}
	full, err := g.backend.Check(ctx, metal.CheckFull)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\nkernels, at the dimensions of the 26B:")
	for _, r := range full {
		fmt.Fprintln(a.stdout, "  "+r.String())
	}
	if failed == nil {
		failed = metal.CheckError(full)
	}
	return failed
}

// doctorDemo asks the demo model on both backends and says whether the answers agree, and what a token took on the GPU.
func (a *app) doctorDemo(ctx context.Context, g *gpu) error {
	dir, err := os.MkdirTemp("", "fieldfare-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "demo.gturbo")
	if err := install.Materialise(ctx, testdata.Demo(), path); err != nil {
		return err
	}
	onCPU, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	want, err := demoAnswer(ctx, path, onCPU)
	if err != nil {
		return err
	}
	got, err := demoAnswer(ctx, path, g.backend)
	if err != nil {
		return err
	}
	verdict := "as on the CPU"
	if !slices.Equal(got.ids, want.ids) {
		verdict = fmt.Sprintf("NOT as on the CPU: %v, want %v", got.ids, want.ids)
	}
	fmt.Fprintf(a.stdout, "\ndemo model: %d tokens, %s\n", len(got.ids), verdict)
	n, s := len(got.ids), got.stats
	fmt.Fprintf(a.stdout, "  a token: %s, of which the GPU worked %s; %d command buffers, %d dispatches, %d waits of %s\n",
		(got.took / time.Duration(n)).Round(time.Microsecond), (s.GPUTime / time.Duration(n)).Round(time.Microsecond),
		s.CommandBuffers/n, s.Dispatches/n, s.Waits/n, (s.WaitTime / time.Duration(max(1, s.Waits))).Round(time.Microsecond))
	return nil
}

type demoRun struct {
	ids   []int32
	took  time.Duration // of the answer, without the prompt
	stats metal.Stats   // the same, on metal
}

func demoAnswer(ctx context.Context, path string, b core.Backend) (demoRun, error) {
	var out demoRun
	rt, err := core.Load(ctx, path, core.Options{Backend: b, MaxContext: 512})
	if err != nil {
		return out, err
	}
	defer rt.Close()
	p, err := rt.Prepare(ctx, text.Conversation{
		Messages: []text.Message{{Role: text.RoleUser, Content: text.Plain("Write the first ten numbers.")}},
	}, nil)
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
	stats := func() metal.Stats {
		if m, ok := b.(*metal.Backend); ok {
			return m.Stats()
		}
		return metal.Stats{}
	}
	before, from := stats(), time.Now()
	_, err = s.Generate(ctx, core.GenerateOptions{MaxTokens: 24}, func(t core.Token) error {
		out.ids = append(out.ids, t.ID)
		return nil
	})
	out.took, out.stats = time.Since(from), stats().Sub(before)
	if err == nil && len(out.ids) == 0 {
		err = fmt.Errorf("the demo model says nothing on %s", b.Name())
	}
	return out, err
}
