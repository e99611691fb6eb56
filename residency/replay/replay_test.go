package replay

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

var small = Header{Layers: 2, Experts: 8, TopK: 2}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, small)
	w.Add(0, 2, []gturbo.ExpertID{3, 1, 1, 7})
	w.Add(1, 1, []gturbo.ExpertID{0, 5})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, trace, err := Read(&file)
	if err != nil || h != small || len(trace) != 2 || trace[0].Rows != 2 || trace[1].Layer != 1 ||
		!slices.Equal(trace[0].Experts, []gturbo.ExpertID{3, 1, 7}) {
		t.Errorf("%+v, %+v, %v", h, trace, err)
	}
}

func TestBadTracesNameTheLine(t *testing.T) {
	head := magic + " layers=2 experts=8 topk=2\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "line 1"},
		"another file":       {"PK\x03\x04", "line 1"},
		"no experts at all":  {magic + " layers=2 experts=0 topk=0\n", "line 1"},
		"a layer too high":   {head + "0 1 1\n2 1 1\n", "line 3: layer"},
		"an expert too high": {head + "0 1 8\n", "line 2: expert"},
		"an expert twice":    {head + "0 1 1,1\n", "expert 1 twice"},
		"a word too many":    {head + "0 1 1 1\n", "4 words"},
		"no rows":            {head + "0 0 1\n", "rows"},
	} {
		if _, _, err := Read(strings.NewReader(c.text)); !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(magic + " layers=2 experts=8 topk=2\n0 1 1,2\n1 3 7\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, trace, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		w := NewWriter(&again, h)
		for _, x := range trace {
			w.Add(x.Layer, x.Rows, x.Experts)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		h2, trace2, err := Read(&again)
		if err != nil || h2 != h || len(trace2) != len(trace) {
			t.Fatalf("read again: %+v, %d fetches, %v", h2, len(trace2), err)
		}
	})
}

func hits(t *testing.T, results []Result, name string) int {
	t.Helper()
	i := slices.IndexFunc(results, func(r Result) bool { return r.Policy == name })
	if i < 0 {
		t.Fatalf("no policy %q", name)
	}
	return results[i].Hits
}

// Sequences whose hits can be counted by hand, one expert a fetch, two slots.
func TestPoliciesOnKnownSequences(t *testing.T) {
	for name, c := range map[string]struct {
		experts string
		want    map[string]int
	}{
		"recent beats frequent": {"aabcbcbc", map[string]int{"lru": 5, "lfu": 3, "best possible": 5}},
		"frequent beats recent": {"aaabcabcabc", map[string]int{"lfu": 4, "lru": 2, "best possible": 5}},
		"a loop defeats lru":    {"abcabcabc", map[string]int{"lru": 0, "clock": 0, "best possible": 3}},
		"everything fits":       {"ababab", map[string]int{"lfu": 4, "lru": 4, "clock": 4, "arc": 4, "lfu, halved": 4, "best possible": 4}},
	} {
		var trace []Fetch
		for _, e := range c.experts {
			trace = append(trace, Fetch{Rows: 1, Experts: []gturbo.ExpertID{gturbo.ExpertID(e - 'a')}})
		}
		results := Run(Header{1, 8, 1}, trace, 2, 0)
		for policy, want := range c.want {
			if got := hits(t, results, policy); got != want {
				t.Errorf("%s: %s: %d hits, want %d", name, policy, got, want)
			}
		}
	}
}

func TestNoPolicyBeatsTheBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var trace []Fetch
	for i := range 600 {
		f := Fetch{Layer: gturbo.LayerID(i % 2), Rows: 1}
		for len(f.Experts) < 2+i%4 {
			e := gturbo.ExpertID(min(r.IntN(8), r.IntN(8)))
			if !slices.Contains(f.Experts, e) {
				f.Experts = append(f.Experts, e)
			}
		}
		trace = append(trace, f)
	}
	for _, slots := range []int{1, 2, 3, 5, 8} {
		results := Run(small, trace, slots, 300)
		bound := hits(t, results, "best possible")
		for _, x := range results {
			if x.Hits > bound || x.Wanted != results[0].Wanted {
				t.Errorf("%d slots: %s: %d hits of %d, the bound is %d", slots, x.Policy, x.Hits, x.Wanted, bound)
			}
			if slots == 8 && x.Hits != x.Wanted {
				t.Errorf("room for all: %s: %d hits of %d", x.Policy, x.Hits, x.Wanted)
			}
		}
	}
}
