//go:build linux

package standin

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// misuseVariable names the misuse that this process is to commit: each ends the process, so each has one of its own.
const misuseVariable = "STANDIN_TEST_MISUSE"

func TestMain(m *testing.M) {
	if name := os.Getenv(misuseVariable); name != "" {
		misuses[name].commit()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestMisuseEndsTheProcessWithAReport(t *testing.T) {
	ForTest(t, Options{}) // skips, or builds what the processes need
	for name, m := range misuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), misuseVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the process ended well:\n%s", out)
			}
			report := ""
			for line := range strings.Lines(string(out)) {
				if text, ok := strings.CutPrefix(line, "metal stand-in: "); ok {
					report = strings.TrimSpace(text)
					break
				}
			}
			if !strings.Contains(report, m.report) {
				t.Errorf("the report is %q, want %q; output:\n%.2000s", report, m.report, out)
			}
		})
	}
}
