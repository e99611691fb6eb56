package metal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/standin"
)

// m5 is a device with tensor operations.
var m5 = standin.Options{AppleFamily: 10, Metal4: true}

// checked is a backend on m5 whose self-check has passed.
func checked(t *testing.T, o Options) *Backend {
	t.Helper()
	if *onDevice != "standin" {
		t.Skip("-device " + *onDevice + ": tensor operations are Apple's")
	}
	b := backendOn(t, standin.ForTest(t, m5), o)
	s, err := b.SelfCheck(t.Context(), SelfCheckOptions{})
	must(t, err)
	must(t, s.Err())
	if tower, text := b.useTensors(); !tower || text != o.TensorText {
		t.Fatalf("tower %t, text %t, why not: %q", tower, text, s.TensorsOff)
	}
	return b
}

func TestTensorOperationsNeedMetal4AndTheirHardware(t *testing.T) {
	for name, o := range map[string]standin.Options{"no Metal 4": {AppleFamily: 10}, "M4": {AppleFamily: 9, Metal4: true}} {
		b := openStandin(t, o)
		if err := b.Tensors(); !errors.Is(err, ErrTensors) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := openStandin(t, m5)
	must(t, b.Tensors())
	if tower, text := b.useTensors(); tower || text {
		t.Errorf("used before a self-check: tower %t, text %t", tower, text)
	}
}

// A doubter is a device that makes something else of the kernels of tensor operations.
type doubter struct {
	driver.Device
	refuse bool // they do not compile; else one kernel does another's work
}

func (d doubter) NewLibrary(source string, o driver.LibraryOptions) (driver.Library, error) {
	if o.Version == 4<<16 && d.refuse {
		return nil, &driver.CompileError{Text: "tensors.metal:1:1: error: no such header"}
	}
	l, err := d.Device.NewLibrary(source, o)
	if o.Version != 4<<16 {
		return l, err
	}
	return doubtful{l}, err
}

type doubtful struct{ driver.Library }

func (l doubtful) Pipeline(name string, c ...driver.Constant) (driver.Pipeline, error) {
	return l.Library.Pipeline(strings.Replace(name, "int8", "int4", 1), c...)
}

func TestTensorKernelsThatFailAreLeftOutAndCostNothingElse(t *testing.T) {
	for _, refuse := range []bool{true, false} {
		device := standin.ForTest(t, m5)
		b := backendOn(t, doubter{device, refuse}, Options{TensorText: true})
		file := t.TempDir() + "/check.json"
		for _, kept := range []bool{false, true} {
			s, err := b.SelfCheck(t.Context(), SelfCheckOptions{File: file})
			must(t, err)
			must(t, s.Err())
			if s.Kept != kept || !strings.Contains(s.TensorsOff, "affine_tensor_int8") {
				t.Errorf("refuse %t: kept %t, why not: %q", refuse, s.Kept, s.TensorsOff)
			}
			if tower, text := b.useTensors(); tower || text {
				t.Errorf("refuse %t: used: tower %t, text %t", refuse, tower, text)
			}
		}
	}
}

func TestTowerThroughTensorOperationsEqualsTheCPU(t *testing.T) {
	x := newTestTower(t, "heads of 72", smallTower(), 12, 9)
	wantPooled, wantSoft := x.run(t, judge(t), 108)
	pooled, soft := x.run(t, checked(t, Options{}), 300)
	d := max(off(pooled, wantPooled), off(soft, wantSoft))
	t.Logf("off by %.1e", d)
	if !(d <= tolerance.tower) {
		t.Errorf("off by %.1e", d)
	}
}

func TestDemoThroughTensorOperationsAnswersAsTheCPUDoes(t *testing.T) {
	path := unpackDemo(t)
	onCPU := loadDemo(t, path, judge(t), nil)
	onMetal := loadDemo(t, path, checked(t, Options{TensorText: true}), nil)
	for _, g := range readGoldens(t) {
		if g.id != "text-hello" && g.id != "image-jpeg-color" {
			continue
		}
		want, got := ask(t, onCPU, g.prepare(t, onCPU), 30), ask(t, onMetal, g.prepare(t, onMetal), 30)
		d := off(got.logits, want.logits)
		t.Logf("%s: %d tokens, logits off by %.1e", g.id, len(g.InputIDs), d)
		if !(d <= tolerance.golden) || !slices.Equal(got.ids, want.ids) {
			t.Errorf("%s: logits off by %.1e, answer %v, want %v", g.id, d, got.ids, want.ids)
		}
	}
}
