package install

import (
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// planPinned plans a text install of the pinned shapes from headers alone.
func planPinned(t testing.TB) (*Artifact, *Snapshot) {
	t.Helper()
	snap, err := LoadSnapshot(t.Context(), headerSource{newCheckpointFiles(pinned26B())}, "")
	if err != nil {
		t.Fatal(err)
	}
	art, err := TextArtifact(snap, DefaultChunk, Receipt{Path: "/m/gemma4.gturbo", Time: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return art, snap
}

func TestPinnedResidentIndexIsTheDocumentedOne(t *testing.T) {
	art, _ := planPinned(t)
	weights := art.Plan.Files[0]
	if weights.Path != gturbo.WeightsFile || weights.Size != 1_353_771_068 {
		t.Errorf("%s has %d bytes, want 1353771068", weights.Path, weights.Size)
	}
	const want = "0c99c7dffed86d99ba1756854b130e8b9f721d4483a410ece99f9dc134fcd293"
	if got := gturbo.SHA256(weights.Head); len(weights.Head) != 81_920 || got != want {
		t.Errorf("index of %d bytes has SHA-256 %s, want 81920 bytes and %s", len(weights.Head), got, want)
	}
	index, err := gturbo.DecodeIndex(weights.Head)
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Entries) != 597 || index.ResidentSize != 1_353_689_148 {
		t.Errorf("%d entries over %d bytes, want 597 over 1353689148", len(index.Entries), index.ResidentSize)
	}
	odd := 0
	for _, e := range index.Entries {
		if e.DType == gturbo.U32 && e.Weights.Offset%4 == 2 {
			odd++
		}
	}
	if odd != 115 {
		t.Errorf("%d quantized tensors start at 2 mod 4, want 115", odd)
	}
}

func TestPinnedLayoutIsTheDocumentedOne(t *testing.T) {
	art, _ := planPinned(t)
	data, err := art.Documents[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = "1fc209dfda8c3f50e26ff8add469aa50fff497a41ba4dca19960e60a60d31593"
	if got := gturbo.SHA256(data); len(data) != 8_450_186 || got != want {
		t.Errorf("layout of %d bytes has SHA-256 %s, want 8450186 bytes and %s", len(data), got, want)
	}
}

func TestPinnedPlanAddsUp(t *testing.T) {
	art, snap := planPinned(t)
	plan := art.Plan
	var kept int64
	for i := range plan.Ranges {
		kept += plan.Ranges[i].kept()
		if plan.Ranges[i].Size > DefaultChunk {
			t.Errorf("%s has %d bytes", plan.Ranges[i].ID, plan.Ranges[i].Size)
		}
	}
	if kept != 14_200_055_868 {
		t.Errorf("payload of %d bytes, want 14200055868", kept)
	}
	if len(plan.Files) != 31 || plan.Files[1].Size != 429_916_160 {
		t.Errorf("%d files, a layer of %d bytes, want 31 and 429916160", len(plan.Files), plan.Files[1].Size)
	}
	if n := len(snap.Parsed.Quantization.Overrides); n != 30 {
		t.Errorf("%d bit width overrides, want 30", n)
	}
	for i, f := range newBlockMap(plan) {
		last := f[len(f)-1]
		if last.to+last.size != plan.Files[i].Size {
			t.Errorf("blocks of %s end at %d of %d", plan.Files[i].Path, last.to+last.size, plan.Files[i].Size)
		}
	}
	t.Logf("%d ranges, %d source bytes", len(plan.Ranges), plan.SourceBytes())
}
