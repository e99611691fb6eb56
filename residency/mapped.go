package residency

import (
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// placeMapped answers a fetch from a mapped file: everything is present, and experts asked for the first time come
// last and are announced to the system, so that it reads them side by side and ahead of the page faults.
func (f *Fetch) placeMapped() {
	var fresh []int
	for i := range f.wants {
		w := &f.wants[i]
		w.state, w.hit = present, f.l.touched[w.expert]
		if w.hit {
			f.s.stats.Hits++
			f.ready = append(f.ready, i)
			continue
		}
		f.s.stats.Misses++
		f.s.stats.Needed += int64(f.s.dims.Stride)
		f.s.announce(f.l, w.expert)
		fresh = append(fresh, i)
	}
	f.ready = append(f.ready, fresh...)
}

// foresee announces guesses.
func (s *Streamer) foresee(l *layer, experts []gturbo.ExpertID) {
	for _, e := range experts {
		if !l.touched[e] {
			s.stats.Guesses++
			s.announce(l, e)
		}
	}
}

// announce asks the system to read an expert's pages. Their bytes count as read: page faults report nothing better.
func (s *Streamer) announce(l *layer, e gturbo.ExpertID) {
	l.touched[e] = true
	s.stats.Bytes += int64(s.dims.Stride)
	lo := int(s.src.ExpertOffset(l.id, e))
	_ = l.region.Advise(lo, lo+s.dims.Stride, pages.WillNeed) // a hint: without it the page faults read
}

// mapped returns an expert's bytes in the mapped file.
func (f *Fetch) mapped(e gturbo.ExpertID) []byte {
	lo := f.s.src.ExpertOffset(f.l.id, e)
	hi := lo + int64(f.s.dims.Stride)
	return f.l.region.Bytes()[lo:hi:hi]
}
