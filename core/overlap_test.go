package core_test

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// A countingSource tells how many reads have begun.
type countingSource struct {
	*tinyModel
	mu    sync.Mutex
	begun int
	more  sync.Cond
}

func (c *countingSource) OpenLayer(l gturbo.LayerID) (residency.File, error) {
	file, err := c.tinyModel.OpenLayer(l)
	return &countingFile{file, c}, err
}

type countingFile struct {
	residency.File
	src *countingSource
}

func (f *countingFile) ReadAt(b []byte, off int64) (int, error) {
	f.src.mu.Lock()
	f.src.begun++
	f.src.more.Broadcast()
	f.src.mu.Unlock()
	return f.File.ReadAt(b, off)
}

// waitFor waits until n reads have begun.
func (c *countingSource) waitFor(n int) error {
	late := time.AfterFunc(10*time.Second, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begun = -1
		c.more.Broadcast()
	})
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.begun >= 0 && c.begun < n {
		c.more.Wait()
	}
	if c.begun < 0 {
		return fmt.Errorf("no read began while the stage ran: want %d: %w", n, io.ErrNoProgress)
	}
	return nil
}

// The shared expert runs while misses are read, and in a sweep of more experts than slots the next tile's reads run
// under the current tile's work: the stages here refuse to end before those reads have begun.
func TestReadsRunUnderTheWork(t *testing.T) {
	const slots = 3
	src := &countingSource{tinyModel: newTinyModel(31)}
	src.more.L = &src.mu
	routed, union := 0, 0
	backend := refBackend{fault: func(stage string, layer int) error {
		if layer != 0 {
			return nil
		}
		switch stage {
		case "shared":
			return src.waitFor(1)
		case "routed":
			routed++
			// The first expert still holds its slot; each one before it has given one to a further read.
			return src.waitFor(min(union, slots+routed-1))
		}
		return nil
	}}
	opts := core.Options{Backend: backend, KV: core.KVFloat32, MaxContext: 100, PrefillChunk: 16}
	opts.Experts.Slots = slots
	rt, err := core.NewRuntime(t.Context(), src.Weights, src, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	remove, err := rt.Observe(&core.Observer{Route: func(l gturbo.LayerID, _ *core.Batch, r core.Routing) {
		if l == 0 {
			distinct := map[gturbo.ExpertID]bool{}
			for _, e := range r.Experts {
				distinct[e] = true
			}
			union = len(distinct)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	s := newSession(t, rt)
	prefill(t, s, randomPrompt(1, 16, 150))
	if union <= slots || routed != union {
		t.Errorf("%d experts ran of %d wanted, with %d slots: want a sweep", routed, union, slots)
	}
}
