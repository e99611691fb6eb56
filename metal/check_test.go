package metal

import (
	"testing"

	"github.com/fieldfare/fieldfare/metal/standin"
	"github.com/fieldfare/fieldfare/shaders"
)

// Every kernel on small inputs, every access checked for races, bounds and initialisation, lanes shuffled.
func TestKernelsEqualPlainLoopsInTheCheckedBuild(t *testing.T) {
	b := open(t, standin.Options{Checked: true, Strict: true, Order: standin.Shuffle, Seed: 7, AppleFamily: 10, Metal4: true})
	results, err := b.Check(t.Context(), CheckSmall)
	must(t, err)
	if len(results) != len(shaders.Kernels) {
		t.Errorf("%d kernels were checked, the table has %d", len(results), len(shaders.Kernels))
	}
	for _, r := range results {
		t.Log(r, r.Took)
	}
	if err := CheckError(results); err != nil {
		t.Error(err)
	}
}

// Every kernel at the dimensions of the 26B.
func TestKernelsEqualPlainLoopsAtFullSize(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: full dimensions take half a minute")
	}
	results, err := open(t, standin.Options{}).Check(t.Context(), CheckFull)
	must(t, err)
	for _, r := range results {
		t.Log(r, r.Took)
	}
	if err := CheckError(results); err != nil {
		t.Error(err)
	}
}
