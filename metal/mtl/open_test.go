package mtl_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/mtl"
	"github.com/fieldfare/fieldfare/metal/standin"
)

func TestOpenWithoutMetalSaysSo(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("this system has Metal")
	}
	for _, o := range []mtl.Options{{}, {Framework: "/no/such/library.so"}} {
		if _, err := mtl.Open(o); !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

func TestAProcessHasOneFramework(t *testing.T) {
	standin.ForTest(t, standin.Options{})
	if _, err := mtl.Open(mtl.Options{Framework: "/another.so"}); err == nil {
		t.Error("a second framework was opened")
	}
}

func TestGivingBackTwicePanics(t *testing.T) {
	f := newFixture(t, standin.Options{})
	b := must(f.device.NewBuffer(4))(t)
	c := must(f.queue.CommandBuffer("twice"))(t)
	for name, free := range map[string]func(){"buffer": b.Free, "command buffer": c.Free} {
		free()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: freed twice in silence", name)
				}
			}()
			free()
		}()
	}
}

func TestMoreThan4096BytesForOneBindingPanic(t *testing.T) {
	f := newFixture(t, standin.Options{})
	c := must(f.queue.CommandBuffer("large"))(t)
	defer c.Free()
	e := c.Compute(driver.Serial)
	defer e.End()
	e.SetBytes(0, make([]byte, 4096))
	defer func() {
		if recover() == nil {
			t.Error("4097 bytes were taken")
		}
	}()
	e.SetBytes(0, make([]byte, 4097))
}
