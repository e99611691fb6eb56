package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// cold returns the logits of p in an empty session.
func cold(t testing.TB, rt *core.Runtime, p *core.Prompt) []float32 {
	t.Helper()
	s := newSession(t, rt)
	defer s.Close()
	prefill(t, s, p)
	return slices.Clone(s.Logits())
}

// follow makes a prompt that shares n tokens with a session that holds held, and then goes another way.
func follow(held []int32, n, more int, vocab int) *core.Prompt {
	p := randomPrompt(uint64(n), n+more, vocab)
	copy(p.Tokens, held[:n])
	if n < len(held) && more > 0 {
		p.Tokens[n] = 2 + (held[n]-1)%int32(vocab-2)
	}
	return p
}

// The ring of these tests has W-1+chunk = 8+16 = 24 rows, so a session of n positions can go back 16 of them unless
// rows were saved at a mark.
func TestFollowUpReusesWhatTheRingsStillHold(t *testing.T) {
	m := newTinyModel(2)
	rt := m.load(t, nil)
	for _, c := range []struct {
		held, common int
		turns        []int
		want         int
		end          core.ReuseEnd
	}{
		{held: 10, common: 3, want: 3, end: core.ReuseDiffers},
		{held: 24, common: 0, want: 0, end: core.ReuseDiffers},
		{held: 24, common: 1, want: 1, end: core.ReuseDiffers},
		{held: 32, common: 16, want: 16, end: core.ReuseDiffers},
		{held: 33, common: 17, want: 17, end: core.ReuseDiffers},
		{held: 33, common: 16, want: 0, end: core.ReuseRewind},
		{held: 80, common: 64, want: 64, end: core.ReuseDiffers},
		{held: 80, common: 63, want: 0, end: core.ReuseRewind},
		{held: 80, common: 63, turns: []int{20, 50}, want: 50, end: core.ReuseRewind},
		{held: 80, common: 50, turns: []int{20, 50}, want: 50, end: core.ReuseDiffers},
		{held: 80, common: 49, turns: []int{20, 50}, want: 20, end: core.ReuseRewind},
		{held: 80, common: 49, turns: []int{20, 48, 50}, want: 49, end: core.ReuseDiffers},
		{held: 80, common: 3, turns: []int{2, 50}, want: 2, end: core.ReuseRewind},
		{held: 150, common: 61, turns: []int{3, 20, 61}, want: 61, end: core.ReuseDiffers},
		{held: 90, common: 90, want: 90, end: core.ReuseAll},
	} {
		t.Run(fmt.Sprintf("%d of %d marks %v", c.common, c.held, c.turns), func(t *testing.T) {
			s := newSession(t, rt)
			defer s.Close()
			first := randomPrompt(7, c.held, m.Config.Vocab)
			first.Turns = c.turns
			prefill(t, s, first)
			next := follow(first.Tokens, c.common, 20, m.Config.Vocab)
			if ahead := s.Shared(next); ahead.Tokens != c.want {
				t.Errorf("Shared says %v", ahead)
			}
			out := prefill(t, s, next)
			if out.Reuse.Tokens != c.want || out.Reuse.End != c.end || out.Reuse.Common != c.common {
				t.Errorf("got %+v, want %d tokens, end %v", out.Reuse, c.want, c.end)
			}
			if out.Computed != len(next.Tokens)-c.want {
				t.Errorf("computed %d of %d tokens", out.Computed, len(next.Tokens))
			}
			sameBits(t, "logits", s.Logits(), cold(t, rt, next))
		})
	}
}

// A conversation: each turn's answer is long, and the next prompt parts from it where the answer began.
func TestLongAnswersDoNotCostTheirPrefix(t *testing.T) {
	m := newTinyModel(3)
	rt := m.load(t, nil)
	s := newSession(t, rt)
	history := randomPrompt(1, 30, m.Config.Vocab).Tokens
	for turn := range 4 {
		p := &core.Prompt{Tokens: slices.Clone(history)}
		mark := len(p.Tokens) - 3
		p.Turns = []int{5, mark}
		out := prefill(t, s, p)
		if turn > 0 && out.Reuse.Tokens != len(history)-20-3 {
			t.Errorf("turn %d: %v", turn, out.Reuse)
		}
		sameBits(t, "logits", s.Logits(), cold(t, rt, p))
		generate(t, s, 50)
		history = append(history[:mark], randomPrompt(uint64(turn), 23, m.Config.Vocab).Tokens...)
	}
}

// Random walks: whatever was done before, the logits equal those of a cold run, and a mark that is promised works.
func TestAnyHistoryGivesTheSameBits(t *testing.T) {
	m := newTinyModel(4)
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 9))
		budget := []int64{0, -1, 4000, 20000}[rng.IntN(4)]
		rt := m.load(t, func(o *core.Options) { o.RewindBytes, o.PrefillChunk = budget, 1+rng.IntN(20) })
		s := newSession(t, rt)
		held := []int32{}
		for step := range 12 {
			n := 0
			if len(held) > 0 {
				n = rng.IntN(len(held) + 1)
			}
			if rng.IntN(2) == 0 { // mostly small steps back
				n = max(0, len(held)-rng.IntN(30))
			}
			p := follow(held, n, 1+rng.IntN(40), m.Config.Vocab)
			if len(p.Tokens) > 120 {
				p.Tokens = p.Tokens[:20]
			}
			for range 3 {
				p.Turns = append(p.Turns, rng.IntN(len(p.Tokens)))
			}
			slices.Sort(p.Turns)
			out := prefill(t, s, p)
			if out.Reuse.Tokens > out.Reuse.Common {
				t.Fatalf("reused %d of %d common tokens", out.Reuse.Tokens, out.Reuse.Common)
			}
			if step%3 == 0 {
				sameBits(t, fmt.Sprintf("seed %d step %d (%v)", seed, step, out.Reuse), s.Logits(), cold(t, rt, p))
			}
			ids, _ := generate(t, s, rng.IntN(30)+1)
			held = append(slices.Clone(p.Tokens), ids[:len(ids)-1]...)
			if s.Tokens() != len(held) {
				t.Fatalf("the session says %d tokens, it holds %d", s.Tokens(), len(held))
			}
		}
	}
}

func TestSavedRowsStayInTheirBudget(t *testing.T) {
	m := newTinyModel(5)
	// one row of the two sliding layers: 2 layers, K and V, 2 heads of 16 float32
	const row = 2 * 2 * 2 * 16 * 4
	for _, c := range []struct {
		rows int64
		want []int // marks that survive a long answer
	}{
		{rows: 8, want: []int{40}}, // one window
		{rows: 7, want: nil},
		{rows: 18, want: []int{40, 30}},
		{rows: 17, want: []int{40, 30}}, // the windows of 30 and 40 overlap by none: 8 + 8 rows
		{rows: 15, want: []int{40}},
	} {
		rt := m.load(t, func(o *core.Options) { o.RewindBytes = c.rows * row })
		s := newSession(t, rt)
		p := randomPrompt(1, 45, m.Config.Vocab)
		p.Turns = []int{10, 30, 40}
		prefill(t, s, p)
		before := s.SizeBytes()
		generate(t, s, 100)
		marks, rows := s.Marks()
		if !slices.Equal(marks, c.want) || int64(rows) > c.rows {
			t.Errorf("budget of %d rows: marks %v with %d rows, want %v", c.rows, marks, rows, c.want)
		}
		if grown := s.SizeBytes() - before; grown > c.rows*row {
			t.Errorf("budget of %d rows: grew by %d bytes", c.rows, grown)
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		if got := s.SizeBytes(); got > before {
			t.Errorf("after Reset the session holds %d bytes, %d when it was new", got, before)
		}
	}
}

func TestShortAnswersSaveNothing(t *testing.T) {
	rt := newTinyModel(6).load(t, nil)
	s := newSession(t, rt)
	p := randomPrompt(1, 100, 150)
	p.Turns = []int{80, 95}
	prefill(t, s, p)
	generate(t, s, 12) // 95-80 + 5 + 12 is within the slack of a chunk for the last mark
	if _, rows := s.Marks(); rows > 16 {
		t.Errorf("%d rows were saved", rows)
	}
}
