//go:build linux && amd64

// Command init is the only process of the machine that package emulate boots: it runs /cpu.test with the arguments of
// the kernel's command line that begin with -test, writes what the test says to the first serial port, and switches the
// machine off. Its last line is the test's exit status.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	serial, err := os.OpenFile("/dev/ttyS0", os.O_WRONLY, 0)
	if err != nil {
		panic(err) // the kernel says so on its console
	}
	fmt.Fprintf(serial, "\nstatus: %v\n", test(serial))
	if err := unix.IoctlSetInt(int(serial.Fd()), unix.TCSBRK, 1); err != nil { // wait until all is sent
		fmt.Fprintln(serial, "drain:", err)
	}
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintln(serial, "power off:", err)
	}
}

func test(serial *os.File) error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmp", "/tmp", "tmpfs", 0, ""); err != nil {
		return err
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	cmd := exec.Command("/cpu.test")
	for _, word := range strings.Fields(string(line)) {
		if strings.HasPrefix(word, "-test") {
			cmd.Args = append(cmd.Args, word)
		}
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/tmp", serial, serial
	// Go's collector brings AVX-512 of its own (VBMI, GFNI) to such processors: with it, maps broke under Bochs.
	cmd.Env = append(os.Environ(), "GOGC=off")
	return cmd.Run()
}
