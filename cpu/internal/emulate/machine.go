//go:build linux && amd64

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A machine is what Bochs plays.
type machine struct {
	kernel, model, arguments string
	limit                    time.Duration
}

const loader = `default test
prompt 0
timeout 1
label test
 kernel /vmlinuz
 append %s
`

// kernelArguments: Bochs misreports the state of protection keys (bit 515 of the features) and the size of compact areas
// (321, 323), so the kernel would give up on all vector state. With UMIP, LA57, RDPID and FSRM (514, 528, 534, 580) it
// faults early.
const kernelArguments = "initrd=/initrd console=ttyS0 quiet mitigations=off nokaslr lpj=1000000 tsc=reliable " +
	"random.trust_cpu=on clearcpuid=321,323,514,515,528,534,580"

const settings = `display_library: term
memory: guest=512, host=512
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0: enabled=1
ata0-master: type=cdrom, path=%[1]s/test.iso, status=inserted
boot: cdrom
cpu: model=%[2]s, ips=100000000
clock: sync=none
com1: enabled=1, mode=file, dev=%[1]s/serial
log: %[1]s/bochs.log
panic: action=fatal
error: action=report
sound: driver=dummy
speaker: enabled=0
`

// boot starts the machine with image and what test says on its command line, copies what it writes to stdout, and
// returns when it is off. The error tells how the test ended.
func (m machine) boot(dir, image string, test []string) error {
	line := strings.Join(append([]string{kernelArguments, m.arguments}, test...), " ")
	if err := m.writeDisc(dir, image, line); err != nil {
		return fmt.Errorf("write the disc: %w", err)
	}
	for name, text := range map[string]string{
		"bochsrc": fmt.Sprintf(settings, dir, m.model), "commands": "c\n", "serial": "", // c: run; Debian's Bochs is a debugger
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.limit)
	defer cancel()
	// script supplies the terminal that Bochs insists on.
	bochs := fmt.Sprintf("bochs -q -f %[1]s/bochsrc -rc %[1]s/commands", dir)
	cmd := exec.CommandContext(ctx, "script", "-qefc", bochs, "/dev/null")
	cmd.Env = append(os.Environ(), "TERM=xterm")
	var screen bytes.Buffer
	cmd.Stdout, cmd.Stderr = &screen, &screen
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	serial, err := follow(filepath.Join(dir, "serial"), ended)
	if ctx.Err() != nil {
		return fmt.Errorf("the machine was still running after %v", m.limit)
	}
	if _, status, ok := strings.Cut(serial, "\nstatus: "); !ok {
		return fmt.Errorf("the machine stopped without a status (%v): %.2000s", err, tail(screen.String()))
	} else if status, _, _ = strings.Cut(status, "\n"); strings.TrimSpace(status) != "<nil>" {
		return errors.New("the test failed: " + status)
	}
	return nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// writeDisc makes dir/test.iso.
func (m machine) writeDisc(dir, image, line string) error {
	if err := os.MkdirAll(filepath.Join(image, "isolinux"), 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{
		m.kernel:                         "vmlinuz",
		"/usr/lib/ISOLINUX/isolinux.bin": "isolinux/isolinux.bin",
		"/usr/lib/syslinux/modules/bios/ldlinux.c32": "isolinux/ldlinux.c32",
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(image, to), data, 0o644); err != nil {
			return err
		}
	}
	config := filepath.Join(image, "isolinux", "isolinux.cfg")
	if err := os.WriteFile(config, fmt.Appendf(nil, loader, line), 0o644); err != nil {
		return err
	}
	cmd := exec.Command("xorriso", "-as", "mkisofs", "-quiet", "-o", filepath.Join(dir, "test.iso"),
		"-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4",
		"-boot-info-table", image)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("xorriso: %w: %s", err, out)
	}
	return nil
}

// follow copies a growing file to stdout until something has ended, and returns all of it.
func follow(path string, ended <-chan error) (text string, err error) {
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-time.After(time.Second):
		}
		data, readErr := os.ReadFile(path)
		if readErr != nil {
			return text, readErr
		}
		if len(data) > len(text) {
			os.Stdout.Write(data[len(text):])
			text = string(data)
		}
	}
	return text, err
}
