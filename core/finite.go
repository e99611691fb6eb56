package core

import (
	"context"
	"fmt"
	"math"
)

// finite reports whether x holds neither NaN nor infinity.
func finite(x []float32) bool {
	for _, v := range x {
		if math.Float32bits(v)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}

// locate runs a batch again whose logits are not finite and looks at the residual stream after every stage that
// changes it. The error, which wraps ErrNonFinite, names the first such stage: embed, attend, tail (which takes in
// what the shared and routed experts made) or head. Running again is safe: the same keys and values are written.
func (p *program) locate(ctx context.Context, b *Batch, c Cache) error {
	if err := p.run(pass{ctx: ctx, batch: b, cache: c, checked: true}, nil, nil); err != nil {
		return err
	}
	return &StageError{Stage: StageHead, Layer: -1, Pos: b.Pos, Err: fmt.Errorf("logits: %w", ErrNonFinite)}
}

// checkFinite is asked after each stage of a checked pass.
func (p *program) checkFinite(s Stage, b *Batch) error {
	if s != StageEmbed && s != StageAttend && s != StageTail {
		return nil
	}
	if err := p.readResidual(b); err != nil {
		return err
	}
	for row := range b.Tokens {
		if !finite(p.residual[row*p.cfg.Hidden:][:p.cfg.Hidden]) {
			return fmt.Errorf("residual stream of position %d: %w", b.Pos+row, ErrNonFinite)
		}
	}
	return nil
}
