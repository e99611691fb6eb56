package gturbo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrustedReceipt(t *testing.T) {
	edit := func(change func(*Receipt)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, ReceiptFile))
			if err != nil {
				t.Fatal(err)
			}
			c, err := DecodeReceipt(data)
			if err != nil {
				t.Fatal(err)
			}
			change(c)
			if data, err = c.Encode(); err != nil {
				t.Fatal(err)
			}
			put(t, dir, ReceiptFile, data)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   error
		detail string
	}{
		{"missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, ReceiptFile)) }, fs.ErrNotExist, ""},
		{"above the cap", func(t *testing.T, dir string) {
			put(t, dir, ReceiptFile, make([]byte, MaxReceiptSize+1))
		}, ErrMetadataCap, "metadata cap"},
		{"not JSON", func(t *testing.T, dir string) { put(t, dir, ReceiptFile, []byte("{}")) }, ErrReceipt, ""},
		{"of another manifest", edit(func(c *Receipt) { c.ManifestSHA256 = SHA256(nil) }), ErrReceiptManifest,
			"manifest SHA mismatch"},
		{"of another path", edit(func(c *Receipt) { c.ModelDirectoryPath += "2" }), ErrReceiptPath,
			"model directory mismatch"},
		{"of fewer files", edit(func(c *Receipt) { delete(c.Files, WeightsFile) }), ErrReceiptFiles,
			"file set mismatch"},
		{"of another digest", edit(func(c *Receipt) {
			c.Files[WeightsFile] = FileRecord{c.Files[WeightsFile].Size, SHA256(nil)}
		}), ErrReceiptRecord, WeightsFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newTiny(t, tinyArch()).write(t)
			c.change(t, dir)
			_, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true})
			if !errors.Is(err, c.want) || !errors.Is(err, ErrReceipt) || !strings.Contains(err.Error(), c.detail) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			open(t, dir, OpenOptions{}) // the default policy needs none
		})
	}
}

func TestTrustedReceiptIsBoundToItsPath(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	alias := filepath.Join(t.TempDir(), "alias.gturbo")
	link(t, dir, alias)
	if _, err := Open(context.Background(), alias, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrReceiptPath) {
		t.Errorf("through an alias: %v", err)
	}
	open(t, dir+"/./", OpenOptions{TrustReceipt: true})
}

// The binding is checked before the manifest is trusted: a manifest that does not even decode is reported as one that
// the receipt was not made for.
func TestTrustedReceiptComesBeforeTheManifest(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	put(t, dir, ManifestFile, []byte("garbage"))
	if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrReceiptManifest) {
		t.Errorf("got %v", err)
	}
}

func TestTrustedReceiptStillHashesWeightsAndLayout(t *testing.T) {
	for _, name := range []string{WeightsFile, LayoutFile} {
		dir := newTiny(t, tinyArch()).write(t)
		if err := flip(50)(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrChecksum) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTrustedReceiptChecksLayerSizesAtOnce(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	if err := cut(1)(filepath.Join(dir, "packed_experts", "layer_02.bin")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrSize) {
		t.Errorf("trusting: %v", err)
	}
	in := open(t, dir, OpenOptions{})
	if _, err := in.OpenLayer(2); !errors.Is(err, ErrSize) {
		t.Errorf("hashing: %v", err)
	}
}
