//go:build unix

package gturbo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
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

// A name that somebody keeps switching between a file, a link out of the root and a link to a FIFO must give the
// file's bytes or an error, at every moment.
func TestLinksThatComeAndGoAreNeverFollowed(t *testing.T) {
	root, dir := newRoot(t)
	outside := t.TempDir()
	put(t, outside, "secret", []byte("secret"))
	fifo(t, filepath.Join(dir, "pipe"))
	put(t, dir, "inside", []byte("inside"))
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		next, name := filepath.Join(dir, "next"), filepath.Join(dir, "dir", "file")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(next)
			switch i % 4 {
			case 0:
				os.Symlink(filepath.Join(outside, "secret"), next)
			case 1:
				os.Symlink("../inside", next)
			case 2:
				os.Symlink("../pipe", next)
			default:
				os.WriteFile(next, []byte("nested"), 0o600)
			}
			os.Rename(next, name)
		}
	})
	opened := 0
	within(t, "opening", func() {
		for range 5000 {
			data, err := root.ReadFile("dir/file", 100)
			switch {
			case err == nil && string(data) == "nested":
				opened++
			case err == nil:
				t.Errorf("read %q", data)
				return
			case !errors.Is(err, ErrUnsafePath) && !errors.Is(err, os.ErrPermission):
				t.Errorf("unexpected: %v", err)
				return
			}
		}
	})
	close(stop)
	group.Wait()
	if opened == 0 {
		t.Error("the file was never seen")
	}
}
