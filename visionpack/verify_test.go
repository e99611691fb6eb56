package visionpack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestVerifyReadsEveryByte(t *testing.T) {
	dir := writeTiny(t)
	last := int64(0)
	r, err := Verify(t.Context(), dir, tinyText(), VerifyOptions{Progress: func(_ string, done, total int64) {
		if done < last || done > total {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := len(get(t, dir, WeightsFile)) + len(get(t, dir, ProcessorFile)) + len(get(t, dir, ManifestFile))
	if r.Files != 3 || r.Bytes != int64(want) || r.NewReceipt != nil {
		t.Errorf("%d files with %d bytes, receipt %v; want 3 with %d", r.Files, r.Bytes, r.NewReceipt, want)
	}
	data := get(t, dir, WeightsFile)
	data[len(data)/2] ^= 1
	put(t, dir, WeightsFile, data)
	if _, err := Verify(t.Context(), dir, tinyText(), VerifyOptions{}); !errors.Is(err, ErrChecksum) {
		t.Errorf("one bit in the weights: %v", err)
	}
}

func TestVerifyGivesAMovedPackAReceipt(t *testing.T) {
	dir := writeTiny(t)
	moved := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), moved, tinyText()); !errors.Is(err, ErrReceiptPath) {
		t.Fatalf("a moved pack: %v", err)
	}
	r, err := Verify(t.Context(), moved, tinyText(), VerifyOptions{})
	if err != nil || !errors.Is(r.NewReceipt, ErrReceiptPath) {
		t.Fatalf("verify: %v, receipt %v", err, r.NewReceipt)
	}
	mustOpen(t, moved).Close()
	if err := os.Remove(filepath.Join(moved, ReceiptFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), moved, tinyText(), VerifyOptions{}); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, moved).Close()
}

func TestVerifyWritesNoReceiptForAnUnsoundPack(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"an extra file": func(t *testing.T, dir string) { put(t, dir, "more", nil) },
		"damage":        func(t *testing.T, dir string) { edit(t, dir, ProcessorFile, "140", "280") },
	} {
		dir := writeTiny(t)
		if err := os.Remove(filepath.Join(dir, ReceiptFile)); err != nil {
			t.Fatal(err)
		}
		spoil(t, dir)
		if _, err := Verify(t.Context(), dir, tinyText(), VerifyOptions{}); err == nil {
			t.Errorf("%s: sound", name)
		}
		if _, err := os.Stat(filepath.Join(dir, ReceiptFile)); err == nil {
			t.Errorf("%s: there is a receipt", name)
		}
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, writeTiny(t), tinyText(), VerifyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
