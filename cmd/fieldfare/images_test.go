package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withImages tells scripts which build they test.
var withImages = isCommand("image")

func isCommand(name string) bool {
	for _, c := range new(app).rootCommand().Commands() {
		if c.Name() == name {
			return true
		}
	}
	return false
}

// TestTextNeedsNoImages builds the program without the image extension: nothing of it is linked, and a question is
// answered as ever.
func TestTextNeedsNoImages(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", "-tags", "novision", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(string(deps)) {
		if strings.HasPrefix(pkg+"/", "github.com/fieldfare/fieldfare/vision/") {
			t.Errorf("%s is part of the build without images", pkg)
		}
	}
	program := filepath.Join(t.TempDir(), "fieldfare")
	if out, err := exec.Command("go", "build", "-tags", "novision", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	run := func(args ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(program, args...)
		home := t.TempDir()
		cmd.Env = append(cmd.Environ(), "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "HOME="+home, "LocalAppData="+home)
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		return string(out), errors.String(), err
	}
	if out, complaint, err := run("chat", "--temperature", "0", "What is the capital of Peru?"); err != nil ||
		out != "The capital of Peru is Lima.\n" {
		t.Errorf("answered %q, %v: %s", out, err, complaint)
	}
	_, complaint, err := run("chat", "--image", "x.png", "Hi")
	if err == nil || !strings.Contains(complaint, "unknown flag: --image") {
		t.Errorf("a picture: %v: %s", err, complaint)
	}
}
