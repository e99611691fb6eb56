package install

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPreflightCreatesNothing(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	o := r.options(HostFS())
	o.Output = filepath.Join(dir, "not", "yet", "tiny.gturbo")
	e, err := Preflight(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	physical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if e.Dir != physical || e.FreeBytes <= 0 || !e.Fits() || e.NeedBytes <= e.OutputBytes || e.ModelID != unknownModelID {
		t.Errorf("%+v, want dir %s", e, physical)
	}
	o.Reserve = 1 << 60
	if e, err = Preflight(t.Context(), o); err != nil || e.Fits() {
		t.Errorf("%+v, %v", e, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("created %v, %v", entries, err)
	}
}

func TestPreflightOfThePinnedModel(t *testing.T) {
	o := Options{Source: headerSource{newCheckpointFiles(pinned26B())}, Output: "/m/x.gturbo", FS: newMemFS()}
	e, err := Preflight(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// The payload is resident and expert files; the reference asks for 15,432,772,572 bytes.
	if e.OutputBytes != 1_353_771_068+12_897_484_800 || e.NeedBytes != e.OutputBytes+DefaultReserve+2*sideFileAllowance {
		t.Errorf("%+v", e)
	}
}
