package residency

import (
	"errors"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

func TestProbeMemoryMeasuresAndLeavesNothing(t *testing.T) {
	before := pages.Outstanding()
	rates, err := ProbeMemory(2, time.Millisecond)
	if err != nil || rates.Typical < 1e6 || rates.Typical > rates.Best || rates.Best > 1e13 {
		t.Errorf("%.3g bytes per second, %v", rates, err)
	}
	if pages.Outstanding() != before {
		t.Error("the probe keeps its memory")
	}
	if _, err := ProbeMemory(0, time.Second); !errors.Is(err, ErrOptions) {
		t.Errorf("no threads: %v, want ErrOptions", err)
	}
}
