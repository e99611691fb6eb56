//go:build !novision

package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"math/rand/v2"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// wantEveryBudget makes room for pictures of the largest budget.
func (f *imageFlags) wantEveryBudget() {
	budgets := resize.Budgets()
	f.largest = budgets[len(budgets)-1]
}

// pictures measures one picture at every budget: its tower, then the prompt that holds it. A model without a usable
// pack has none.
func (b *benchRun) pictures(ctx context.Context) error {
	for _, x := range b.rt.Extensions() {
		if x.Err != nil {
			return nil
		}
	}
	data, err := noisePicture(1024, 768)
	if err != nil {
		return err
	}
	for _, budget := range resize.Budgets() {
		if err := b.picture(ctx, data, budget); err != nil {
			return err
		}
	}
	return nil
}

func (b *benchRun) picture(ctx context.Context, data []byte, budget int) error {
	s, err := b.rt.NewSession()
	if err != nil {
		return err
	}
	defer s.Close()
	c := text.Conversation{Messages: []text.Message{{Role: text.RoleUser, Content: text.List(text.Part{Image: true})}}}
	p, err := b.rt.Prepare(ctx, c, []core.Media{{Name: "bench", Data: data, Budget: budget}})
	if err != nil {
		return err
	}
	before := b.rt.Stats()
	done, err := s.Prefill(ctx, p, nil)
	if err != nil {
		return err
	}
	soft := p.Spans[0].Hi - p.Spans[0].Lo
	b.add(stretch{"image", budget, soft, done.Encode, core.Stats{}})
	b.add(stretch{"prefill", len(p.Tokens), done.Computed, done.Duration - done.Encode, b.rt.Stats().Sub(before)})
	return nil
}

func noisePicture(width, height int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.Uint32()) | 0xff*byte(i%4/3)
	}
	var out bytes.Buffer
	err := png.Encode(&out, img)
	return out.Bytes(), err
}
