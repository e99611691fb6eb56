//go:build linux && amd64

// Command emulate runs tests of package cpu on a whole emulated PC, whose processor has AVX-512 when the one at hand has
// not. No emulator of single programs knows these instructions (QEMU's stops at AVX2); Bochs does, but only emulates
// machines, so this boots one: Debian's kernel, and an initial file system that holds the test binary and a small init.
// What the test prints comes back over the serial port.
//
//	emulate -kernel vmlinuz -test.short '-test.run=TestAffine|TestDense'
//
// It needs the Debian packages bochs, bochs-term, bochsbios, vgabios, isolinux, syslinux-common and xorriso, and a
// kernel of Debian 12's linux-image-cloud-amd64. Arguments from the first -test flag on are the test's, each with
// its value after an equals sign.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	own, test := os.Args[1:], []string(nil)
	for i, arg := range own {
		if strings.HasPrefix(arg, "-test.") {
			own, test = own[:i], own[i:]
			break
		}
	}
	var m machine
	flags := flag.NewFlagSet("emulate", flag.ExitOnError)
	flags.StringVar(&m.kernel, "kernel", "", "the kernel `file` to boot")
	flags.StringVar(&m.model, "model", "corei7_icelake_u", "Bochs's `name` of the processor")
	flags.StringVar(&m.arguments, "append", "", "more `words` for the kernel's command line")
	flags.DurationVar(&m.limit, "limit", 20*time.Minute, "how long the machine may run")
	if err := flags.Parse(own); err != nil {
		panic("BUG: " + err.Error()) // it exits by itself
	}
	if err := emulate(m, test); err != nil {
		fmt.Fprintln(os.Stderr, "emulate:", err)
		os.Exit(1)
	}
}

// emulate builds the tests and runs them on m.
func emulate(m machine, test []string) error {
	if m.kernel == "" {
		return errors.New("no -kernel to boot")
	}
	dir, err := os.MkdirTemp("", "emulate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const module = "github.com/fieldfare/fieldfare/cpu"
	programs := map[string]string{"init": filepath.Join(dir, "init"), "cpu.test": filepath.Join(dir, "cpu.test")}
	for _, args := range [][]string{
		{"build", "-ldflags=-s -w", "-o", programs["init"], module + "/internal/emulate/init"},
		{"test", "-c", "-ldflags=-s -w", "-o", programs["cpu.test"], module},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", args[0], err)
		}
	}
	image := filepath.Join(dir, "image")
	if err := writeInitrd(filepath.Join(image, "initrd"), programs); err != nil {
		return fmt.Errorf("write the initial file system: %w", err)
	}
	return m.boot(dir, image, test)
}
