package main

import (
	"context"
	"fmt"
	"runtime"
	"text/tabwriter"

	"github.com/fieldfare/fieldfare/metal"
)

// doctorMetal prints everything that a report about the GPU needs, after checking every kernel anew: at the small size,
// and at the dimensions of the real model. Kernels that are wrong are an error, after the report.
func (a *app) doctorMetal(ctx context.Context) error {
	g, err := openGPU(ctx, metal.Options{})
	if err != nil {
		return err
	}
	if err := a.doctorDevice(g); err != nil {
		return err
	}
	small, failed := g.check(true)
	if small == nil {
		return failed
	}
	tensors := "passed their check: used for pictures, and for prompts with --metal-tensors"
	if small.TensorsOff != "" {
		tensors = "not used: " + small.TensorsOff
	}
	fmt.Fprintf(a.stdout, "\ntensor operations: %s\n\nkernels, small:\n", tensors)
	for _, line := range small.Lines {
		fmt.Fprintln(a.stdout, "  "+line)
	}
	if failed == nil {
		if err := a.doctorDemo(ctx, g.backend); err != nil {
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

// doctorDevice prints what the device and the system say of themselves.
func (a *app) doctorDevice(g *gpu) error {
	info := g.device.Info()
	yes := map[bool]string{true: "yes", false: "no"}
	images := "yes"
	if err := g.backend.Images(); err != nil {
		images = "no: " + err.Error()
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"fieldfare", build() + ", " + runtime.Version()},
		{"system", g.system + ", " + runtime.GOARCH},
		{"gpu", info.Name},
		{"family", fmt.Sprintf("Apple%d, Metal 3: %s, Metal 4: %s", info.AppleFamily, yes[info.Metal3], yes[info.Metal4])},
		{"memory shared with the CPU", yes[info.UnifiedMemory]},
		{"working set", size(info.WorkingSet)},
		{"longest buffer", size(info.MaxBuffer)},
		{"threads of a threadgroup", fmt.Sprintf("%d, at most %d by %d by %d", info.MaxThreads,
			info.MaxThreadsAxis.X, info.MaxThreadsAxis.Y, info.MaxThreadsAxis.Z)},
		{"memory of a threadgroup", size(int64(info.MaxThreadgroupMemory))},
		{"pages", size(int64(info.PageSize))},
		{"images", images},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	return w.Flush()
}
