package vision

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/text"
)

// ask makes a question about pictures of the golden set.
func ask(t testing.TB, question string, files ...string) (text.Conversation, []core.Media) {
	t.Helper()
	var parts []text.Part
	var media []core.Media
	for _, f := range files {
		parts = append(parts, text.Part{Image: true})
		media = append(media, core.Media{Name: f, Data: readFile(t, "goldens", f)})
	}
	parts = append(parts, text.Part{Text: question})
	return text.Conversation{Messages: []text.Message{{Role: text.RoleUser, Content: text.List(parts...)}}}, media
}

// logitsOf runs a prompt in a session of its own.
func logitsOf(t testing.TB, rt *core.Runtime, p *core.Prompt) []float32 {
	t.Helper()
	s := session(t, rt)
	defer s.Close()
	prefill(t, s, p)
	return append([]float32(nil), s.Logits()...)
}

func TestBothResidenciesGiveTheSameBits(t *testing.T) {
	var logits [2][]float32
	for _, policy := range []Residency{OnDemand, KeepReady} {
		s := newSpy(t)
		rt, x := load(t, demo(t), s, Options{Residency: policy}, nil)
		experts := int64(-1) // bytes of slots while a layer of the tower runs
		s.layer = func([]float32) error {
			experts = pages.Usage()["experts"]
			return nil
		}
		total := int64(0)
		for _, tensor := range x.Pack().Manifest().Tensors {
			total += int64(tensor.Size)
		}
		conversation, media := ask(t, "Which image has text?", "two-images-comparea.png", "two-images-compareb.png")
		p := prepare(t, rt, conversation, media)
		logitsOf(t, rt, p) // fills slots
		logits[policy] = logitsOf(t, rt, p)
		mapped := pages.Usage()[packClass]
		switch policy {
		case OnDemand:
			if experts != 0 {
				t.Errorf("on demand: %d bytes of expert slots beside the tower", experts)
			}
			if mapped != 0 {
				t.Errorf("on demand: %d bytes stay mapped", mapped)
			}
			if s.mapped == 0 || s.mapped > total*3/5 {
				t.Errorf("on demand: %d of %d bytes were mapped at a time, want at most two of six groups", s.mapped, total)
			}
		case KeepReady:
			if experts == 0 {
				t.Error("kept ready: the expert slots were given back")
			}
			if mapped < total || s.mapped < total {
				t.Errorf("kept ready: %d bytes mapped, %d during the tower, want all %d", mapped, s.mapped, total)
			}
		}
		if n := s.towers.Load(); n != 0 {
			t.Errorf("%s: %d towers stay open", policy, n)
		}
	}
	if !sameBits(logits[OnDemand], logits[KeepReady]) {
		t.Error("the residency changes the output")
	}
}

// A run that is broken off at any step leaves nothing behind, and the session answers the same prompt as if nothing
// had been.
func TestCancelAtEveryStepLeavesASessionThatWorks(t *testing.T) {
	for _, policy := range []Residency{OnDemand, KeepReady} {
		s := newSpy(t)
		rt, _ := load(t, demo(t), s, Options{Residency: policy}, nil)
		conversation, media := ask(t, "Which image has text?", "two-images-comparea.png", "two-images-compareb.png")
		p := prepare(t, rt, conversation, media)
		want := logitsOf(t, rt, p)
		idle := pages.Usage()[packClass]
		ses := session(t, rt)
		steps := 0
		for stop := 0; ; stop++ {
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			_, err := ses.Prefill(ctx, p, func(core.Progress) {
				if seen == stop {
					cancel()
				}
				seen++
			})
			cancel()
			if err == nil {
				steps = stop
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: step %d: %v", policy, stop, err)
			}
			if now := pages.Usage()[packClass]; now != idle || s.towers.Load() != 0 {
				t.Fatalf("%s: step %d: %d bytes mapped, %d towers open", policy, stop, now, s.towers.Load())
			}
		}
		if !sameBits(ses.Logits(), want) {
			t.Errorf("%s: other logits after %d broken runs", policy, steps)
		}
		if steps < 2*(1+6) {
			t.Errorf("%s: only %d steps were broken off", policy, steps)
		}
	}
}

func TestAFailingTowerNamesPictureAndStage(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		spoil func(soft []float32) error
		want  error
		text  string
	}{
		{"in a layer", func(soft []float32) error { return broken }, broken,
			"encode attachments: image-multiturn.png: image tower: layer 0: broken"},
		{"in the projection", func(soft []float32) error {
			if soft != nil {
				return broken
			}
			return nil
		}, broken, "encode attachments: image-multiturn.png: image tower: pooling and projection: broken"},
		{"by a NaN", func(soft []float32) error {
			if soft != nil {
				soft[3*256+7] = float32(math.NaN())
			}
			return nil
		}, ErrNonFinite, "encode attachments: image-multiturn.png: soft token 3 of 60 holds NaN: " + ErrNonFinite.Error()},
		{"by an infinity", func(soft []float32) error {
			if soft != nil {
				soft[0] = float32(math.Inf(-1))
			}
			return nil
		}, ErrNonFinite, "encode attachments: image-multiturn.png: soft token 0 of 60 holds -Inf: " + ErrNonFinite.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpy(t)
			rt, _ := load(t, demo(t), s, Options{}, nil)
			conversation, media := ask(t, "What shape is at the top?", "image-multiturn.png")
			p := prepare(t, rt, conversation, media)
			want := logitsOf(t, rt, p)
			s.layer = c.spoil
			ses := session(t, rt)
			if _, err := ses.Prefill(t.Context(), p, nil); !errors.Is(err, c.want) || err.Error() != c.text {
				t.Errorf("got %v, want %s", err, c.text)
			}
			if n := pages.Usage()[packClass]; n != 0 || s.towers.Load() != 0 {
				t.Errorf("%d bytes mapped, %d towers open", n, s.towers.Load())
			}
			s.layer = nil
			prefill(t, ses, p)
			if !sameBits(ses.Logits(), want) {
				t.Error("other logits after the failure")
			}
		})
	}
}
