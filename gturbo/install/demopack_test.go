package install

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/visionpack"
)

const demoPack = "../../testdata/demo.vision.gturbo"

// openPack opens a pack for the text model beside it.
func openPack(t *testing.T, pack, text string) error {
	t.Helper()
	model, err := visionpack.ReadText(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := visionpack.Open(t.Context(), pack, model)
	if err != nil {
		return err
	}
	return p.Close()
}

// The pack is added to a fresh text install, whose manifest is the committed one's. `-update` writes it anew.
func TestDemoPackIsCommitted(t *testing.T) {
	text := installDemo(t)
	o := PackOptions{Options: Options{Source: NewDirSource(demoCheckpoint), Reserve: 1}, TextModel: text}
	result, err := InstallPack(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(text), "demo.vision.gturbo"); result.Path != want {
		t.Errorf("installed at %s, want %s", result.Path, want)
	}
	if err := openPack(t, result.Path, text); err != nil {
		t.Error(err)
	}
	first := tree(t, result.Path)
	o.Overwrite = true
	if _, err := InstallPack(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	sameTree(t, first, tree(t, result.Path)) // the receipt too: it holds no time
	delete(first, gturbo.ReceiptFile)
	if *update {
		if err := errors.Join(os.RemoveAll(demoPack), os.Mkdir(demoPack, 0o755)); err != nil {
			t.Fatal(err)
		}
		for name, data := range first {
			if err := os.WriteFile(filepath.Join(demoPack, name), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sameTree(t, tree(t, demoPack), first)
}

func TestMaterialisedPackOpensBesideTheMaterialisedModel(t *testing.T) {
	dir := t.TempDir()
	text, pack := filepath.Join(dir, "demo.gturbo"), filepath.Join(dir, "demo.vision.gturbo")
	if err := Materialise(t.Context(), testdata.Demo(), text); err != nil {
		t.Fatal(err)
	}
	if err := MaterialisePack(t.Context(), testdata.DemoVision(), pack); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(pack)
	if err != nil {
		t.Fatal(err)
	}
	if err := MaterialisePack(t.Context(), testdata.DemoVision(), pack); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(pack); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written a second time: %v", err)
	}
	if err := openPack(t, pack, text); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(pack, visionpack.WeightsFile), 100); err != nil {
		t.Fatal(err)
	}
	if err := openPack(t, pack, text); !errors.Is(err, visionpack.ErrSize) {
		t.Fatalf("truncated: %v", err)
	}
	if err := MaterialisePack(t.Context(), testdata.DemoVision(), pack); err != nil {
		t.Fatal(err)
	}
	if err := openPack(t, pack, text); err != nil {
		t.Errorf("unpacked over a damaged one: %v", err)
	}
}

func TestPackOfAStrangeTowerIsRefusedBeforeItIsFetched(t *testing.T) {
	for name, change := range map[string]func(snap *Snapshot){
		"a tensor too few": func(snap *Snapshot) { delete(snap.Tensors, "vision_tower.std_scale") },
		"an audio tower": func(snap *Snapshot) {
			snap.Tensors["audio_tower.x"] = Tensor{Name: "audio_tower.x", DType: BF16, Shape: []int64{1}, Size: 2}
		},
		"no configuration": func(snap *Snapshot) { snap.Parsed.Vision = nil },
		"another dimension": func(snap *Snapshot) {
			config := &snap.Parsed.Vision.Config
			*config = bytes.Replace(*config, []byte(`"intermediate_size":64`), []byte(`"intermediate_size":128`), 1)
		},
	} {
		r := newRig(t)
		snap, err := LoadSnapshot(t.Context(), r.source, "")
		if err != nil {
			t.Fatal(err)
		}
		text := textModel{snapshotHash: snapshotHash(snap), manifestSHA256: strings.Repeat("a", 64)}
		if _, err := packArtifact(snap, text, memPack, 4096); err != nil {
			t.Fatalf("%s: unchanged: %v", name, err)
		}
		change(snap)
		_, err = packArtifact(snap, text, memPack, 4096)
		if !errors.Is(err, ErrTensor) && !errors.Is(err, ErrMissingTensor) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
