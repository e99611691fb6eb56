package harness_test

import (
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/msl/harness"
	"github.com/fieldfare/fieldfare/metal/standin"
)

func runAll(t *testing.T, o standin.Options, scale harness.Scale) {
	d := standin.ForTest(t, o)
	for _, c := range harness.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Test(&harness.Run{Device: d, Scale: scale, Seed: o.Seed})
			if err == nil {
				err = r.Verdict()
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Checked == 0 {
				t.Fatal("no value was compared")
			}
			t.Logf("error %.2e of %d values", r.Error, r.Checked)
		})
	}
}

func TestFastBuildAtSizesNearTheRealOnes(t *testing.T) { runAll(t, standin.Options{}, harness.Small) }

func TestCheckedBuildUnderEveryOrder(t *testing.T) {
	for name, order := range map[string]standin.Order{
		"forward": standin.Forward, "reverse": standin.Reverse, "shuffle": standin.Shuffle,
	} {
		t.Run(name, func(t *testing.T) {
			runAll(t, standin.Options{Checked: true, Strict: true, Order: order, Seed: 42}, harness.Tiny)
		})
	}
}

func TestEveryDeliberateMistakeIsNamed(t *testing.T) {
	for _, order := range []standin.Order{standin.Forward, standin.Shuffle} {
		d := standin.ForTest(t, standin.Options{Checked: true, Strict: true, Order: order, Seed: 3})
		for _, m := range harness.Misuses {
			err := harness.RunMisuse(&harness.Run{Device: d}, m.Kernel)
			found := false
			for _, want := range m.Messages {
				found = found || err != nil && strings.Contains(err.Error(), want)
			}
			if !found {
				t.Errorf("%s: got %v, want a message with one of %q", m.Kernel, err, m.Messages)
			} else if !strings.Contains(err.Error(), "misuse.metal:") && !strings.Contains(err.Error(), "line") {
				t.Errorf("%s: the message names no line: %v", m.Kernel, err)
			}
		}
	}
}
