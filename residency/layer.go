package residency

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

const (
	none     = -1 // no slot; as an expert id: an empty slot
	memClass = "experts"
)

// A layer is one layer's file, slots and history. opening guards the act of opening, which may hash a file and so
// take seconds; the streamer's mu guards all else.
type layer struct {
	id      gturbo.LayerID
	opening sync.Mutex
	history history

	open     bool
	file     File
	region   *pages.Region // slots, or in mapped mode the file
	slots    []slot
	where    []int16           // slot of each expert or none, [E]
	waiting  []*Fetch          // fetches with wants that have no slot yet, first come first
	foretold []gturbo.ExpertID // latest guesses, resident or not: no guess evicts them

	touched []bool // mapped mode: asked for once, so its pages are probably in memory, [E]
	queued  Fence  // mapped mode: the latest work that reads the mapping
}

// A slot is stride bytes for one expert.
type slot struct {
	expert  gturbo.ExpertID
	bytes   []byte
	pins    int     // fetches that chose the expert and have not given it back
	read    *read   // while it is being filled or waits for that
	fences  []Fence // queued work that may still read the bytes
	given   uint64  // when the latest fence came: the order in which busy slots become free
	guessed bool    // filled by a guess that nobody wanted so far
}

func (sl *slot) busy() bool {
	sl.fences = slices.DeleteFunc(sl.fences, Fence.Passed)
	return len(sl.fences) > 0
}

// openLayer opens a layer unless it is open.
func (s *Streamer) openLayer(l *layer) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	s.mu.Lock()
	open, closed := l.open, s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if open {
		return nil
	}
	file, err := s.src.OpenLayer(l.id)
	if err != nil {
		return fmt.Errorf("layer %d: %w: %w", l.id, ErrOpen, err)
	}
	file, region, err := s.memoryFor(l, file)
	if err != nil {
		file.Close()
		return fmt.Errorf("layer %d: %w: %w", l.id, ErrOpen, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.open, l.file, l.region = true, file, region
	s.stats.OpenLayers++
	if s.opts.Mapped {
		l.touched = make([]bool, s.dims.Experts)
		return nil
	}
	l.where = slices.Repeat([]int16{none}, s.dims.Experts)
	l.slots = make([]slot, s.opts.Slots)
	for i := range l.slots {
		lo := i * s.dims.Stride
		l.slots[i] = slot{expert: none, bytes: region.Bytes()[lo : lo+s.dims.Stride : lo+s.dims.Stride]}
	}
	return nil
}

// memoryFor maps the file or allocates slots. It returns the file to read from: an uncached one if that was asked for.
func (s *Streamer) memoryFor(l *layer, file File) (File, *pages.Region, error) {
	if !s.opts.Mapped && !s.opts.Uncached {
		region, err := pages.Alloc(memClass, s.opts.Slots*s.dims.Stride)
		return file, region, err
	}
	f, ok := file.(*os.File)
	if !ok {
		panic(fmt.Sprintf("BUG: residency: mapped and uncached reading need an *os.File, the source has a %T", file))
	}
	end := int64(0)
	for e := range s.dims.Experts {
		offset := s.src.ExpertOffset(l.id, gturbo.ExpertID(e))
		if offset%strideAlign != 0 {
			return file, nil, fmt.Errorf("expert %d at offset %d, want a multiple of %d", e, offset, strideAlign)
		}
		end = max(end, offset+int64(s.dims.Stride))
	}
	if s.opts.Mapped {
		region, err := pages.Map(memClass, f, 0, end)
		return f, region, err
	}
	uncached, err := setUncached(f)
	if err != nil {
		return f, nil, fmt.Errorf("%w: %w", ErrUncached, err)
	}
	region, err := pages.Alloc(memClass, s.opts.Slots*s.dims.Stride)
	return uncached, region, err
}

// closeLayer gives descriptor and memory back; the history stays. Nothing uses the layer.
func (s *Streamer) closeLayer(l *layer) error {
	if !l.open {
		return nil
	}
	for i := range l.slots {
		for _, f := range l.slots[i].fences {
			f.Wait()
		}
	}
	if l.queued != nil {
		l.queued.Wait()
	}
	err, errMem := l.file.Close(), l.region.Close()
	l.open, l.file, l.region, l.slots, l.where = false, nil, nil, nil, nil
	l.touched, l.queued, l.foretold = nil, nil, nil
	s.stats.OpenLayers--
	if err == nil {
		err = errMem
	}
	return err
}

// victim picks the slot to fill next, or none: an empty one, else the policy's choice among those that no work
// reads, else the one whose work was queued first and so ends first. keep lists experts that stay.
func (s *Streamer) victim(l *layer, keep []gturbo.ExpertID) int {
	idle, busy := none, none
	for i := range l.slots {
		sl := &l.slots[i]
		switch {
		case sl.pins > 0 || sl.read != nil || slices.Contains(keep, sl.expert):
		case sl.busy():
			if busy == none || sl.given < l.slots[busy].given {
				busy = i
			}
		case sl.expert == none:
			return i
		case idle == none || l.history.before(s.opts.Policy, sl.expert, l.slots[idle].expert):
			idle = i
		}
	}
	if idle != none {
		return idle
	}
	return busy
}

// assign empties slot i and starts to fill it with e.
func (s *Streamer) assign(l *layer, i int, r *read) {
	sl := &l.slots[i]
	if sl.expert != none {
		l.where[sl.expert] = none
	}
	sl.expert, sl.read, sl.guessed = r.expert, r, false
	l.where[r.expert] = int16(i)
	r.slot = i
}

// clear makes slot i empty: its read failed or was given up.
func (l *layer) clear(i int) {
	sl := &l.slots[i]
	l.where[sl.expert] = none
	sl.expert, sl.read, sl.guessed = none, nil, false
}
