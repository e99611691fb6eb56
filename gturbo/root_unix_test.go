//go:build unix

package gturbo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// within fails the test when f blocks.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s waits", what)
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFIFOsAreRefusedWithoutWaiting(t *testing.T) {
	root, dir := newRoot(t)
	fifo(t, filepath.Join(dir, "pipe"))
	within(t, "opening a FIFO", func() {
		if _, err := root.Open("pipe"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("file: %v", err)
		}
		if _, err := root.Open("pipe/x"); !errors.Is(err, ErrNotDirectory) {
			t.Errorf("component: %v", err)
		}
		if _, err := OpenRoot(filepath.Join(dir, "pipe")); !errors.Is(err, ErrNotDirectory) {
			t.Errorf("root: %v", err)
		}
	})
}

func TestDevicesAreRefused(t *testing.T) {
	dev, err := OpenRoot("/dev")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if _, err := dev.Open("null"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

func TestInstallWithAFIFOIsRefusedWithoutWaiting(t *testing.T) {
	for name, want := range map[string]error{
		ManifestFile: ErrNotRegular, ReceiptFile: ErrReceipt, WeightsFile: ErrNotRegular, LayoutFile: ErrNotRegular,
		"packed_experts/layer_01.bin": ErrNotRegular, "tokenizer/config.json": ErrNotRegular,
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTiny(t, tinyArch()).write(t)
			fifo(t, filepath.Join(dir, name))
			within(t, "opening the install", func() {
				in, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true})
				if !errors.Is(err, want) {
					t.Errorf("got %v, %v, want %v", in, err, want)
				}
			})
		})
	}
}
