package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/cpu"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and what it was built for", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "fieldfare %s (%s, %s/%s, CPU kernels: %s)\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, cpu.KernelSets()[0])
			return err
		},
	}
}

// version is the module's version when the program was installed as one, else the revision that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "(development build)"
}
