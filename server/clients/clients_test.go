// Package clients_test lets OpenAI clients that people use talk to the running program with the demo model: openai-go
// here, those of npm and PyPI as scripts in testdata. It is apart from package server because openai-go takes minutes
// to compile.
package clients_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const clientScripts = "testdata"

// missing skips a test that needs what is not here, and fails it where everything must be.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// clientCache returns a folder outside of the repository that holds what install puts there, made once for each content
// of the files. Packages are fetched where CI or FIELDFARE_CLIENTS is set; elsewhere a test uses what is there.
func clientCache(t *testing.T, install func(dir string) *exec.Cmd, files ...string) string {
	t.Helper()
	sum := sha256.New()
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(clientScripts, f))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "fieldfare-clients", hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir
	}
	if os.Getenv("CI") != "true" && os.Getenv("FIELDFARE_CLIENTS") == "" {
		t.Skip("the clients are not installed: FIELDFARE_CLIENTS=1 fetches them")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		copyFile(t, filepath.Join(clientScripts, f), filepath.Join(dir, filepath.Base(f)))
	}
	if out, err := install(dir).CombinedOutput(); err != nil {
		t.Fatalf("install clients: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clientEnv tells a client's script what to ask.
func clientEnv(t *testing.T, url string) []string {
	t.Helper()
	p := pictureCase(t)
	return append(os.Environ(), "FIELDFARE_URL="+url, "FIELDFARE_IMAGE="+p.url, "FIELDFARE_IMAGE_QUESTION="+p.question,
		"FIELDFARE_IMAGE_ANSWER="+p.answer)
}

// runClient runs a client's script and passes its findings on.
func runClient(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if n := strings.Count("\n"+out.String(), "\nok "); err != nil || n < 5 {
		t.Errorf("%v, %d checks passed:\n%s", err, n, &out)
	}
}

func TestNodeClients(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, "npm: %v", err)
	}
	dir := clientCache(t, func(dir string) *exec.Cmd {
		cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		return cmd
	}, "package.json", "package-lock.json")
	scripts, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(scripts)
	copyFile(t, filepath.Join(clientScripts, "shared.mjs"), filepath.Join(scripts, "shared.mjs"))
	// Every kind of keep-alive in every pause: clients must take them all.
	for _, kind := range []string{"comment", "delta", "progress"} {
		url := serveProgram(t, "--keep-alive", kind, "--keep-alive-every", "1ms")
		for _, name := range []string{"openai.mjs", "aisdk.mjs", "langchain.mjs"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				copyFile(t, filepath.Join(clientScripts, name), filepath.Join(scripts, name))
				ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
				defer stop()
				cmd := exec.CommandContext(ctx, "node", filepath.Join(scripts, name))
				cmd.Env = clientEnv(t, url)
				runClient(t, cmd)
			})
		}
	}
}

func TestPythonClient(t *testing.T) {
	if err := exec.Command("python3", "-c", "import pip, venv, ensurepip").Run(); err != nil {
		t.Skipf("python3 with pip is not here: %v", err)
	}
	dir := clientCache(t, func(dir string) *exec.Cmd {
		return exec.Command("sh", "-c", `python3 -m venv "$0/venv" && "$0/venv/bin/python" -m pip install -q -r "$0/requirements.txt"`, dir)
	}, "requirements.txt")
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "venv", "bin", "python"), filepath.Join(clientScripts, "python_openai.py"))
	cmd.Env = clientEnv(t, serveProgram(t, "--keep-alive-every", "1ms"))
	runClient(t, cmd)
}
