package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// openCodeConfig gives the agent a short prompt and no tools: the demo model knows small questions only, and OpenCode's
// own prompt is longer than all it was trained on.
const openCodeConfig = `{
	"provider": {"fieldfare": {
		"npm": "@ai-sdk/openai-compatible", "name": "fieldfare", "options": {"baseURL": "%s/v1"},
		"models": {"demo": {"name": "demo", "limit": {"context": 4096, "output": 512}}}
	}},
	"model": "fieldfare/demo", "small_model": "fieldfare/demo", "autoupdate": false, "share": "disabled",
	"agent": {
		"plain": {"mode": "primary", "prompt": "You are a helpful assistant.", "temperature": 0, "tools": {"*": false}},
		"title": {"prompt": "Write a title."}
	}
}`

// TestOpenCode holds a conversation of two turns with the coding agent, without a terminal. It asks for titles in
// between.
func TestOpenCode(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, "npm: %v", err)
	}
	dir := clientCache(t, func(dir string) *exec.Cmd {
		// No lock file: npm writes one for the system that it runs on and refuses it on others.
		cmd := exec.Command("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		return cmd
	}, "opencode/package.json")
	programs, err := filepath.Glob(filepath.Join(dir, "node_modules", "opencode-*", "bin", "opencode"))
	if err != nil || len(programs) == 0 {
		missing(t, "there is no OpenCode for this system: %v", err)
	}
	project, home := t.TempDir(), t.TempDir()
	config := fmt.Sprintf(openCodeConfig, serveProgram(t))
	if err := os.WriteFile(filepath.Join(project, "opencode.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(question string, flags ...string) ([]byte, error) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
		defer stop()
		// Helpers of the program outlive it and keep its pipes: its output goes to a file.
		out, err := os.Create(filepath.Join(home, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		args := append([]string{"run", "--agent", "plain", "--model", "fieldfare/demo", "--format", "json"}, flags...)
		cmd := exec.CommandContext(ctx, programs[0], append(args, question)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = project, out, out
		// OpenCode takes its folder from PWD, which go test has set to the package's.
		cmd.Env = append(os.Environ(), "PWD="+project, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home,
			"XDG_CACHE_HOME="+home, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
		err = cmd.Run()
		events, _ := os.ReadFile(out.Name())
		return events, err
	}
	ask := func(question string, flags ...string) string {
		t.Helper()
		events, err := run(question, flags...)
		if err != nil { // on a busy machine it gives up on parts of its own
			t.Logf("%v\n%s", err, events)
			events, err = run(question, flags...)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, events)
		}
		return openCodeText(t, events)
	}
	if got := ask("What is the capital of Peru?"); got != "The capital of Peru is Lima." {
		t.Errorf("the first answer is %q", got)
	}
	if got := ask("Count from 7 to 12.", "--continue"); got != "7, 8, 9, 10, 11, 12." {
		t.Errorf("the second answer is %q", got)
	}
}

// openCodeText joins the texts among the events that OpenCode printed.
func openCodeText(t *testing.T, events []byte) string {
	t.Helper()
	var text strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(events))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Type string
			Part struct{ Text string }
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Type == "text" {
			text.WriteString(e.Part.Text)
		}
	}
	if text.Len() == 0 {
		t.Fatalf("there is no answer in\n%s", events)
	}
	return text.String()
}
