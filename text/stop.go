package text

import "strings"

// A Stopper cuts streamed text at the first stop string. It holds back the end of the text as long as that may
// be the beginning of one. The cut does not depend on how the text is divided over calls.
type Stopper struct {
	stops   []string
	held    string
	stopped bool
}

// NewStopper returns a Stopper for stops, of which empty ones are ignored.
func NewStopper(stops []string) *Stopper {
	s := new(Stopper)
	for _, stop := range stops {
		if stop != "" {
			s.stops = append(s.stops, stop)
		}
	}
	return s
}

// Push adds text and returns what is certain to come before any stop string. stopped says that a stop string is
// complete: the text ends before it, and later calls add nothing. Of several, the one that is complete first
// counts, of those the longest.
func (s *Stopper) Push(text string) (emit string, stopped bool) {
	if s.stopped {
		return "", true
	}
	all := s.held + text
	if at := s.find(all); at >= 0 {
		s.held, s.stopped = "", true
		return all[:at], true
	}
	keep := len(all) - s.openLength(all)
	s.held = all[keep:]
	return all[:keep], false
}

// Flush ends the text and returns what was held back.
func (s *Stopper) Flush() string {
	held := s.held
	s.held = ""
	return held
}

// find returns where the first stop string in text begins, -1 if there is none.
func (s *Stopper) find(text string) int {
	start, end := -1, len(text)+1
	for _, stop := range s.stops {
		at := strings.Index(text, stop)
		if at < 0 {
			continue
		}
		if e := at + len(stop); e < end || e == end && at < start {
			start, end = at, e
		}
	}
	return start
}

// openLength returns the length of the longest end of text with which a stop string begins.
func (s *Stopper) openLength(text string) int {
	longest := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}
