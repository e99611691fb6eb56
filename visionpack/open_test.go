package visionpack

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/lease"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

func mustOpen(t testing.TB, dir string) *Pack {
	t.Helper()
	p, err := Open(t.Context(), dir, tinyText())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOpenMapsEveryTensorInItsGroup(t *testing.T) {
	dir := writeTiny(t)
	before := pages.Outstanding()
	p := mustOpen(t, dir)
	if p.Processor().MaxSoftTokens != 140 {
		t.Errorf("budget %d, the processor file says 140", p.Processor().MaxSoftTokens)
	}
	if p.Groups() != 4 {
		t.Fatalf("%d groups, want the embedding, two layers and the end", p.Groups())
	}
	position := 0
	for g, group := range p.Tower().groups() {
		region, err := p.Map(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range group {
			data := region.Tensor(w.name)
			if n := p.manifest.Tensors[position].Size; uint64(len(data)) != n {
				t.Errorf("%s has %d bytes, want %d", w.name, len(data), n)
			}
			for _, i := range []int{0, len(data)/2 - 1} {
				if got := binary.LittleEndian.Uint16(data[2*i:]); got != uint16(1000*position+i) {
					t.Errorf("%s: word %d is %d, want %d", w.name, i, got, uint16(1000*position+i))
				}
			}
			position++
		}
		if err := region.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if position != len(p.manifest.Tensors) {
		t.Errorf("%d tensors in groups, the manifest has %d", position, len(p.manifest.Tensors))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := pages.Outstanding(); n != before {
		t.Errorf("%d regions stay mapped", n-before)
	}
}

func TestTensorOfAnotherGroupIsAMistake(t *testing.T) {
	p := mustOpen(t, writeTiny(t))
	defer p.Close()
	region, err := p.Map(1)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Close()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	region.Tensor(Projector)
}

// Every way in which a pack can be refused, each with its own sentinel and its class.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string, text *TextModel)
		want  error
		class error
	}{
		{"an absent pack", func(t *testing.T, dir string, _ *TextModel) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, ErrNotFound, ErrNotFound},
		{"a file in the pack's place", func(t *testing.T, dir string, _ *TextModel) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Dir(dir), filepath.Base(dir), nil)
		}, gturbo.ErrNotDirectory, gturbo.ErrUnsafePath},
		{"a pack without a manifest", remove(ManifestFile), ErrNoManifest, ErrMetadata},
		{"a pack without a receipt", remove(ReceiptFile), ErrReceiptMissing, ErrReceipt},
		{"a pack without weights", remove(WeightsFile), ErrEntries, ErrEntries},
		{"a pack without a processor file", remove(ProcessorFile), ErrEntries, ErrEntries},
		{"an extra file", add("notes.txt"), ErrEntries, ErrEntries},
		{"an unfinished download", add("vision_weights.bin.tmp"), ErrEntries, ErrEntries},
		{"a name that only resembles a sidecar", add("_manifest.json"), ErrEntries, ErrEntries},
		{"an extra folder", func(t *testing.T, dir string, _ *TextModel) {
			if err := os.Mkdir(filepath.Join(dir, "more"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, ErrEntries, ErrEntries},
		{"truncated weights", truncate(WeightsFile), ErrSize, ErrSize},
		{"a truncated processor file", truncate(ProcessorFile), ErrSize, ErrSize},
		{"a truncated manifest", truncate(ManifestFile), ErrSyntax, ErrMetadata},
		{"a truncated receipt", truncate(ReceiptFile), ErrReceiptSyntax, ErrReceipt},
		{"a manifest above its cap", grow(ManifestFile), ErrCap, ErrMetadata},
		{"a receipt above its cap", grow(ReceiptFile), ErrReceiptSyntax, ErrReceipt},
		{"a damaged processor file", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ProcessorFile, "140", "280")
		}, ErrChecksum, ErrChecksum},
		{"a processor file that normalises", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ProcessorFile, `"do_normalize": false`, `"do_normalize":  true`)
			reseal(t, dir, func(m *Manifest) {
				digest := gturbo.SHA256(get(t, dir, ProcessorFile))
				m.Files[ProcessorFile] = gturbo.FileRecord{Size: m.Files[ProcessorFile].Size, SHA256: digest}
				m.ProcessorConfigSHA256 = digest
			})
		}, ErrProcessor, ErrProcessor},
		{"two digests for the processor file", func(t *testing.T, dir string, _ *TextModel) {
			reseal(t, dir, func(m *Manifest) { m.ProcessorConfigSHA256 = strings.Repeat("0", 64) })
		}, ErrProcessorDigest, ErrMetadata},
		{"a text model of another checkpoint", func(_ *testing.T, _ string, text *TextModel) {
			text.SnapshotHash = "sha256:" + strings.Repeat("9", 64)
		}, ErrOtherSource, ErrIncompatible},
		{"another install of the text model", func(_ *testing.T, _ string, text *TextModel) {
			text.ManifestSHA256 = strings.Repeat("9", 64)
		}, ErrOtherManifest, ErrIncompatible},
		{"a text model that does not record its source", func(_ *testing.T, _ string, text *TextModel) {
			text.SnapshotHash = ""
		}, ErrUnbound, ErrIncompatible},
		{"a text model without images", func(_ *testing.T, _ string, text *TextModel) {
			text.Tower = nil
		}, ErrNoImages, ErrIncompatible},
		{"a swapped manifest", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ManifestFile, "tiny/model", "tiny/other")
		}, ErrReceiptManifest, ErrReceipt},
		{"a receipt for another text model", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, strings.Repeat("b", 64), strings.Repeat("8", 64))
		}, ErrReceiptText, ErrReceipt},
		{"a receipt of another source", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, "tiny/model", "tiny/other")
		}, ErrReceiptSource, ErrReceipt},
		{"a receipt for another place", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, "tiny.vision.gturbo", "tiny.vision.gturbo.partial")
		}, ErrReceiptPath, ErrReceipt},
		{"a receipt with too few files", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, `"processor_config.json" :`, `"vision_weights.bin.1" :`)
		}, ErrReceiptFiles, ErrReceipt},
		{"a receipt with another size", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, `"size" : `, `"size" : 1`)
		}, ErrReceiptRecord, ErrReceipt},
		{"a receipt of another schema", func(t *testing.T, dir string, _ *TextModel) {
			edit(t, dir, ReceiptFile, `"schemaVersion" : 1`, `"schemaVersion" : 2`)
		}, ErrReceiptSchema, ErrReceipt},
		{"a layer with another shape", func(t *testing.T, dir string, text *TextModel) {
			text.Tower.Width = 32
		}, ErrTensorShape, ErrSchema},
		{"a layer with another dtype", func(t *testing.T, dir string, _ *TextModel) {
			reseal(t, dir, func(m *Manifest) {
				i := slices.IndexFunc(m.Tensors, func(t Tensor) bool { return strings.Contains(t.Name, "q_proj") })
				m.Tensors[i].DType, m.Tensors[i].Shape = U32, []uint64{64, 32}
				m.Tensors[i].Quantization = &Packed
			})
		}, ErrTensorDType, ErrSchema},
		{"a tower with a layer more", func(t *testing.T, dir string, text *TextModel) {
			text.Tower.Layers = 3
		}, ErrTensorMissing, ErrSchema},
		{"tensors in another order", func(t *testing.T, dir string, _ *TextModel) {
			reseal(t, dir, func(m *Manifest) { m.Tensors[2].Name, m.Tensors[6].Name = m.Tensors[6].Name, m.Tensors[2].Name })
		}, ErrTensorMissing, ErrSchema},
		{"a tensor too many", func(t *testing.T, dir string, _ *TextModel) {
			reseal(t, dir, func(m *Manifest) {
				last := m.Tensors[len(m.Tensors)-1]
				offset, _ := gturbo.AlignUp(last.Offset + last.Size)
				m.Tensors = append(m.Tensors, Tensor{
					Name: "audio_tower.x", ExecutionPosition: len(m.Tensors), File: WeightsFile, Offset: offset, Size: 2,
					Shape: []uint64{1}, DType: BF16,
				})
				m.Files[WeightsFile] = gturbo.FileRecord{Size: offset + 2, SHA256: m.Files[WeightsFile].SHA256}
			})
		}, ErrTensorExtra, ErrSchema},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, text := writeTiny(t), tinyText()
			c.spoil(t, dir, text)
			fds := openFiles(t)
			p, err := Open(t.Context(), dir, text)
			if err == nil {
				p.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, c.want) || !errors.Is(err, c.class) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if n := openFiles(t); n != fds {
				t.Errorf("%d files stay open", n-fds)
			}
		})
	}
}

func remove(name string) func(*testing.T, string, *TextModel) {
	return func(t *testing.T, dir string, _ *TextModel) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func add(name string) func(*testing.T, string, *TextModel) {
	return func(t *testing.T, dir string, _ *TextModel) { put(t, dir, name, []byte("x")) }
}

func truncate(name string) func(*testing.T, string, *TextModel) {
	return func(t *testing.T, dir string, _ *TextModel) {
		data := get(t, dir, name)
		put(t, dir, name, data[:len(data)-12])
	}
}

func grow(name string) func(*testing.T, string, *TextModel) {
	return func(t *testing.T, dir string, _ *TextModel) {
		data := get(t, dir, name)
		put(t, dir, name, append(data, strings.Repeat(" ", MaxManifestSize+1-len(data))...))
	}
}

// openFiles counts descriptors where the system shows them, else it is always 0.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

func TestSidecarsOfSystemsAreNoEntries(t *testing.T) {
	dir := writeTiny(t)
	for _, name := range []string{
		".DS_Store", "._manifest.json", ".Spotlight-V100", ".TemporaryItems", ".manifest.json.icloud",
	} {
		put(t, dir, name, nil)
	}
	if err := os.Mkdir(filepath.Join(dir, ".fseventsd"), 0o755); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir).Close()
	if _, err := Verify(t.Context(), dir, tinyText(), VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAMetadataFileMayBePaddedToItsCap(t *testing.T) {
	dir := writeTiny(t)
	data := get(t, dir, ReceiptFile)
	put(t, dir, ReceiptFile, append(data, strings.Repeat(" ", MaxReceiptSize-len(data))...))
	mustOpen(t, dir).Close()
}

func TestRefusedBeforeTheLeaseLeavesNoLockFile(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "tiny.vision.gturbo")
	if _, err := Open(t.Context(), dir, tinyText()); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrMetadata) {
		t.Errorf("an absent pack: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, tinyText()); !errors.Is(err, ErrNoManifest) {
		t.Errorf("an empty folder: %v", err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries beside the pack, %v", len(entries)-1, err)
	}
}

func TestAnOpenPackIsLeased(t *testing.T) {
	dir := writeTiny(t)
	lock, err := lease.UsePath(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	if _, err := lease.Exclusive(lock, ""); !errors.Is(err, lease.ErrBusy) {
		t.Errorf("an installer beside an open pack: %v", err)
	}
	a.Close()
	b.Close()
	writer, err := lease.Exclusive(lock, "")
	if err != nil {
		t.Fatalf("after the last Close: %v", err)
	}
	writer.Close()
}

func TestAReceiptHoldsThroughAnyAliasOfTheParent(t *testing.T) {
	dir := writeTiny(t)
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(filepath.Dir(dir), alias); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	mustOpen(t, filepath.Join(alias, filepath.Base(dir))).Close()
	renamed := filepath.Join(filepath.Dir(dir), "other.vision.gturbo")
	if err := os.Symlink(dir, renamed); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), renamed, tinyText()); !errors.Is(err, ErrReceiptPath) {
		t.Errorf("through another name: %v", err)
	}
}

func TestLinksInAFilesPlaceAreRefused(t *testing.T) {
	for _, name := range fourNames {
		dir := writeTiny(t)
		elsewhere := filepath.Join(t.TempDir(), name)
		if err := os.Rename(filepath.Join(dir, name), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
		if _, err := Open(t.Context(), dir, tinyText()); !errors.Is(err, gturbo.ErrSymlink) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Verify(t.Context(), dir, tinyText(), VerifyOptions{}); !errors.Is(err, gturbo.ErrSymlink) {
			t.Errorf("verify: %s: %v", name, err)
		}
	}
}

func TestPathIsTheSiblingOfTheTextModel(t *testing.T) {
	for path, want := range map[string]string{
		"/m/gemma.gturbo": "/m/gemma.vision.gturbo", "gemma.gturbo/": "gemma.vision.gturbo",
		"a/b.c.gturbo": "a/b.c.vision.gturbo",
	} {
		if got, err := Path(filepath.FromSlash(path)); err != nil || got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	for _, path := range []string{"/m/gemma", ".gturbo", "/m/.gturbo", ""} {
		if got, err := Path(path); !errors.Is(err, ErrTextPath) {
			t.Errorf("%q: %s, %v", path, got, err)
		}
	}
}
