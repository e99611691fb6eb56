//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A cgroup bounds the memory of what runs in it, pages of files included.
type cgroup struct {
	dir      string
	peakFile string
}

// newCgroup makes one at the top of the hierarchy, of either version. Only root may.
func newCgroup(limit int64) (*cgroup, error) {
	const (
		one = "/sys/fs/cgroup/memory"
		two = "/sys/fs/cgroup"
	)
	name, size := fmt.Sprintf("compare-%d", os.Getpid()), strconv.FormatInt(limit, 10)
	if _, err := os.Stat(filepath.Join(one, "memory.limit_in_bytes")); err == nil {
		g := &cgroup{filepath.Join(one, name), "memory.max_usage_in_bytes"}
		return g, g.make(map[string]string{"memory.limit_in_bytes": size})
	}
	g := &cgroup{filepath.Join(two, name), "memory.peak"}
	// A group that still holds processes cannot hand its memory controller down, unless it did so before.
	handed := os.WriteFile(filepath.Join(two, "cgroup.subtree_control"), []byte("+memory"), 0o644)
	err := g.make(map[string]string{"memory.max": size})
	if err != nil {
		return nil, errors.Join(err, handed)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o644); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return g, nil
}

func (g *cgroup) make(settings map[string]string) error {
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return fmt.Errorf("memory cgroup: %w", err)
	}
	for name, value := range settings {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(value), 0o644); err != nil {
			g.remove()
			return fmt.Errorf("memory cgroup: %w", err)
		}
	}
	return nil
}

// procs is the file that takes the id of a process that enters.
func (g *cgroup) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// peak is the most that the group held, 0 where the kernel does not say.
func (g *cgroup) peak() int64 {
	data, err := os.ReadFile(filepath.Join(g.dir, g.peakFile))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// remove deletes the group. A process that has just ended may still be counted in it.
func (g *cgroup) remove() {
	for range 20 {
		if os.Remove(g.dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "compare: %s stays behind: it is still in use\n", g.dir)
}
