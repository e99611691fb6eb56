package vision

import (
	"errors"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

func TestOptionsReportEveryProblem(t *testing.T) {
	_, err := New(Options{Budget: 100, MaxBudget: -1, Residency: 7})
	joined, ok := err.(interface{ Unwrap() []error })
	if !errors.Is(err, ErrOptions) || !errors.Is(err, resize.ErrBudget) || !ok || len(joined.Unwrap()) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	for _, r := range []Residency{OnDemand, KeepReady} {
		if got, err := ParseResidency(r.String()); err != nil || got != r {
			t.Errorf("%s: %v, %v", r, got, err)
		}
	}
	if _, err := ParseResidency("always"); !errors.Is(err, ErrOptions) {
		t.Errorf("an unknown residency: %v", err)
	}
}

// Budgets come from the pack, the options or the picture; a picture may ask for no more than what was sized for.
func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		name           string
		opts           Options
		picture        int
		soft, maxSpans int // soft tokens of the picture, and what the runtime is sized for; 0 when it is refused
		err            error
	}{
		{"the processor file's", Options{}, 0, 60, 128, nil},
		{"a smaller one of the picture's", Options{Budget: 280}, 70, 60, 280, nil},
		{"the options'", Options{Budget: 140}, 0, 126, 140, nil},
		{"a larger one of the picture's", Options{MaxBudget: 1120}, 1120, 1107, 1120, nil},
		{"a larger one than was sized for", Options{}, 140, 0, 0, ErrBudgetSize},
		{"none that the model knows", Options{MaxBudget: 1120}, 100, 0, 0, resize.ErrBudget},
		{"a negative one", Options{}, -1, 0, 0, resize.ErrBudget},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt, _ := load(t, demo(t), newSpy(t), c.opts, nil)
			conversation, media := ask(t, "What shape is at the top?", "image-multiturn.png")
			media[0].Budget = c.picture
			p, err := rt.Prepare(t.Context(), conversation, media)
			if c.err != nil {
				if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := p.Spans[0].Hi - p.Spans[0].Lo; n != c.soft || rt.MaxSpan() != c.maxSpans {
				t.Errorf("%d soft tokens of %d, want %d of %d", n, rt.MaxSpan(), c.soft, c.maxSpans)
			}
			if r := p.Reports[0].(Receipt); r.SoftTokens != c.soft || r.Format != "PNG" || len(r.SHA256) != 64 {
				t.Errorf("the report says %+v", r)
			}
			if c.soft <= 280 { // the tower's work grows with the square
				logitsOf(t, rt, p)
			}
		})
	}
}

// A span longer than the chunk and the window goes through whole, whatever the chunk.
func TestChunksDoNotChangeBits(t *testing.T) {
	var want []float32
	for _, chunk := range []int{1, 50, 128, 1000} {
		rt, _ := load(t, demo(t), newSpy(t), Options{Budget: 140}, func(o *core.Options) { o.PrefillChunk = chunk })
		conversation, media := ask(t, "Which image has text?", "two-images-comparea.png", "two-images-compareb.png")
		got := logitsOf(t, rt, prepare(t, rt, conversation, media))
		if want == nil {
			want = got
		}
		if !sameBits(got, want) {
			t.Errorf("chunks of %d change the logits", chunk)
		}
	}
}

func TestRefusedPicturesAreNamed(t *testing.T) {
	rt, _ := load(t, demo(t), newSpy(t), Options{}, nil)
	conversation, media := ask(t, "What shape is it?", "image-multiturn.png", "image-multiturn.png")
	media[1] = core.Media{Name: "photo 2", Data: media[1].Data[:900]}
	_, err := rt.Prepare(t.Context(), conversation, media)
	if !errors.Is(err, picture.ErrTruncated) || err.Error()[:9] != "photo 2: " {
		t.Errorf("a truncated picture: %v", err)
	}
	media[1] = media[0]
	short, _ := load(t, demo(t), newSpy(t), Options{}, func(o *core.Options) { o.MaxContext = 130 })
	var full *core.ContextError
	if _, err := short.Prepare(t.Context(), conversation, media); !errors.As(err, &full) || full.Soft != 120 {
		t.Errorf("pictures that do not fit the context: %v", err)
	}
}

// Pictures in several turns: only new ones are encoded, and what is reused changes no bit.
func TestPicturesInSeveralTurns(t *testing.T) {
	var seen []string
	rt, _ := load(t, demo(t), newSpy(t), Options{Encoded: func(e Encoded) {
		seen = append(seen, e.Name)
		if e.Receipt.SoftTokens == 0 || e.Receipt.Seconds <= 0 || e.Tower <= 0 {
			t.Errorf("%s: %+v in %v", e.Name, e.Receipt, e.Tower)
		}
	}}, nil)
	ses := session(t, rt)
	turn := func(c text.Conversation, media []core.Media, wantSeen ...string) {
		t.Helper()
		seen = nil
		p := prepare(t, rt, c, media)
		prefill(t, ses, p)
		if !slices.Equal(seen, wantSeen) {
			t.Errorf("encoded %v, want %v", seen, wantSeen)
		}
		got := slices.Clone(ses.Logits())
		if !sameBits(got, logitsOf(t, rt, p)) {
			t.Error("other logits than in a fresh session")
		}
	}
	c, media := ask(t, "What shape is at the top?", "image-multiturn.png")
	turn(c, media, "image-multiturn.png")
	c.Messages = append(c.Messages, text.Message{Role: text.RoleAssistant, Content: text.Plain("A large purple cross.")})
	more, extra := ask(t, "What does this one show?", "image-png-describe.png")
	c.Messages, media = append(c.Messages, more.Messages...), append(media, extra...)
	turn(c, media, "image-png-describe.png")
	// Another picture of the same size in the first turn: same ids, other digest.
	other := slices.Clone(media)
	other[0].Data = readFile(t, "goldens", "two-images-comparea.png")
	turn(c, other, "image-multiturn.png", "image-png-describe.png")
	// The same picture, prepared with another budget, is another one; asked again, nothing is encoded.
	turn(c, other)
}
