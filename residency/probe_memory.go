package residency

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

const (
	memoryProbeBytes = 256 << 20 // more than processors keep in their caches
	absent           = 0xff
)

// ProbeMemory measures the bytes per second that threads together read from memory, for about the given time, the best
// round counting: what no kernel can exceed. The search for an absent byte is the fastest read that the standard library has.
func ProbeMemory(threads int, budget time.Duration) (float64, error) {
	if threads < 1 {
		return 0, fmt.Errorf("probe memory with %d threads: %w", threads, ErrOptions)
	}
	region, err := pages.Alloc("probe", memoryProbeBytes)
	if err != nil {
		return 0, fmt.Errorf("probe memory: %w", err)
	}
	defer region.Close()
	all := region.Bytes()
	for i := 0; i < len(all); i += 4096 {
		all[i] = 1 // pages of their own
	}
	best := 0.0
	for from := time.Now(); best == 0 || time.Since(from) < budget; {
		best = max(best, readRound(all, threads))
	}
	return best, nil
}

// readRound has each thread read its share of all once, and returns the bytes per second.
func readRound(all []byte, threads int) float64 {
	share := len(all) / threads
	from := time.Now()
	var wg sync.WaitGroup
	for t := range threads {
		part := all[t*share:][:share]
		wg.Go(func() {
			if bytes.IndexByte(part, absent) >= 0 {
				panic("BUG: residency: the probe's memory holds a byte that nobody wrote")
			}
		})
	}
	wg.Wait()
	return float64(threads*share) / time.Since(from).Seconds()
}
