package vision

import (
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/visionpack"
)

func TestNeedIsKnownBeforeLoading(t *testing.T) {
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	need := func(o Options, path string) core.Need {
		t.Helper()
		x, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		n, err := x.Need(t.Context(), path, backend)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	path := demo(t)
	demand, ready := need(Options{MaxBudget: 1120}, path), need(Options{Residency: KeepReady, MaxBudget: 1120}, path)
	if demand.Span != 1120 || demand.Kept != 0 || demand.Encoding < decodeBytes {
		t.Errorf("on demand: %+v", demand)
	}
	text, err := visionpack.ReadText(path)
	if err != nil {
		t.Fatal(err)
	}
	packPath, err := visionpack.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := visionpack.Open(t.Context(), packPath, text)
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	mapped := int64(0)
	for g := range pack.Groups() {
		r, err := pack.Map(g)
		if err != nil {
			t.Fatal(err)
		}
		mapped += int64(r.Size())
		r.Close()
	}
	if ready.Kept != mapped {
		t.Errorf("kept ready: %d bytes, the groups map %d", ready.Kept, mapped)
	}
	if n := need(Options{}, t.TempDir()); n != (core.Need{}) {
		t.Errorf("without a pack: %+v, want nothing", n)
	}
}

func TestTowerScratchIsWhatATowerTakes(t *testing.T) {
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := visionpack.ReadText(demo(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg := towerConfig(text.Tower)
	before := towerBytes()
	tower, err := backend.NewTower(cfg, 630)
	if err != nil {
		t.Fatal(err)
	}
	taken := towerBytes() - before
	tower.Close()
	if want := backend.TowerScratchBytes(cfg, 630); taken < want || taken > want+64<<10 {
		t.Errorf("a tower takes %d bytes, said to take %d", taken, want)
	}
	cfg.Heads++
	if n := backend.TowerScratchBytes(cfg, 630); n != 0 {
		t.Errorf("a tower that is refused takes %d bytes", n)
	}
}

func towerBytes() int64 { return pages.Usage()["tower"] }
