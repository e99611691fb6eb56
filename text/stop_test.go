package text

import (
	"slices"
	"strings"
	"testing"
)

func TestStopper(t *testing.T) {
	type step struct {
		push, emit string
		stopped    bool
	}
	for _, c := range []struct {
		name  string
		stops []string
		steps []step
		flush string
	}{
		{"no stops, no waiting", nil, []step{{"abc", "abc", false}}, ""},
		{"empty stops are ignored", []string{""}, []step{{"abc", "abc", false}}, ""},
		{"a stop within one text", []string{"END"}, []step{{"abENDcd", "ab", true}, {"more", "", true}}, ""},
		{"a stop across texts", []string{"END"},
			[]step{{"abE", "ab", false}, {"N", "", false}, {"Dcd", "", true}}, ""},
		{"a false start is released", []string{"END"}, []step{{"abEN", "ab", false}, {"d", "ENd", false}}, ""},
		{"a false start inside a false start", []string{"aab"},
			[]step{{"aa", "", false}, {"a", "a", false}, {"b", "", true}}, ""},
		{"what is held comes at the end", []string{"END"}, []step{{"abEN", "ab", false}}, "EN"},
		{"the stop that is complete first counts", []string{"abcd", "bc"}, []step{{"xabcd", "xa", true}}, ""},
		{"of stops that end together the longest counts", []string{"c", "bc", "abc"}, []step{{"xabc", "x", true}}, ""},
		{"a stop that another begins with", []string{"\n\n", "\n\n\n"},
			[]step{{"a\n", "a", false}, {"\n\n", "", true}}, ""},
		{"the longest start is held", []string{"ab", "babc"},
			[]step{{"xba", "x", false}, {"c", "bac", false}}, ""},
		{"characters of several bytes", []string{"→fin"},
			[]step{{"a→", "a", false}, {"fi", "", false}, {"x", "→fix", false}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStopper(c.stops)
			for i, st := range c.steps {
				if emit, stopped := s.Push(st.push); emit != st.emit || stopped != st.stopped {
					t.Errorf("step %d: Push(%q) gives %q, %v; want %q, %v", i, st.push, emit, stopped, st.emit, st.stopped)
				}
			}
			if got := s.Flush(); got != c.flush {
				t.Errorf("Flush gives %q, want %q", got, c.flush)
			}
		})
	}
}

// cutAtStop is the definition: grow the text by a byte at a time until it ends in a stop.
func cutAtStop(text string, stops []string) (string, bool) {
	for end := range len(text) + 1 {
		longest := 0
		for _, stop := range stops {
			if strings.HasSuffix(text[:end], stop) {
				longest = max(longest, len(stop))
			}
		}
		if longest > 0 {
			return text[:end-longest], true
		}
	}
	return text, false
}

func TestStopperDoesNotDependOnTheDivision(t *testing.T) {
	for seed := range uint64(3000) {
		r := splitmix(seed)
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = 'a' + byte(r.below(2))
			}
			return string(b)
		}
		var stops []string
		for range 1 + r.below(3) {
			stops = append(stops, word(2+r.below(5)))
		}
		text := word(r.below(30))
		want, wantStopped := cutAtStop(text, stops)
		s := NewStopper(stops)
		got, stopped, rest := "", false, text
		for rest != "" && !stopped {
			var emit string
			n := 1 + r.below(len(rest))
			emit, stopped = s.Push(rest[:n])
			got, rest = got+emit, rest[n:]
			if !strings.HasPrefix(want, got) {
				break
			}
		}
		got += s.Flush()
		if got != want || stopped != wantStopped {
			t.Errorf("stops %q: %q gives %q, %v; want %q, %v", stops, text, got, stopped, want, wantStopped)
		}
	}
}

// What is held must be able to become a stop: everything else goes out at once.
func TestStopperHoldsNoMoreThanNeeded(t *testing.T) {
	stops := []string{"abab", "bb"}
	s := NewStopper(stops)
	for _, c := range "aababaabbaxbaab" {
		_, stopped := s.Push(string(c))
		if stopped {
			return
		}
		begins := slices.ContainsFunc(stops, func(stop string) bool { return strings.HasPrefix(stop, s.held) })
		if !begins {
			t.Fatalf("holds %q, with which no stop begins", s.held)
		}
	}
	t.Error("the text has a stop, and was not stopped")
}
