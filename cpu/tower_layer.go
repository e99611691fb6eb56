package cpu

import "github.com/fieldfare/fieldfare/core"

// Layer adds one layer's attention and FFN, each normed before and after, to the residual stream.
func (t *tower) Layer(w core.TowerLayer) error {
	c := &t.cfg
	t.at.layer = w
	for base := 0; base < t.patches; base += towerBlock {
		rows := min(towerBlock, t.patches-base)
		t.at.base = base
		t.eachRow(rows, (*tower).normInput)
		t.dense.input(t.normed, c.Hidden, rows).add(w.Query, t.q).add(w.Key, t.kk).add(w.Value, t.v).run(t.pool)
		t.eachRow(rows, (*tower).splitHeads)
	}
	t.attendAll()
	for base := 0; base < t.patches; base += towerBlock {
		rows := min(towerBlock, t.patches-base)
		t.at.base = base
		t.eachRow(rows, (*tower).joinHeads)
		t.dense.input(t.normed, c.Hidden, rows).add(w.Output, t.out).run(t.pool)
		t.eachRow(rows, (*tower).addAttention)
		t.dense.input(t.normed, c.Hidden, rows).add(w.Gate, t.gate).add(w.Up, t.up).run(t.pool)
		t.eachRow(rows, (*tower).activate)
		t.dense.input(t.gate, c.Width, rows).add(w.Down, t.out).run(t.pool)
		t.eachRow(rows, (*tower).addFFN)
	}
	return nil
}

func (t *tower) blockRow(of []float32, row int) []float32 {
	return of[row*t.cfg.Hidden:][:t.cfg.Hidden]
}

func (t *tower) normInput(_, row int) {
	t.k.norm(t.blockRow(t.normed, row), t.hiddenRow(t.at.base+row), t.at.layer.InputNorm, t.cfg.RMSNormEps)
}

// splitHeads norms each head of the projected rows, rotates queries and keys, and files them by head. Values are
// normed too, without a weight, and not rotated.
func (t *tower) splitHeads(_, row int) {
	c, w := &t.cfg, &t.at.layer
	patch := t.at.base + row
	for h := range c.Heads {
		from := row*c.Hidden + h*c.HeadDim
		query := t.query[(h*t.patches+patch)*c.HeadDim:][:c.HeadDim]
		key, value := t.kk[from:][:c.HeadDim], t.v[from:][:c.HeadDim]
		t.k.norm(query, t.q[from:][:c.HeadDim], w.QueryNorm, c.RMSNormEps)
		t.k.norm(key, key, w.KeyNorm, c.RMSNormEps)
		t.k.norm(value, value, nil, c.RMSNormEps)
		t.rotate(query, patch)
		t.rotate(key, patch)
		t.file(h, patch, key, value)
	}
}

// rotate turns the first half of a head by the patch's column and the second half by its line.
func (t *tower) rotate(head []float32, patch int) {
	half := len(head) / 2
	t.rope.rotate(head[:half], patch%t.gridW)
	t.rope.rotate(head[half:], patch/t.gridW)
}

func (t *tower) joinHeads(_, row int) {
	c := &t.cfg
	for h := range c.Heads {
		copy(t.normed[row*c.Hidden+h*c.HeadDim:][:c.HeadDim],
			t.query[(h*t.patches+t.at.base+row)*c.HeadDim:])
	}
}

// addAttention adds the attention half and norms the result for the FFN.
func (t *tower) addAttention(_, row int) {
	x := t.hiddenRow(t.at.base + row)
	out := t.blockRow(t.out, row)
	t.k.norm(out, out, t.at.layer.PostAttentionNorm, t.cfg.RMSNormEps)
	t.k.combine(x, 1, 1, out)
	t.k.norm(t.blockRow(t.normed, row), x, t.at.layer.PreFFNNorm, t.cfg.RMSNormEps)
}

func (t *tower) activate(_, row int) {
	n := t.cfg.Width
	t.k.geglu(t.gate[row*n:][:n], t.up[row*n:][:n])
}

func (t *tower) addFFN(_, row int) {
	out := t.blockRow(t.out, row)
	t.k.norm(out, out, t.at.layer.PostFFNNorm, t.cfg.RMSNormEps)
	t.k.combine(t.hiddenRow(t.at.base+row), 1, 1, out)
}
