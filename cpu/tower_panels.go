package cpu

// Keys and values of a kernel set with outer products lie in panels: keys as [heads, P/24, Dh, 24], a key in each lane,
// values as [heads, Dh/24, P, 24], both axes padded to whole panels. What pads them is finite and meets no result.

const (
	// panelQueries is the queries of a task: keys and values of a block come from the caches once for all of them.
	panelQueries = 48
	// panelKeys is the keys of a block, whole panels: the weights of an outerCall for the values.
	panelKeys = 10 * outerOutputs
)

func panelAttendScratch(dh int) int { return panelQueries * (panelKeys + padOuter(dh) + 2) }

// filePanel keeps the key and the value of a patch in panels.
func (t *tower) filePanel(head, patch int, key, value []float32) {
	keys := t.keyPanel(head, patch/outerOutputs)[patch%outerOutputs:]
	for i, v := range key {
		keys[i*outerOutputs] = v
	}
	for i := 0; i < len(value); i += outerOutputs {
		copy(t.valuePanel(head, i/outerOutputs, patch)[:outerOutputs], value[i:])
	}
}

// keyPanel begins at a panel of keys.
func (t *tower) keyPanel(head, panel int) []float32 {
	return t.key[(head*padOuter(t.patches)+panel*outerOutputs)*t.cfg.HeadDim:]
}

// valuePanel begins at a patch in a panel of values.
func (t *tower) valuePanel(head, panel, patch int) []float32 {
	return t.value[(head*padOuter(t.cfg.HeadDim)+panel*outerOutputs)*t.patches+patch*outerOutputs:]
}

// attendPanels replaces queries q of a head by their attention over keys and values in panels. Sums count at the largest
// score so far and are brought down when a larger one comes.
func (t *tower) attendPanels(head int, q, scratch []float32) {
	dh := t.cfg.HeadDim
	nq, width := len(q)/dh, padOuter(dh)
	scores, out := scratch[:nq*panelKeys], scratch[nq*panelKeys:][:nq*width]
	peak, sum := scratch[nq*(panelKeys+width):][:nq], scratch[nq*(panelKeys+width+1):][:nq]
	for at := 0; at < t.patches; at += panelKeys {
		n := min(panelKeys, t.patches-at)
		for lo := 0; lo < n; lo += outerOutputs {
			t.k.outer(outerCall{
				y: scores[lo:], ldy: panelKeys, x: q, ldx: dh, rows: nq,
				w: t.keyPanel(head, (at+lo)/outerOutputs), depth: dh,
			})
		}
		for h := range nq {
			p := scores[h*panelKeys:][:n]
			top := t.k.maximum(p)
			switch {
			case at == 0:
				peak[h], sum[h] = top, 0
			case top > peak[h]:
				keep := expf(peak[h] - top)
				t.k.scaleNorm(out[h*width:][:width], out[h*width:][:width], keep, nil)
				peak[h] = top
				sum[h] *= keep
			}
			sum[h] += t.k.expSum(p, peak[h])
		}
		for lo := 0; lo < width; lo += outerOutputs {
			t.k.outer(outerCall{
				y: out[lo:], ldy: width, add: at > 0, x: scores, ldx: panelKeys, rows: nq,
				w: t.valuePanel(head, lo/outerOutputs, at), depth: n,
			})
		}
	}
	for h := range nq {
		t.k.scaleNorm(q[h*dh:][:dh], out[h*width:][:dh], 1/sum[h], nil)
	}
}
