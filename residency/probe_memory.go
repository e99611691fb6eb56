package residency

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

const (
	memoryProbeBytes = 256 << 20 // more than processors keep in their caches
	absent           = 0xff
)

// MemoryRates are bytes per second: of the best round, which no kernel can exceed, and of the one in the middle, which
// is what the machine sustains beside whatever else uses its memory.
type MemoryRates struct {
	Best    float64 `json:"best"`
	Typical float64 `json:"typical"`
}

// ProbeMemory measures how fast threads together read from memory, in rounds for about the given time. The search for an
// absent byte is the fastest read that the standard library has.
func ProbeMemory(threads int, budget time.Duration) (MemoryRates, error) {
	if threads < 1 {
		return MemoryRates{}, fmt.Errorf("probe memory with %d threads: %w", threads, ErrOptions)
	}
	region, err := pages.Alloc("probe", memoryProbeBytes)
	if err != nil {
		return MemoryRates{}, fmt.Errorf("probe memory: %w", err)
	}
	defer region.Close()
	all := region.Bytes()
	for i := 0; i < len(all); i += 4096 {
		all[i] = 1 // pages of their own
	}
	var rounds []float64
	for from := time.Now(); len(rounds) == 0 || time.Since(from) < budget; {
		rounds = append(rounds, readRound(all, threads))
	}
	slices.Sort(rounds)
	return MemoryRates{Best: rounds[len(rounds)-1], Typical: rounds[len(rounds)/2]}, nil
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
