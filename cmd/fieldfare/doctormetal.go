package main

import (
	"context"
	"fmt"
	"runtime"
	"text/tabwriter"

	"github.com/fieldfare/fieldfare/metal"
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
