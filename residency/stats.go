package residency

import "time"

// Stats counts since the streamer was made; Release does not reset it.
type Stats struct {
	Fetches int64
	// Hits were in memory when wanted, Joined were on their way already, Misses started a read.
	Hits, Joined, Misses int64

	// Reads are the experts that arrived in full, guesses included. Bytes counts pieces, also those of guesses given up.
	Reads, Bytes int64
	// Needed is the bytes of the experts among them that a fetch wanted: misses, and guesses that were right.
	Needed int64
	// ReadTime is the sum over all pieces, which are read side by side; BusyTime is the time with at least one in flight.
	ReadTime, BusyTime time.Duration
	// SlowestRead is the longest single piece.
	SlowestRead time.Duration
	// Waited is the time that Next stood still for a read: what better caching or a faster disk could win.
	Waited time.Duration

	// Guesses are reads that Prefetch started, GuessesUsed those that a fetch then wanted, GuessesDropped wishes
	// that were not read in full in time and not wanted.
	Guesses, GuessesUsed, GuessesDropped int64

	// OpenLayers have a descriptor and slots (or a mapping) right now.
	OpenLayers int
}

// HitRate is the share of wanted experts that no read had to be started for, 0 to 1; 0 before the first.
func (s Stats) HitRate() float64 {
	if all := s.Hits + s.Joined + s.Misses; all > 0 {
		return float64(s.Hits+s.Joined) / float64(all)
	}
	return 0
}

// Sub returns what happened between an earlier reading and s. SlowestRead and OpenLayers are those of s.
func (s Stats) Sub(earlier Stats) Stats {
	s.Fetches -= earlier.Fetches
	s.Hits -= earlier.Hits
	s.Joined -= earlier.Joined
	s.Misses -= earlier.Misses
	s.Reads -= earlier.Reads
	s.Bytes -= earlier.Bytes
	s.Needed -= earlier.Needed
	s.ReadTime -= earlier.ReadTime
	s.BusyTime -= earlier.BusyTime
	s.Waited -= earlier.Waited
	s.Guesses -= earlier.Guesses
	s.GuessesUsed -= earlier.GuessesUsed
	s.GuessesDropped -= earlier.GuessesDropped
	return s
}
