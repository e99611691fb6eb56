package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// Layer queues one layer's attention and FFN, each normed before and after and added to the residual stream.
func (t *tower) Layer(w core.TowerLayer) error {
	t.s.label = "tower layer"
	err := t.encodeProjections(&w)
	if err == nil {
		err = t.encodeAttention(&w)
	}
	for base := 0; base < t.patches && err == nil; base += towerBlock {
		err = t.encodeFFN(&w, base, min(towerBlock, t.patches-base))
	}
	return t.finish(err)
}

// encodeProjections makes the raw queries, keys and values of all patches.
func (t *tower) encodeProjections(w *core.TowerLayer) error {
	d := t.cfg.Hidden
	for base := 0; base < t.patches; base += towerBlock {
		rows, at := min(towerBlock, t.patches-base), 4*base*d
		if err := t.norm(t.k.norm, w.InputNorm, rows, inAt(t.hidden, at), in(t.normed)); err != nil {
			return err
		}
		for _, p := range []struct {
			w core.Vector
			y driver.Buffer
		}{{w.Query, t.query}, {w.Key, t.key}, {w.Value, t.val}} {
			if err := t.dense(p.w, d, d, rows, in(t.normed), inAt(p.y, at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeAttention norms and rotates the heads and replaces the queries by the attention's output.
func (t *tower) encodeAttention(w *core.TowerLayer) error {
	c := &t.cfg
	queryNorm, queryAt, err := t.use(w.QueryNorm, c.HeadDim)
	if err != nil {
		return err
	}
	keyNorm, keyAt, err := t.use(w.KeyNorm, c.HeadDim)
	if err != nil {
		return err
	}
	t.at.heads = shaders.TowerHeadsParams{
		Heads: u32(c.Heads), Width: u32(c.HeadDim), GridWidth: u32(t.gridW), QueryNorm: queryAt, KeyNorm: keyAt, Eps: c.RMSNormEps,
	}
	t.s.dispatch(t.k.heads, driver.D3(ceil(c.Heads, shaders.HeadSimds), t.patches, 3), queryNorm, keyNorm, in(t.turn),
		in(t.query), in(t.key), in(t.val), inBytes(shaders.Bytes(&t.at.heads)))
	attend := shaders.TowerAttendParams{Patches: u32(t.patches), Heads: u32(c.Heads)}
	tiles := ceil(t.patches, shaders.TowerQueries) // tower_attend_tensor has as many queries
	t.s.dispatch(t.k.attend, driver.D2(tiles, c.Heads), in(t.query), in(t.key), in(t.val),
		inBytes(shaders.Bytes(&attend)))
	return nil
}

// encodeFFN adds the attention half of rows from base on, then their FFN half.
func (t *tower) encodeFFN(w *core.TowerLayer, base, rows int) error {
	d, width, at := t.cfg.Hidden, t.cfg.Width, 4*base*t.cfg.Hidden
	hidden := inAt(t.hidden, at)
	steps := []func() error{
		func() error { return t.dense(w.Output, d, d, rows, inAt(t.query, at), in(t.out)) },
		func() error { return t.norm(t.k.normAdd, w.PostAttentionNorm, rows, in(t.out), hidden) },
		func() error { return t.norm(t.k.norm, w.PreFFNNorm, rows, hidden, in(t.normed)) },
		func() error { return t.dense(w.Gate, d, width, rows, in(t.normed), in(t.gate)) },
		func() error { return t.dense(w.Up, d, width, rows, in(t.normed), in(t.up)) },
		func() error {
			t.s.dispatchThreads(t.k.geglu, driver.D1(rows*width), in(t.gate), in(t.up))
			return nil
		},
		func() error { return t.dense(w.Down, width, d, rows, in(t.gate), in(t.out)) },
		func() error { return t.norm(t.k.normAdd, w.PostFFNNorm, rows, in(t.out), hidden) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
