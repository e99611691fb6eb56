package install

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/lease"
)

// countingSource counts the payload requests to a source: everything in a shard that is not at its start.
type countingSource struct {
	Source
	requests, bytes atomic.Int64
}

func (s *countingSource) Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	if off > headerLengthBytes && strings.HasSuffix(name, ".safetensors") {
		s.requests.Add(1)
		s.bytes.Add(n)
	}
	return s.Source.Open(ctx, name, off, n)
}

// copyInstall copies an installed demo with the checksums beside it to a new place.
func copyInstall(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "demo.gturbo")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from + ".ranges.json")
	if err == nil {
		err = os.WriteFile(to+".ranges.json", data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// flip changes one bit of a file.
func flip(t testing.TB, name string, bit int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
}

func demoSource() *countingSource { return &countingSource{Source: NewDirSource(demoCheckpoint)} }

// sameInstall compares an install with the committed demo, the receipt apart.
func sameInstall(t *testing.T, dir string) {
	t.Helper()
	got := tree(t, dir)
	delete(got, receiptName)
	sameTree(t, tree(t, demoInstall), got)
}

func TestEveryFlippedBitIsFoundAndMended(t *testing.T) {
	installed := installDemo(t)
	names := []string{}
	for name := range tree(t, demoInstall) {
		if name != manifestName {
			names = append(names, name)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := copyInstall(t, installed)
	for range 30 {
		name := names[rng.IntN(len(names))]
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		at := rng.Int64N(info.Size())
		flip(t, filepath.Join(dir, name), 8*at+rng.Int64N(8))
		report, err := Verify(t.Context(), dir, gturbo.VerifyOptions{})
		if !errors.Is(err, gturbo.ErrChecksum) || len(report.Damages) != 1 {
			t.Fatalf("byte %d of %s: %v, %d damages", at, name, err, len(report.Damages))
		}
		d := report.Damages[0]
		if d.File != name || at < d.Lo || at >= d.Hi || d.Hi-d.Lo > blockBytes {
			t.Errorf("byte %d of %s was reported as bytes %d to %d of %s", at, name, d.Lo, d.Hi, d.File)
		}
		source := demoSource()
		fixed, err := Repair(t.Context(), RepairOptions{Source: source, Path: dir})
		if err != nil {
			t.Fatalf("byte %d of %s: %v", at, name, err)
		}
		if source.requests.Load() > 1 || source.bytes.Load() > d.Hi-d.Lo {
			t.Errorf("byte %d of %s took %d requests and %d bytes", at, name, source.requests.Load(), source.bytes.Load())
		}
		if len(fixed.Damages) != 1 {
			t.Errorf("repaired %v", fixed.Damages)
		}
		sameInstall(t, dir)
		if t.Failed() {
			t.FailNow()
		}
	}
	if _, err := gturbo.Verify(t.Context(), dir, gturbo.VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRepairMendsWhatIsNotABit(t *testing.T) {
	installed := installDemo(t)
	for _, c := range []struct {
		name string
		harm func(t *testing.T, dir string) error
	}{
		{"nothing", func(*testing.T, string) error { return nil }},
		{"a missing layer file", func(_ *testing.T, dir string) error {
			return os.Remove(filepath.Join(dir, "packed_experts", "layer_02.bin"))
		}},
		{"a shortened file", func(_ *testing.T, dir string) error {
			return os.Truncate(filepath.Join(dir, gturbo.WeightsFile), 1_000_000)
		}},
		{"a lengthened file", func(_ *testing.T, dir string) error {
			return os.Truncate(filepath.Join(dir, gturbo.WeightsFile), 3_000_000)
		}},
		{"a missing folder", func(_ *testing.T, dir string) error {
			return os.RemoveAll(filepath.Join(dir, "packed_experts"))
		}},
		{"a missing tokenizer", func(_ *testing.T, dir string) error {
			return os.Remove(filepath.Join(dir, "tokenizer", "tokenizer.json"))
		}},
		{"a damaged configuration", func(t *testing.T, dir string) error {
			flip(t, filepath.Join(dir, "tokenizer", "config.json"), 80)
			return nil
		}},
		{"a manifest that does not parse", func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestName), []byte("{"), 0o644)
		}},
		{"a manifest with another digest in it", func(t *testing.T, dir string) error {
			name := filepath.Join(dir, manifestName)
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			i := strings.Index(string(data), `"sha256" : "`) + 14
			data[i] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", data[i])+1)%16]
			return os.WriteFile(name, data, 0o644)
		}},
		{"a missing manifest", func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }},
		{"a damaged receipt", func(t *testing.T, dir string) error {
			flip(t, filepath.Join(dir, receiptName), 500)
			return nil
		}},
		{"a missing receipt", func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, receiptName)) }},
		{"three bits, and no checksums to find them", func(t *testing.T, dir string) error {
			flip(t, filepath.Join(dir, gturbo.WeightsFile), 8*20_000)
			flip(t, filepath.Join(dir, gturbo.WeightsFile), 8*1_500_000)
			flip(t, filepath.Join(dir, "packed_experts", "layer_05.bin"), 8*77)
			return os.Remove(dir + ".ranges.json")
		}},
		{"a bit and unreadable checksums", func(t *testing.T, dir string) error {
			flip(t, filepath.Join(dir, gturbo.WeightsFile), 8*20_000)
			return os.WriteFile(dir+".ranges.json", []byte("?"), 0o644)
		}},
		{"a bit and checksums that were damaged themselves", func(t *testing.T, dir string) error {
			data, err := os.ReadFile(dir + ".ranges.json")
			if err != nil {
				return err
			}
			sums := strings.Replace(string(data), `"crc32c":"`, `"crc32c":"0000`, 1)
			i := strings.Index(sums, `"crc32c":"`) + 14
			sums = sums[:i] + sums[i+4:]
			flip(t, filepath.Join(dir, gturbo.WeightsFile), 8*2_000_000)
			return os.WriteFile(dir+".ranges.json", []byte(sums), 0o644)
		}},
		{"padding that is not zero", func(t *testing.T, dir string) error {
			flip(t, filepath.Join(dir, "packed_experts", "layer_05.bin"), 8*32767)
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyInstall(t, installed)
			if err := c.harm(t, dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Repair(t.Context(), RepairOptions{Source: demoSource(), Path: dir}); err != nil {
				t.Fatal(err)
			}
			sameInstall(t, dir)
			in, err := gturbo.Open(t.Context(), dir, gturbo.OpenOptions{TrustReceipt: true})
			if err != nil {
				t.Fatalf("the receipt does not vouch for it: %v", err)
			}
			in.Close()
		})
	}
}

func TestRepairRefusesWhatItCannotMend(t *testing.T) {
	installed := installDemo(t)
	other := newCheckpointFiles(tiny()).files()
	for _, c := range []struct {
		name   string
		source Source
		harm   func(t *testing.T, dir string)
		want   error
	}{
		{"with another checkpoint as source", &memSource{files: other}, func(t *testing.T, dir string) {
			flip(t, filepath.Join(dir, gturbo.WeightsFile), 8)
		}, ErrStateIncompatible},
		{"with manifest and receipt lost", demoSource(), func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, manifestName))
			os.Remove(filepath.Join(dir, receiptName))
		}, ErrDamaged},
		{"with a model in use", demoSource(), func(t *testing.T, dir string) {
			path, err := lease.UsePath(dir)
			if err != nil {
				t.Fatal(err)
			}
			held, err := lease.Shared(t.Context(), path, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { held.Close() })
		}, ErrBusy},
		{"where nothing is", demoSource(), func(t *testing.T, dir string) { os.RemoveAll(dir) }, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyInstall(t, installed)
			c.harm(t, dir)
			if _, err := Repair(t.Context(), RepairOptions{Source: c.source, Path: dir}); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestRepairPackMendsThePack(t *testing.T) {
	text := installDemo(t)
	result, err := InstallPack(t.Context(), PackOptions{
		Options: Options{Source: NewDirSource(demoCheckpoint), Reserve: 1}, TextModel: text,
	})
	if err != nil {
		t.Fatal(err)
	}
	pack := result.Path
	want := tree(t, pack)
	for name, harm := range map[string]func() error{
		"nothing":             func() error { return nil },
		"a bit of the tower":  func() error { flip(t, filepath.Join(pack, packWeights), 8*300_000+3); return nil },
		"a missing processor": func() error { return os.Remove(filepath.Join(pack, packProcessor)) },
		"a bit of the manifest": func() error {
			flip(t, filepath.Join(pack, manifestName), 8*40)
			return nil
		},
		"a missing receipt": func() error { return os.Remove(filepath.Join(pack, receiptName)) },
		"a short tower":     func() error { return os.Truncate(filepath.Join(pack, packWeights), 77) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			source := demoSource()
			if _, err := RepairPack(t.Context(), RepairOptions{Source: source, Path: pack}, text); err != nil {
				t.Fatal(err)
			}
			got := tree(t, pack)
			for _, files := range []map[string]string{want, got} { // only the tool's name differs
				files[receiptName] = strings.Replace(files[receiptName], repairTool, toolVersion, 1)
			}
			sameTree(t, want, got)
			if name == "a bit of the tower" && (source.requests.Load() != 1 || source.bytes.Load() > blockBytes) {
				t.Errorf("%d requests for %d bytes", source.requests.Load(), source.bytes.Load())
			}
		})
	}
}
