package gturbo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestVerifyOfASoundInstall(t *testing.T) {
	ti := newTiny(t, tinyArch())
	dir := ti.write(t)
	if err := os.Remove(filepath.Join(dir, ReceiptFile)); err != nil {
		t.Fatal(err)
	}
	var last, total int64
	report, err := Verify(context.Background(), dir, VerifyOptions{Progress: func(file string, done, all int64) {
		if done < last || file == "" {
			t.Errorf("progress %d after %d in %q", done, last, file)
		}
		last, total = done, all
	}})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	bytes := int64(len(manifest))
	for _, record := range ti.manifest.Files {
		bytes += int64(record.Size)
	}
	if report.Files != len(ti.manifest.Files)+1 || report.Bytes != bytes || report.Path != dir {
		t.Errorf("%d files, %d bytes in %s", report.Files, report.Bytes, report.Path)
	}
	if last != total || total != bytes-int64(len(manifest)) {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	if len(report.Extras)+len(report.Damages) > 0 || report.ManifestSHA256 != SHA256(manifest) {
		t.Errorf("%+v", report)
	}
	c := report.Receipt
	if c.ToolVersion != "fieldfare verify" || c.SourceRepoID != "" ||
		c.SourceRevision != ti.manifest.SourceSnapshotHash {
		t.Errorf("receipt %+v", c)
	}
	stamp := c.VerificationTimestamp
	when, err := time.Parse(time.RFC3339, stamp)
	if err != nil || time.Since(when) > time.Minute || !strings.HasSuffix(stamp, "Z") {
		t.Errorf("timestamp %s, %v", stamp, err)
	}
	open(t, dir, OpenOptions{TrustReceipt: true})
	assertNoTemporaries(t, dir)
}

func TestVerifiedFileCountIncludesTheManifest(t *testing.T) {
	ti := newTiny(t, tinyArch())
	a := ti.manifest.Arch
	a.NumLayers, a.FullAttentionLayerMask = 1, []int{0}
	ti = newTiny(t, a)
	delete(ti.files, "tokenizer/tokenizer.json")
	dir := ti.write(t)
	delete(ti.manifest.Files, "tokenizer/config.json")
	data, err := ti.manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, ManifestFile, data)
	report, err := Verify(context.Background(), dir, VerifyOptions{})
	if err != nil || report.Files != 4 {
		t.Errorf("a manifest of 3 files: %+v, %v", report, err)
	}
}

func TestVerifyNamesEveryDamage(t *testing.T) {
	ti := newTiny(t, tinyArch())
	dir := ti.write(t)
	before, err := os.ReadFile(filepath.Join(dir, ReceiptFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(string) error{
		WeightsFile: flip(70000), "packed_experts/layer_00.bin": cut(12), "packed_experts/layer_01.bin": os.Remove,
		"packed_experts/layer_02.bin": relink, "tokenizer/tokenizer.json": flip(2), LayoutFile: flip(9),
		"tokenizer/config.json": func(path string) error { return os.WriteFile(path, []byte(ti.config+"\n"), 0o644) },
	} {
		if err := damage(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Verify(context.Background(), dir, VerifyOptions{})
	var damage *DamageError
	if !errors.As(err, &damage) || len(damage.Damages) != 7 || len(report.Damages) != 7 {
		t.Fatalf("got %v", err)
	}
	if report.Receipt != nil {
		t.Error("a receipt was written for a damaged install")
	}
	if after, err := os.ReadFile(filepath.Join(dir, ReceiptFile)); err != nil || string(after) != string(before) {
		t.Errorf("the old receipt was touched: %v", err)
	}
	size := func(name string) int64 { return int64(ti.manifest.Files[name].Size) }
	want := []struct {
		file   string
		kind   error
		lo, hi int64
	}{
		{WeightsFile, ErrChecksum, 0, size(WeightsFile)},
		{"packed_experts/layer_00.bin", ErrSize, 65536 - 12, 65536},
		{"packed_experts/layer_01.bin", ErrMissingFile, 0, 65536},
		{"packed_experts/layer_02.bin", ErrUnsafePath, 0, 65536},
		{LayoutFile, ErrChecksum, 0, size(LayoutFile)},
		{"tokenizer/config.json", ErrSize, size("tokenizer/config.json"), size("tokenizer/config.json") + 1},
		{"tokenizer/tokenizer.json", ErrChecksum, 0, 12},
	}
	for i, w := range want {
		d := damage.Damages[i]
		if d.File != w.file || !errors.Is(d.Kind, w.kind) || d.Lo != w.lo || d.Hi != w.hi {
			t.Errorf("got %+v, want %+v", d, w)
		}
	}
	for _, text := range []string{
		"layer_00.bin is 12 bytes short", "layer_01.bin is missing", "config.json is 1 byte too long",
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v lacks %q", err, text)
		}
	}
}

func TestVerifyCatchesAFlippedBitAnywhere(t *testing.T) {
	ti := newTiny(t, tinyArch())
	dir := ti.write(t)
	r := noise(11, 4096)
	for name, record := range ti.manifest.Files {
		for i := range 6 {
			offset := int64(uint64(r[i])<<40|uint64(r[i+1])<<32|uint64(r[i+2])<<16|uint64(r[i+3])) % int64(record.Size)
			path := filepath.Join(dir, name)
			if err := flip(offset)(path); err != nil {
				t.Fatal(err)
			}
			_, err := Verify(context.Background(), dir, VerifyOptions{})
			var damage *DamageError
			if !errors.As(err, &damage) || len(damage.Damages) != 1 || damage.Damages[0].File != name {
				t.Errorf("%s, byte %d: %v", name, offset, err)
			}
			if err := flip(offset)(path); err != nil {
				t.Fatal(err)
			}
		}
		r = r[6:]
	}
}

func TestVerifyReportsExtras(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	for _, name := range []string{
		".DS_Store", "packed_experts/.DS_Store", "notes.txt", "old/deep/file", "tokenizer/anything", "tokenizer/sub/x",
		"packed_experts/layer_03.bin",
	} {
		put(t, dir, name, []byte("x"))
	}
	link(t, "notes.txt", filepath.Join(dir, "link"))
	link(t, "/", filepath.Join(dir, "slash"))
	report, err := Verify(context.Background(), dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"link", "notes.txt", "old", "old/deep", "old/deep/file", "packed_experts/.DS_Store",
		"packed_experts/layer_03.bin", "slash",
	}
	if !slices.Equal(report.Extras, want) {
		t.Errorf("extras %q, want %q", report.Extras, want)
	}
}

func TestVerifyLimitsItsScan(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	put(t, dir, strings.Repeat("d/", 15)+"file", nil)
	if _, err := Verify(context.Background(), dir, VerifyOptions{}); err != nil {
		t.Errorf("16 levels: %v", err)
	}
	put(t, dir, strings.Repeat("d/", 16)+"file", nil)
	if _, err := Verify(context.Background(), dir, VerifyOptions{}); !errors.Is(err, ErrScanLimit) {
		t.Errorf("17 levels: %v", err)
	}
}

func TestScanCountsEntries(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		put(t, dir, fmt.Sprintf("f%d", i), nil)
	}
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s := scanner{ctx: context.Background(), depth: minScanDepth, entries: maxScanEntries - 300}
	if err := s.dir(root.dir, "", 1); err != nil || len(s.extras) != 300 {
		t.Errorf("at the limit: %d, %v", len(s.extras), err)
	}
	s = scanner{ctx: context.Background(), depth: minScanDepth, entries: maxScanEntries - 299}
	if err := s.dir(root.dir, "", 1); !errors.Is(err, ErrScanLimit) {
		t.Errorf("above it: %v", err)
	}
}

func TestVerifyFailsOnAnUnreadableDirectory(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root reads everything, and Windows has no such mode")
	}
	dir := newTiny(t, tinyArch()).write(t)
	put(t, dir, "closed/file", nil)
	closed := filepath.Join(dir, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o755)
	if _, err := Verify(context.Background(), dir, VerifyOptions{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestVerifyRefusesBrokenMetadata(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*tinyInstall)
		want   error
	}{
		{"manifest", func(ti *tinyInstall) { ti.raw[ManifestFile] = []byte("{}") }, ErrCorrupt},
		{"manifest without layout", func(ti *tinyInstall) {
			data := fixture(t, "manifest.json")
			ti.raw[ManifestFile] = mutate(t, data, set("files", map[string]any{}))
		}, ErrMissingFile},
		{"layout", func(ti *tinyInstall) { ti.raw[LayoutFile] = []byte("{}") }, ErrCorrupt},
		{"layout above its cap", func(ti *tinyInstall) { ti.raw[LayoutFile] = make([]byte, MaxLayoutSize+1) },
			ErrMetadataCap},
		{"layout that disagrees", func(ti *tinyInstall) { ti.layout.Layers[0].File = "x.bin" }, ErrLayoutLayerFile},
		{"sizes that overflow", func(ti *tinyInstall) {
			ti.manifest.Files["a"] = FileRecord{1 << 63, SHA256(nil)}
			ti.manifest.Files["b"] = FileRecord{1 << 63, SHA256(nil)}
		}, ErrOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			ti := newTiny(t, tinyArch())
			c.change(ti)
			if _, err := Verify(context.Background(), ti.write(t), VerifyOptions{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := Verify(context.Background(), t.TempDir(), VerifyOptions{}); !errors.Is(err, ErrPartial) {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestVerifyReplacesALinkedReceipt(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	target := filepath.Join(t.TempDir(), "target")
	put(t, filepath.Dir(target), "target", []byte("mine"))
	if err := os.Remove(filepath.Join(dir, ReceiptFile)); err != nil {
		t.Fatal(err)
	}
	link(t, target, filepath.Join(dir, ReceiptFile))
	if _, err := Verify(context.Background(), dir, VerifyOptions{Tool: "other tool"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "mine" {
		t.Errorf("the link's target holds %q, %v", data, err)
	}
	open(t, dir, OpenOptions{TrustReceipt: true})
}

func TestConcurrentVerifiersLeaveOneReceipt(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if _, err := Verify(context.Background(), dir, VerifyOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	assertNoTemporaries(t, dir)
	open(t, dir, OpenOptions{TrustReceipt: true})
}

func TestVerifyEndsWithItsContextWhileHashing(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Verify(ctx, dir, VerifyOptions{Progress: func(string, int64, int64) { cancel() }})
	if err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
