package cpu

import (
	"math"
	"slices"

	"github.com/fieldfare/fieldfare/core"
)

// The reference computes a whole sequence in float64 from dequantized weights, without cache, chunks or blocks,
// straight from the formulas of the model.

type refModel struct {
	w     *core.Weights
	blobs [][][]byte // [layer][expert]
}

func refVector(v core.Vector) []float64 {
	x := make([]float64, len(v)/2)
	for i := range x {
		x[i] = float64(vectorAt(v, i))
	}
	return x
}

func refNorm(x []float64, w []float64, eps float32) []float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * scale
		if w != nil {
			y[i] *= w[i]
		}
	}
	return y
}

// dequantized remembers matrices by their first code: the reference uses each for every position.
var dequantized = map[*byte][]float64{}

func refMul(w core.Affine, x []float64) []float64 {
	m := dequantized[&w.Codes[0]]
	if m == nil {
		m = make([]float64, w.Out*w.In)
		for i := range m {
			m[i] = weight(w, i/w.In, i%w.In)
		}
		dequantized[&w.Codes[0]] = m
	}
	return refMatMul(m, x)
}

// refMatMul multiplies m, [out, len(x)], with x.
func refMatMul(m, x []float64) []float64 {
	y := make([]float64, len(m)/len(x))
	for o := range y {
		for i, v := range m[o*len(x):][:len(x)] {
			y[o] += v * x[i]
		}
	}
	return y
}

func refFFN(gate, up, down core.Affine, x []float64) []float64 {
	g, u := refMul(gate, x), refMul(up, x)
	for i, t := range g {
		g[i] = 0.5 * t * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(t+0.044715*t*t*t))) * u[i]
	}
	return refMul(down, g)
}

func refRotate(x []float64, pos int, theta float64, pairs int) {
	half := len(x) / 2
	for i := range pairs {
		f := float32(math.Pow(theta, -float64(2*i)/float64(len(x))))
		s, c := math.Sincos(float64(float32(pos) * f))
		x[i], x[i+half] = x[i]*c-x[i+half]*s, x[i+half]*c+x[i]*s
	}
}

// refSequence is what the model is run on: ids, soft tokens in their place, and spans that see both ways.
type refSequence struct {
	tokens []int32
	soft   map[int][]float32
	spans  [][2]int
}

func (s refSequence) sameSpan(p, q int) bool {
	for _, span := range s.spans {
		if p >= span[0] && p < span[1] && q >= span[0] && q < span[1] {
			return true
		}
	}
	return false
}

// logits returns those of every position, [T][V].
func (m refModel) logits(s refSequence) [][]float64 {
	c := &m.w.Config
	x := make([][]float64, len(s.tokens))
	for p, id := range s.tokens {
		x[p] = make([]float64, c.Hidden)
		for i := range x[p] {
			x[p][i] = weight(m.w.Embed, int(id), i) * float64(c.EmbedScale)
		}
		if row, ok := s.soft[p]; ok {
			x[p] = widen(row)
		}
	}
	for l := range m.w.Layers {
		m.attend(l, x, s)
		for p := range x {
			x[p] = m.feedForward(l, x[p], m.w.Config.TopK)
		}
	}
	out := make([][]float64, len(x))
	for p := range x {
		out[p] = refMul(m.w.Embed, refNorm(x[p], refVector(m.w.Norm), c.RMSNormEps))
		for i, z := range out[p] {
			out[p][i] = float64(c.LogitSoftcap) * math.Tanh(z/float64(c.LogitSoftcap))
		}
	}
	return out
}

func (m refModel) attend(layer int, x [][]float64, s refSequence) {
	c, l, lc := &m.w.Config, &m.w.Layers[layer], m.w.Config.Layers[layer]
	theta, pairs := c.RopeTheta, lc.HeadDim/2
	if lc.Full {
		theta, pairs = c.FullRopeTheta, c.FullRotary
	}
	heads := func(y []float64, w core.Vector, pos int) [][]float64 {
		var out [][]float64
		for h := range slices.Chunk(y, lc.HeadDim) {
			var weights []float64
			if w != nil {
				weights = refVector(w)
			}
			n := refNorm(h, weights, c.RMSNormEps)
			if w != nil {
				refRotate(n, pos, theta, pairs)
			}
			out = append(out, n)
		}
		return out
	}
	q, k, v := make([][][]float64, len(x)), make([][][]float64, len(x)), make([][][]float64, len(x))
	for p := range x {
		a := refNorm(x[p], refVector(l.InputNorm), c.RMSNormEps)
		raw := refMul(l.Key, a)
		q[p], k[p] = heads(refMul(l.Query, a), l.QueryNorm, p), heads(raw, l.KeyNorm, p)
		if !lc.ValueFromKey {
			raw = refMul(l.Value, a)
		}
		v[p] = heads(raw, nil, p)
	}
	for p := range x {
		joined := make([]float64, 0, c.Heads*lc.HeadDim)
		for h := range c.Heads {
			joined = append(joined, m.attendHead(lc, s, p, q[p][h], k, v, h*lc.KVHeads/c.Heads)...)
		}
		for i, r := range refNorm(refMul(l.Output, joined), refVector(l.PostAttentionNorm), c.RMSNormEps) {
			x[p][i] += r
		}
	}
}

func (m refModel) attendHead(lc core.LayerConfig, s refSequence, p int, q []float64, k, v [][][]float64,
	g int) []float64 {
	out := make([]float64, len(q))
	var sum float64
	for j := range k {
		visible := j <= p
		if !lc.Full {
			visible = j > p-m.w.Config.Window && (j <= p || s.sameSpan(p, j))
		}
		if !visible {
			continue
		}
		var score float64
		for d := range q {
			score += q[d] * k[j][g][d]
		}
		e := math.Exp(score)
		sum += e
		for d := range out {
			out[d] += e * v[j][g][d]
		}
	}
	for d := range out {
		out[d] /= sum
	}
	return out
}

// route returns the experts that x of a layer chooses, the likeliest first, and the scores of all.
func (m refModel) route(layer int, x []float64) (chosen []int, scores []float64) {
	c, l := &m.w.Config, &m.w.Layers[layer]
	z := refNorm(x, nil, c.RMSNormEps)
	for i, s := range refVector(l.RouterScale) {
		z[i] *= s / math.Sqrt(float64(c.Hidden))
	}
	scores = refMul(l.Router, z)
	order := make([]int, c.Experts)
	for e := range order {
		order[e] = e
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return order[:c.TopK], scores
}

// feedForward is the second half of a layer, with the first n of the chosen experts only.
func (m refModel) feedForward(layer int, x []float64, n int) []float64 {
	c, l := &m.w.Config, &m.w.Layers[layer]
	eps := c.RMSNormEps
	h1 := refFFN(l.Gate, l.Up, l.Down, refNorm(x, refVector(l.PreSharedNorm), eps))
	h1 = refNorm(h1, refVector(l.PostSharedNorm), eps)

	chosen, scores := m.route(layer, x)
	var sum float64
	for _, e := range chosen {
		sum += math.Exp(scores[e])
	}
	u := refNorm(x, refVector(l.PreRoutedNorm), eps)
	h2 := make([]float64, c.Hidden)
	for _, e := range chosen[:n] {
		blob, at := m.blobs[layer][e], m.w.Expert
		weight := math.Exp(scores[e]) / sum * float64(vectorAt(l.PerExpertScale, e))
		for i, y := range refFFN(at.Gate.View(blob), at.Up.View(blob), at.Down.View(blob), u) {
			h2[i] += weight * y
		}
	}
	h2 = refNorm(h2, refVector(l.PostRoutedNorm), eps)
	for i := range h2 {
		h2[i] += h1[i]
	}
	y := refNorm(h2, refVector(l.PostFFNNorm), eps)
	for i := range y {
		y[i] = (x[i] + y[i]) * float64(l.Scalar)
	}
	return y
}
