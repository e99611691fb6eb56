package residency

import "slices"

// pinPresent gives wants the slots that already hold their experts or are about to.
func (f *Fetch) pinPresent() {
	for i := range f.wants {
		if at := f.l.where[f.wants[i].expert]; at != none {
			f.take(i, int(at))
		}
	}
}

// take pins the slot that holds the expert of want i, or will when its read ends.
func (f *Fetch) take(i, at int) {
	w, sl, st := &f.wants[i], &f.l.slots[at], &f.s.stats
	sl.pins++
	w.slot = at
	if sl.guessed {
		sl.guessed = false
		st.GuessesUsed++
		st.Needed += int64(f.s.dims.Stride)
	}
	if sl.read != nil {
		st.Joined++
		w.state = reading
		sl.read.wanted = append(sl.read.wanted, f)
		f.s.promote(sl.read)
		return
	}
	st.Hits++
	w.state, w.hit = present, true
	f.ready = append(f.ready, i)
}

// serve gives free slots to the wants of a layer that wait for one, and starts their reads.
func (s *Streamer) serve(l *layer) {
	for len(l.waiting) > 0 {
		f := l.waiting[0]
		for i := range f.wants {
			w := &f.wants[i]
			if w.state != waiting {
				continue
			}
			if at := l.where[w.expert]; at != none { // another fetch has asked for it meanwhile
				f.take(i, int(at))
				f.notify()
				continue
			}
			at := s.victim(l, nil)
			if at == none {
				return
			}
			r := &read{layer: l, expert: w.expert, wanted: []*Fetch{f}}
			s.assign(l, at, r)
			l.slots[at].pins++
			w.slot, w.state = at, reading
			s.stats.Misses++
			s.stats.Needed += int64(s.dims.Stride)
			s.start(r)
		}
		l.waiting = l.waiting[1:]
	}
	l.waiting = nil
}

// arrived notes that a read has ended. After a failure the slot is no longer the want's.
func (f *Fetch) arrived(r *read, err error) {
	i := slices.IndexFunc(f.wants, func(w want) bool { return w.expert == r.expert })
	w := &f.wants[i]
	if err == nil {
		w.state = present
		f.ready = append(f.ready, i)
	} else {
		f.l.slots[w.slot].pins--
		w.slot, w.state = none, given
		f.err = err
		f.leave()
	}
	f.notify()
}

// forget tells a read that f no longer waits.
func (s *Streamer) forget(r *read, f *Fetch) {
	r.wanted = slices.DeleteFunc(r.wanted, func(g *Fetch) bool { return g == f })
	if len(r.wanted) == 0 {
		s.drop(r)
	}
}

// leave takes f off the list of those that wait for slots.
func (f *Fetch) leave() {
	for i, g := range f.l.waiting {
		if g == f {
			f.l.waiting = append(f.l.waiting[:i:i], f.l.waiting[i+1:]...)
			return
		}
	}
}
