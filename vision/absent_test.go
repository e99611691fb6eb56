package vision

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/text"
	"github.com/fieldfare/fieldfare/visionpack"
)

// footprint is what a process holds.
type footprint struct {
	mapped map[string]int64
	heap   int64
	files  int // open, where the system shows it
}

func measure() footprint {
	for range 3 { // finalizers run between collections
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := footprint{mapped: pages.Usage(), heap: int64(m.HeapAlloc)}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.files = len(entries)
	}
	return f
}

// heapSlack covers the extension itself: its options, the reason why it is off, and what collections leave uncounted.
const heapSlack = 16 << 10

// noTower is a backend without a tower.
type noTower struct{ core.Backend }

// Whatever is wrong with the pack, text runs as it would without the extension: same bits, same memory to the byte,
// same open files. Pictures are refused with a reason of their own.
func TestAPackThatCannotBeUsedLeavesTextAlone(t *testing.T) {
	question := text.Conversation{Messages: []text.Message{
		{Role: text.RoleUser, Content: text.Plain("What is the capital of Peru?")},
	}}
	// run loads the model, answers and says what that has added to the process.
	run := func(dir string, b core.Backend, x ...core.Extension) (rt *core.Runtime, logits []float32, f footprint) {
		before := measure()
		rt = loadWith(t, filepath.Join(dir, "demo.gturbo"), b, nil, x...)
		logits = logitsOf(t, rt, prepare(t, rt, question, nil))
		f = measure()
		f.heap -= before.heap
		return rt, logits, f
	}
	for _, c := range []struct {
		name    string
		spoil   func(pack string) error
		backend func(core.Backend) core.Backend
		want    error
	}{
		{"absent", os.RemoveAll, nil, visionpack.ErrNotFound},
		{"of another model", changed(func(m *visionpack.Manifest) { m.TextSnapshotHash = "sha256:other" }), nil,
			visionpack.ErrOtherSource},
		{"of another install", changed(func(m *visionpack.Manifest) { m.TextManifestSHA256 = m.SourceIndexSHA256 }), nil,
			visionpack.ErrOtherManifest},
		{"truncated", func(pack string) error {
			return os.Truncate(filepath.Join(pack, visionpack.WeightsFile), 4096)
		}, nil, visionpack.ErrSize},
		{"with a damaged processor file", func(pack string) error {
			return os.WriteFile(filepath.Join(pack, visionpack.ProcessorFile), make([]byte, 1252), 0o644)
		}, nil, visionpack.ErrChecksum},
		{"with a fifth file", func(pack string) error {
			return os.WriteFile(filepath.Join(pack, "x"), nil, 0o644)
		}, nil, visionpack.ErrEntries},
		{"on a backend without a tower", nil, func(b core.Backend) core.Backend { return noTower{b} }, ErrBackend},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := unpackDemo(t, dir); err != nil {
				t.Fatal(err)
			}
			backend := core.Backend(newSpy(t))
			if c.backend != nil {
				backend = c.backend(backend)
			} else if err := c.spoil(filepath.Join(dir, "demo.vision.gturbo")); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := run(dir, backend) // also allocates what stays for good
			first.Close()
			bare, want, without := run(dir, backend)
			bare.Close()
			x, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			rt, got, with := run(dir, backend, x)
			if state := rt.Extensions()[0]; !errors.Is(state.Err, core.ErrExtension) || !errors.Is(state.Err, c.want) {
				t.Errorf("the extension says %v, want %v", state.Err, c.want)
			}
			conversation, media := ask(t, "What shape is it?", "image-multiturn.png")
			if _, err := rt.Prepare(t.Context(), conversation, media); !errors.Is(err, core.ErrNoMedia) {
				t.Errorf("a picture: %v", err)
			}
			if !sameBits(got, want) {
				t.Error("other logits than without the extension")
			}
			if !maps.Equal(with.mapped, without.mapped) {
				t.Errorf("memory outside the heap: %v, without the extension %v", with.mapped, without.mapped)
			}
			if with.files != without.files {
				t.Errorf("%d open files, without the extension %d", with.files, without.files)
			}
			if with.heap > without.heap+heapSlack {
				t.Errorf("%d bytes on the heap, without the extension %d", with.heap, without.heap)
			}
			after, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == visionpack.ErrNotFound && len(after) != len(before) {
				t.Errorf("%d entries beside the model, before there were %d", len(after), len(before))
			}
		})
	}
}

// changed writes the pack's manifest anew after a change.
func changed(change func(*visionpack.Manifest)) func(pack string) error {
	return func(pack string) error {
		path := filepath.Join(pack, visionpack.ManifestFile)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m, err := visionpack.DecodeManifest(data)
		if err != nil {
			return err
		}
		change(m)
		if data, err = m.Encode(); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	}
}

func TestAnExtensionThatIsClosedLeavesNothing(t *testing.T) {
	path := demo(t)
	s := newSpy(t)
	loadWith(t, path, s, nil).Close()
	before := measure()
	for _, policy := range []Residency{OnDemand, KeepReady} {
		rt, _ := load(t, path, s, Options{Residency: policy}, nil)
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		after := measure()
		if after.files != before.files || !maps.Equal(after.mapped, before.mapped) {
			t.Errorf("%s: %d files and %v, before %d and %v", policy, after.files, after.mapped, before.files, before.mapped)
		}
	}
}
