package vision

import (
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

const (
	evalCases = 60
	evalRight = 59 // of them, by the reference on these weights
)

// wrong answers evaluation questions greedily and returns the ids of those whose answer is not the expected one.
func wrong(t *testing.T, cases []testCase, mask core.SpanMask) (ids []string) {
	t.Helper()
	rt, _ := load(t, demo(t), newSpy(t), Options{}, func(o *core.Options) { o.SpanMask = mask })
	s := session(t, rt)
	for _, c := range cases {
		conversation, media := c.conversation(t, "eval-images")
		prefill(t, s, prepare(t, rt, conversation, media))
		if got := rt.Tokenizer().DecodeSpecial(greedy(t, s, 100)); got != c.Expected {
			ids = append(ids, c.ID)
			t.Logf("%s: answered %q, want %q", c.ID, got, c.Expected)
		}
	}
	return ids
}

// The demo model answers as well as the reference says, within one answer; and what the mask inside spans is worth
// shows where a whole picture counts.
func TestEvaluationPicturesAreAnsweredAsByTheReference(t *testing.T) {
	cases := readCases(t, "eval-images")
	if len(cases) != evalCases {
		t.Fatalf("%d questions, want %d", len(cases), evalCases)
	}
	if testing.Short() {
		cases = slices.DeleteFunc(cases, func(c testCase) bool { return !whole(c) })
	}
	missed := wrong(t, cases, core.SpanSliding)
	if len(missed) > evalCases-evalRight+1 {
		t.Errorf("%d of %d answers are wrong: %v", len(missed), len(cases), missed)
	}
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return !whole(c) })
	blind := wrong(t, cases, core.SpanCausal)
	t.Logf("with causal spans %d of %d answers are wrong", len(blind), len(cases))
	if len(blind) < len(missed)+3 {
		t.Errorf("causal spans: only %d of %d answers are wrong: %v", len(blind), len(cases), blind)
	}
}

// whole says that a question is about the whole picture, by the recipe's own account of causal spans.
func whole(c testCase) bool {
	return slices.Contains([]string{"img_describe", "img_multiturn", "img_compare", "img_nth"}, c.Kind)
}
