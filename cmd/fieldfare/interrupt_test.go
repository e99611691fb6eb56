//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptStopsTheAnswer sends a real interrupt to the real program while it writes a long answer.
func TestInterruptStopsTheAnswer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fieldfare")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// At this temperature the demo model writes noise until the context is full.
	cmd := exec.Command(program, "chat", "--json", "--temperature", "100", "--top-k", "0", "--top-p", "1",
		"--max-context", "100000", "Hi")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last, sent := "", false
	for lines := bufio.NewScanner(stdout); lines.Scan(); last = lines.Text() {
		if sent || !strings.Contains(lines.Text(), `"type":"text"`) {
			continue // a second interrupt would end the program where it stands
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		sent = true
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("ended with %v, want exit status %d\n%s", err, exitFailed, &stderr)
	}
	if !strings.Contains(last, `"finish":"stopped"`) {
		t.Errorf("the last line is %s, want the account of a stopped answer", last)
	}
	if !strings.Contains(stderr.String(), "fieldfare: error: stopped") {
		t.Errorf("stderr says %q", &stderr)
	}
}
