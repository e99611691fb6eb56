package gturbo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenNamesDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(path string) error
		file   string
		kind   error
		lo     int64 // -1: from the end
		text   string
	}{
		{"weights flipped", flip(20000), WeightsFile, ErrChecksum, 0, "checksum mismatch"},
		{"index flipped", flip(100), WeightsFile, ErrChecksum, 0, "checksum mismatch"},
		{"weights short", cut(12), WeightsFile, ErrSize, -12, "is 12 bytes short"},
		{"weights short by one", cut(1), WeightsFile, ErrSize, -1, "is 1 byte short"},
		{"weights gone", os.Remove, WeightsFile, ErrMissingFile, 0, "is missing"},
		{"layout flipped", flip(3), LayoutFile, ErrChecksum, 0, "checksum mismatch"},
		{"layout gone", os.Remove, LayoutFile, ErrMissingFile, 0, "is missing"},
		{"weights are a link", relink, WeightsFile, ErrSymlink, 0, "symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ti := newTiny(t, tinyArch())
			dir := ti.write(t)
			if err := c.damage(filepath.Join(dir, c.file)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(context.Background(), dir, OpenOptions{})
			var damage *DamageError
			if !errors.As(err, &damage) || !errors.Is(err, c.kind) || len(damage.Damages) != 1 {
				t.Fatalf("got %v", err)
			}
			size := int64(ti.manifest.Files[c.file].Size)
			lo := c.lo
			if lo < 0 {
				lo += size
			}
			d := damage.Damages[0]
			if d.File != c.file || d.Lo != lo || d.Hi != size || damage.Install != dir {
				t.Errorf("%+v", d)
			}
			if !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("message: %v", err)
			}
		})
	}
}

func flip(offset int64) func(string) error {
	return func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[offset] ^= 1
		return os.WriteFile(path, data, 0o644)
	}
}

func cut(n int64) func(string) error {
	return func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()-n)
	}
}

// relink moves a file aside and leaves a symbolic link to it.
func relink(path string) error {
	if err := os.Rename(path, path+".real"); err != nil {
		return err
	}
	return os.Symlink(filepath.Base(path)+".real", path)
}

func TestNoSymlinkBelowTheRootIsFollowed(t *testing.T) {
	for _, trust := range []bool{false, true} {
		for _, name := range []string{
			ManifestFile, ReceiptFile, WeightsFile, LayoutFile, ExpertsDir, "packed_experts/layer_01.bin",
			TokenizerDir, "tokenizer/config.json",
		} {
			dir := newTiny(t, tinyArch()).write(t)
			if err := relink(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			in, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: trust})
			if name == "packed_experts/layer_01.bin" && !trust {
				if err != nil {
					t.Fatal(err)
				}
				_, err = in.OpenLayer(1)
				in.Close()
			} else if name == ReceiptFile && !trust {
				if err != nil {
					t.Fatalf("a receipt that nobody asked for: %v", err)
				}
				in.Close()
				continue
			}
			if !errors.Is(err, ErrSymlink) || !errors.Is(err, ErrUnsafePath) {
				t.Errorf("%s, trusting %t: %v", name, trust, err)
			}
			if name == ReceiptFile && !errors.Is(err, ErrReceipt) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOpenThroughASymlink(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	other := newTiny(t, tinyArch()).write(t)
	alias := filepath.Join(t.TempDir(), "alias.gturbo")
	link(t, dir, alias)
	in := open(t, alias, OpenOptions{})
	if err := os.Remove(alias); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(other, "packed_experts", "layer_00.bin")); err != nil {
		t.Fatal(err)
	}
	link(t, other, alias)
	f, err := in.OpenLayer(0)
	if err != nil {
		t.Fatalf("the re-pointed link switched the install: %v", err)
	}
	f.Close()
}
