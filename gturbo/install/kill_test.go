package install

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kills is how many random moments TestKilledProcessIsSurvived tries; the full run is
// "go test ./gturbo/install -run Killed -kills 200 -timeout 30m".
var kills = flag.Int("kills", 8, "how many processes to kill")

// childOptions tell a child process what to install.
type childOptions struct {
	Endpoint, Output string
}

// installInChild carries on with an install until it is complete or the process is killed.
func installInChild(arg string) error {
	var c childOptions
	if err := json.Unmarshal([]byte(arg), &c); err != nil {
		return err
	}
	return c.install()
}

func (c *childOptions) install() error {
	source, err := NewHubSource(HubOptions{Endpoint: c.Endpoint, RepoID: testRepo, Revision: testCommit})
	if err != nil {
		return err
	}
	o := Options{Source: source, Output: c.Output, Chunk: 128 << 10, Reserve: 1}
	_, err = Resume(context.Background(), o)
	if errors.Is(err, ErrStateMissing) {
		_, err = Install(context.Background(), o)
	}
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// startChild runs installInChild in a process of its own.
func startChild(t *testing.T, c childOptions) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], string(mustJSON(c)))
	cmd.Env = append(os.Environ(), roleVariable+"=install")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestKilledProcessIsSurvived kills real processes that install the demo model over HTTP, each at a random moment,
// and carries on until the install is complete.
func TestKilledProcessIsSurvived(t *testing.T) {
	hub := startHub(t, demoCheckpoint)
	hub.breaks(time.Millisecond)
	want := tree(t, demoInstall)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	whole := timeOfARun(t, hub)
	left := *kills
	if testing.Short() {
		left = 2
	}
	for left > 0 {
		c := childOptions{Endpoint: hub.address, Output: filepath.Join(t.TempDir(), "demo.gturbo")}
		for left > 0 && rng.IntN(4) > 0 { // several kills for most installs
			child := startChild(t, c)
			time.Sleep(time.Duration(rng.Int64N(int64(whole))))
			child.Process.Kill()
			child.Wait()
			left--
			if _, err := os.Stat(c.Output); err == nil {
				got := tree(t, c.Output)
				delete(got, receiptName)
				sameTree(t, want, got)
			}
		}
		if err := startChild(t, c).Wait(); err != nil {
			t.Fatalf("carrying on: %v", err)
		}
		got := tree(t, c.Output)
		delete(got, receiptName)
		sameTree(t, want, got)
		entries, err := readDirNames(filepath.Dir(c.Output))
		if err != nil || strings.Join(entries, " ") != "demo.gturbo demo.gturbo.install.lock demo.gturbo.ranges.json" {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d, %d kills to go", seed, left)
		}
	}
}

// timeOfARun measures an undisturbed install, so that kills fall anywhere in one.
func timeOfARun(t *testing.T, hub *hubProcess) time.Duration {
	t.Helper()
	began := time.Now()
	c := childOptions{Endpoint: hub.address, Output: filepath.Join(t.TempDir(), "demo.gturbo")}
	if err := startChild(t, c).Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestLockOfALivingProcessExcludesAndThatOfADeadOneDoesNot(t *testing.T) {
	hub := startHub(t, demoCheckpoint)
	hub.breaks(0, fault{Kind: "stall", File: "safetensors", Storage: true, Skip: 8})
	c := childOptions{Endpoint: hub.address, Output: filepath.Join(t.TempDir(), "demo.gturbo")}
	child := startChild(t, c)
	defer child.Process.Kill()
	o := Options{Source: NewDirSource(demoCheckpoint), Output: c.Output, Reserve: 1}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(c.Output + ".resume.json"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the child has not begun")
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, err := Install(t.Context(), o)
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), fmt.Sprintf("install by process %d", child.Process.Pid)) {
		t.Fatalf("beside a living installer: %v", err)
	}
	child.Process.Kill()
	child.Wait()
	if err := Discard(c.Output); err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if _, err := Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
