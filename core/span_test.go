package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

// A pictures extension "encodes" an attachment into rows that depend on its bytes alone.
type pictures struct {
	width   int
	maxSpan int
	encoded [][]byte // data of every attachment that was encoded
	initErr error
	closed  int
	rt      *core.Runtime
	during  func() error // called inside the encode hook
}

func (x *pictures) Name() string { return "pictures" }

func (x *pictures) Init(_ context.Context, r *core.Runtime) error {
	x.width, x.rt = r.Config().Hidden, r
	r.Hooks().SetAdmit(x.admit)
	r.Hooks().SetEncode(x.encode)
	r.Hooks().NeedSpan(x.maxSpan)
	return x.initErr
}

func (x *pictures) Close() error { x.closed++; return nil }

func (x *pictures) admit(_ context.Context, m core.Media) (core.Admission, error) {
	if len(m.Data) < 2 {
		return core.Admission{}, errors.New("too small")
	}
	a := core.Admission{SoftTokens: int(m.Data[0]), Before: 7, Soft: 8, After: 9, Report: m.Name + " seen"}
	copy(a.Digest[:], m.Data)
	return a, nil
}

func (x *pictures) encode(_ context.Context, media []core.Media, progress func(done, total int)) ([][]float32, error) {
	if x.during != nil {
		if err := x.during(); err != nil {
			return nil, err
		}
	}
	var out [][]float32
	for i, m := range media {
		x.encoded = append(x.encoded, m.Data)
		out = append(out, x.rows(m))
		progress(i+1, len(media))
	}
	return out, nil
}

func (x *pictures) rows(m core.Media) []float32 {
	rng := rand.New(rand.NewPCG(uint64(m.Data[1]), 3))
	rows := make([]float32, int(m.Data[0])*x.width)
	for i := range rows {
		rows[i] = float32(rng.NormFloat64())
	}
	return rows
}

// picturePrompt lays media of the given lengths into random text; lead tokens come before each.
func picturePrompt(seed uint64, lead int, media ...[]byte) *core.Prompt {
	p := &core.Prompt{}
	for i, data := range media {
		p.Tokens = append(p.Tokens, randomPrompt(seed+uint64(i), lead, 150).Tokens...)
		s := core.Span{Lo: len(p.Tokens), Hi: len(p.Tokens) + int(data[0]), Media: i}
		copy(s.Digest[:], data)
		p.Spans = append(p.Spans, s)
		p.Media = append(p.Media, core.Media{Data: data})
		for range data[0] {
			p.Tokens = append(p.Tokens, 8)
		}
	}
	p.Tokens = append(p.Tokens, randomPrompt(seed+99, 6, 150).Tokens...)
	return p
}

func TestSpansEqualTheWholeModelUnderEachMask(t *testing.T) {
	m := newTinyModel(11)
	// 14 rows is more than the window of 9: the last ones do not see the first. 20 is more than any chunk below.
	p := picturePrompt(1, 5, []byte{14, 1}, []byte{1, 2}, []byte{20, 3})
	x := &pictures{width: m.Config.Hidden}
	soft := map[int][]float64{}
	for i, s := range p.Spans {
		rows := x.rows(p.Media[i])
		for pos := s.Lo; pos < s.Hi; pos++ {
			for _, v := range rows[(pos-s.Lo)*x.width:][:x.width] {
				soft[pos] = append(soft[pos], float64(v))
			}
		}
	}
	last := len(p.Tokens) - 1
	ahead := runWhole(m, p.Tokens, soft, p.Spans).logits(last)
	causal := runWhole(m, p.Tokens, soft, nil).logits(last)
	if relative(ahead, causal) < 1e-3 {
		t.Fatal("the mask makes no difference: the test tests nothing")
	}
	for _, c := range []struct {
		mask core.SpanMask
		want []float64
	}{{core.SpanSliding, ahead}, {core.SpanCausal, causal}} {
		for _, chunk := range []int{1, 3, 16, 128} {
			rt := m.load(t, func(o *core.Options) {
				o.PrefillChunk, o.SpanMask = chunk, c.mask
				o.Extensions = []core.Extension{&pictures{maxSpan: 20}}
			})
			s := newSession(t, rt)
			prefill(t, s, p)
			if d := relative(s.Logits(), c.want); d > 1e-5 {
				t.Errorf("mask %d, chunk %d: logits off by %.1e", c.mask, chunk, d)
			}
		}
	}
}

func TestSpanEverywhereOpensFullLayers(t *testing.T) {
	m := newTinyModel(11)
	p := picturePrompt(1, 5, []byte{14, 1})
	logits := func(mask core.SpanMask) []float32 {
		rt := m.load(t, func(o *core.Options) {
			o.SpanMask, o.Extensions = mask, []core.Extension{&pictures{maxSpan: 20}}
		})
		return cold(t, rt, p)
	}
	if relative(logits(core.SpanEverywhere), logits(core.SpanSliding)) < 1e-4 {
		t.Error("full layers took no notice")
	}
}

func TestAttachmentsAreReusedByDigest(t *testing.T) {
	m := newTinyModel(12)
	a, b, c := []byte{10, 1}, []byte{12, 2}, []byte{12, 3}
	for _, k := range []struct {
		name    string
		next    *core.Prompt
		reuse   func(first *core.Prompt) int
		end     core.ReuseEnd
		encoded [][]byte
	}{
		{"the same prompt", picturePrompt(1, 8, a, b), func(p *core.Prompt) int { return len(p.Tokens) - 1 }, core.ReuseAll, nil},
		{"another second picture", picturePrompt(1, 8, a, c), func(p *core.Prompt) int { return p.Spans[1].Lo }, core.ReuseMedia, [][]byte{c}},
		{"another first picture", picturePrompt(1, 8, []byte{10, 9}, b), func(p *core.Prompt) int { return p.Spans[0].Lo }, core.ReuseMedia, [][]byte{{10, 9}, b}},
		{"a picture fewer", picturePrompt(1, 8, a), func(p *core.Prompt) int { return p.Spans[0].Hi }, core.ReuseDiffers, nil},
	} {
		t.Run(k.name, func(t *testing.T) {
			x := &pictures{maxSpan: 20}
			rt := m.load(t, func(o *core.Options) { o.PrefillChunk, o.Extensions = 64, []core.Extension{x} })
			s := newSession(t, rt)
			first := picturePrompt(1, 8, a, b)
			prefill(t, s, first)
			x.encoded = nil
			out := prefill(t, s, k.next)
			if out.Reuse.Tokens != k.reuse(first) || out.Reuse.End != k.end {
				t.Errorf("%v, want %d tokens, %v", out.Reuse, k.reuse(first), k.end)
			}
			if !slices.EqualFunc(x.encoded, k.encoded, slices.Equal) {
				t.Errorf("encoded %v, want %v", x.encoded, k.encoded)
			}
			sameBits(t, "logits", s.Logits(), cold(t, rt, k.next))
		})
	}
}

// A prompt cut short inside what was a picture must start over before it.
func TestResumePointNeverFallsInsideASpan(t *testing.T) {
	m := newTinyModel(13)
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{&pictures{maxSpan: 20}} })
	first := picturePrompt(1, 8, []byte{10, 1})
	for n := 1; n < len(first.Tokens); n++ {
		s := newSession(t, rt)
		prefill(t, s, first)
		next := &core.Prompt{Tokens: append(slices.Clone(first.Tokens[:n]), 5, 6)}
		if n >= first.Spans[0].Hi {
			next.Spans, next.Media = first.Spans, first.Media
		}
		out := prefill(t, s, next)
		if at := out.Reuse.Tokens; at > first.Spans[0].Lo && at < first.Spans[0].Hi {
			t.Errorf("cut at %d: resumed at %d, inside the span", n, at)
		}
		sameBits(t, fmt.Sprintf("cut at %d", n), s.Logits(), cold(t, rt, next))
		s.Close()
	}
}

func TestBadSpansAreRefused(t *testing.T) {
	m := newTinyModel(14)
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{&pictures{maxSpan: 20}} })
	s := newSession(t, rt)
	media := []core.Media{{}, {}}
	for name, spans := range map[string][]core.Span{
		"longer than the runtime was sized for": {{Lo: 2, Hi: 23}},
		"overlapping":                           {{Lo: 2, Hi: 8}, {Lo: 7, Hi: 9, Media: 1}},
		"empty":                                 {{Lo: 2, Hi: 2}},
		"up to the end of the prompt":           {{Lo: 20, Hi: 30}},
		"of an attachment that is not there":    {{Lo: 2, Hi: 8, Media: 2}},
	} {
		p := randomPrompt(1, 30, 150)
		p.Spans, p.Media = spans, media
		if _, err := s.Prefill(t.Context(), p, nil); !errors.Is(err, core.ErrSpan) {
			t.Errorf("%s: %v, want ErrSpan", name, err)
		}
	}
}

func TestAttachmentsNeedAnExtension(t *testing.T) {
	rt := newTinyModel(15).load(t, nil)
	s := newSession(t, rt)
	p := picturePrompt(1, 5, []byte{4, 1})
	if _, err := s.Prefill(t.Context(), p, nil); !errors.Is(err, core.ErrNoMedia) {
		t.Errorf("%v, want ErrNoMedia", err)
	}
}

func TestFailingExtensionLeavesText(t *testing.T) {
	m := newTinyModel(16)
	x := &pictures{maxSpan: 20, initErr: errors.New("no pack")}
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{x} })
	states := rt.Extensions()
	if len(states) != 1 || states[0].Name != "pictures" || !errors.Is(states[0].Err, core.ErrExtension) ||
		!errors.Is(states[0].Err, x.initErr) {
		t.Fatalf("states %+v", states)
	}
	if got, want := rt.MaxSpan(), m.load(t, nil).MaxSpan(); got != want {
		t.Errorf("chunks of %d rows, without the extension %d", got, want)
	}
	s := newSession(t, rt)
	prefill(t, s, randomPrompt(1, 20, 150))
	if _, err := s.Prefill(t.Context(), picturePrompt(1, 5, []byte{4, 1}), nil); !errors.Is(err, core.ErrNoMedia) {
		t.Errorf("%v, want ErrNoMedia", err)
	}
	rt.Close()
	if x.closed != 0 {
		t.Error("an extension that never started was closed")
	}
}

func TestOwnerHooksHaveOneOwner(t *testing.T) {
	m := newTinyModel(17)
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "BUG:") {
			t.Errorf("a second owner gave %v", r)
		}
	}()
	m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{&pictures{}, &pictures{}} })
}

func TestExpertsCanBeReleasedWhileEncoding(t *testing.T) {
	m := newTinyModel(18)
	x := &pictures{maxSpan: 20}
	x.during = func() error { return x.rt.ReleaseExperts() }
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{x} })
	s := newSession(t, rt)
	prefill(t, s, randomPrompt(3, 30, 150))
	if rt.Stats().Experts.OpenLayers == 0 {
		t.Fatal("no layer was open")
	}
	x.during = func() error {
		err := x.rt.ReleaseExperts()
		if n := rt.Stats().Experts.OpenLayers; n != 0 {
			t.Errorf("%d layers open after ReleaseExperts", n)
		}
		return err
	}
	p := picturePrompt(1, 5, []byte{10, 1})
	prefill(t, s, p)
	got := slices.Clone(s.Logits())
	x.during = nil
	sameBits(t, "logits", got, cold(t, rt, p))
	if err := rt.ReleaseExperts(); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "after a release outside", cold(t, rt, p), got)
}

func TestFailingEncodeLeavesTheSession(t *testing.T) {
	m := newTinyModel(19)
	x := &pictures{maxSpan: 20}
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{x} })
	s := newSession(t, rt)
	broken := errors.New("broken picture")
	x.during = func() error { return broken }
	p := picturePrompt(1, 8, []byte{10, 1})
	if _, err := s.Prefill(t.Context(), p, nil); !errors.Is(err, broken) {
		t.Fatalf("%v, want the extension's error", err)
	}
	if _, err := s.Generate(t.Context(), core.GenerateOptions{}, nil); !errors.Is(err, core.ErrNoPrompt) {
		t.Errorf("generate after a failed prefill: %v, want ErrNoPrompt", err)
	}
	x.during = nil
	prefill(t, s, p)
	sameBits(t, "logits", s.Logits(), cold(t, rt, p))
}

// Prepare with the demo's words: admission, placement, reports and turn starts.
func TestPrepareLaysOutAttachments(t *testing.T) {
	x := &pictures{maxSpan: 200}
	rt := loadDemo(t, func(o *core.Options) { o.Extensions, o.MaxContext = []core.Extension{x}, 300 })
	c := text.Conversation{Messages: []text.Message{{Role: text.RoleUser, Content: text.List(
		text.Part{Text: "Compare"}, text.Part{Image: true}, text.Part{Text: "and"}, text.Part{Image: true},
	)}}}
	media := []core.Media{{Name: "a.png", Data: []byte{20, 1}}, {Name: "b.png", Data: []byte{30, 2}}}
	p, err := rt.Prepare(t.Context(), c, media)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Spans) != 2 || p.Spans[0].Hi-p.Spans[0].Lo != 20 || p.Spans[1].Hi-p.Spans[1].Lo != 30 || p.Spans[1].Media != 1 {
		t.Errorf("spans %+v", p.Spans)
	}
	for i, s := range p.Spans {
		if p.Tokens[s.Lo-1] != 7 || p.Tokens[s.Lo] != 8 || p.Tokens[s.Hi-1] != 8 || p.Tokens[s.Hi] != 9 {
			t.Errorf("span %d: ids around it are %v", i, p.Tokens[s.Lo-1:s.Hi+1])
		}
		if s.Digest[1] != media[i].Data[1] {
			t.Errorf("span %d has digest %x", i, s.Digest)
		}
	}
	if !slices.Equal(p.Reports, []any{"a.png seen", "b.png seen"}) {
		t.Errorf("reports %v", p.Reports)
	}
	turn, _ := rt.Tokenizer().Special("<|turn>")
	if len(p.Turns) != 2 || p.Tokens[p.Turns[0]] != turn || p.Tokens[p.Turns[1]] != turn {
		t.Errorf("turns at %v", p.Turns)
	}
	if x.encoded != nil {
		t.Error("Prepare encoded a picture")
	}

	media[0].Data[0], media[1].Data[0] = 190, 120
	var tooLong *core.ContextError
	if _, err := rt.Prepare(t.Context(), c, media); !errors.As(err, &tooLong) || !errors.Is(err, core.ErrContextLength) {
		t.Errorf("%v, want a ContextError", err)
	} else if tooLong.Soft != 310 || tooLong.Context != 300 || tooLong.Prompt <= 300 {
		t.Errorf("numbers %+v", tooLong)
	}
	media[1].Data = nil
	if _, err := rt.Prepare(t.Context(), c, media); err == nil || !strings.Contains(err.Error(), "b.png: too small") {
		t.Errorf("%v, want the extension's refusal with the name", err)
	}
}
