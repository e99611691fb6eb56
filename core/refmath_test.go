package core_test

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// The operations of the model on single rows, in float64 and as plain as formulas: the judge of everything else.

func bfAt(b []byte, i int) float64 { return float64(bf16.Float32(binary.LittleEndian.Uint16(b[2*i:]))) }

func vec(v core.Vector) []float64 {
	out := make([]float64, len(v)/2)
	for i := range out {
		out[i] = bfAt(v, i)
	}
	return out
}

// dequantize unpacks a matrix: w = scale*code + bias.
func dequantize(m core.Affine) []float64 {
	w := make([]float64, m.Out*m.In)
	for g := range len(w) / 64 {
		scale, bias := bfAt(m.Scales, g), bfAt(m.Biases, g)
		for i := 64 * g; i < 64*g+64; i++ {
			code := int(m.Codes[i*m.Bits/8])
			if m.Bits == 4 {
				code = code >> (4 * (i % 2)) & 15
			}
			w[i] = scale*float64(code) + bias
		}
	}
	return w
}

// A denseCache keeps dequantized matrices, so that tests do not unpack them for every row.
type denseCache map[*byte][]float64

func (c denseCache) of(m core.Affine) []float64 {
	key := &m.Codes[0]
	if c[key] == nil {
		c[key] = dequantize(m)
	}
	return c[key]
}

func (c denseCache) mul(m core.Affine, x []float64) []float64 {
	w := c.of(m)
	y := make([]float64, m.Out)
	for o := range y {
		row := w[o*m.In:][:m.In]
		var a, b, c, e float64 // four sums only because that runs faster
		for i := 0; i < len(x); i += 4 {
			a += row[i] * x[i]
			b += row[i+1] * x[i+1]
			c += row[i+2] * x[i+2]
			e += row[i+3] * x[i+3]
		}
		y[o] = a + b + (c + e)
	}
	return y
}

// rms is x/sqrt(mean(x^2)+eps), times w unless that is nil.
func rms(x, w []float64, eps float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	r := 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * r
		if w != nil {
			y[i] *= w[i]
		}
	}
	return y
}

// rope rotates pairs (i, i+D/2); the angle is formed in float32 as the references do.
func rope(x []float64, pos int, cfg *core.Config, l core.LayerConfig) {
	half := len(x) / 2
	theta, rotary := cfg.RopeTheta, half
	if l.Full {
		theta, rotary = cfg.FullRopeTheta, cfg.FullRotary
	}
	for i := range rotary {
		f := float32(1 / math.Pow(theta, float64(2*i)/float64(len(x))))
		a := float64(float32(pos) * f)
		x[i], x[i+half] = x[i]*math.Cos(a)-x[i+half]*math.Sin(a), x[i+half]*math.Cos(a)+x[i]*math.Sin(a)
	}
}

func geglu(gate, up []float64) []float64 {
	y := make([]float64, len(gate))
	for i, t := range gate {
		y[i] = 0.5 * t * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(t+0.044715*t*t*t))) * up[i]
	}
	return y
}

func add(x, y []float64) []float64 {
	out := slices.Clone(x)
	for i, v := range y {
		out[i] += v
	}
	return out
}

func embedRow(d denseCache, w *core.Weights, id int32) []float64 {
	x := make([]float64, w.Config.Hidden)
	for i := range x {
		x[i] = d.of(w.Embed)[int(id)*w.Config.Hidden+i] * float64(w.Config.EmbedScale)
	}
	return x
}

// qkv returns the heads' queries, keys and values of one row, normed and rotated.
func qkv(d denseCache, w *core.Weights, layer, pos int, x []float64) (q, k, v [][]float64) {
	cfg, l, lw := &w.Config, w.Config.Layers[layer], &w.Layers[layer]
	a := rms(x, vec(lw.InputNorm), cfg.RMSNormEps)
	key := d.mul(lw.Key, a)
	value := key
	if !l.ValueFromKey {
		value = d.mul(lw.Value, a)
	}
	for h := range slices.Chunk(d.mul(lw.Query, a), l.HeadDim) {
		h = rms(h, vec(lw.QueryNorm), cfg.RMSNormEps)
		rope(h, pos, cfg, l)
		q = append(q, h)
	}
	for h := range slices.Chunk(key, l.HeadDim) {
		h = rms(h, vec(lw.KeyNorm), cfg.RMSNormEps)
		rope(h, pos, cfg, l)
		k = append(k, h)
	}
	for h := range slices.Chunk(value, l.HeadDim) {
		v = append(v, rms(h, nil, cfg.RMSNormEps))
	}
	return q, k, v
}

// attendTo is softmax(q k) v over the listed keys and values; the scale is 1.
func attendTo(q []float64, keys, values [][]float64) []float64 {
	scores := make([]float64, len(keys))
	for j, k := range keys {
		for i := range q {
			scores[j] += q[i] * k[i]
		}
	}
	largest, sum := slices.Max(scores), 0.0
	out := make([]float64, len(q))
	for j, s := range scores {
		p := math.Exp(s - largest)
		sum += p
		for i := range out {
			out[i] += p * values[j][i]
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// attentionOut is the residual after the attention half.
func attentionOut(d denseCache, w *core.Weights, layer int, x, heads []float64) []float64 {
	lw := &w.Layers[layer]
	return add(x, rms(d.mul(lw.Output, heads), vec(lw.PostAttentionNorm), w.Config.RMSNormEps))
}

// chooseExperts is the router: top K of the scores, lower id first on a tie, and their weights.
func chooseExperts(d denseCache, w *core.Weights, layer int, r []float64) ([]gturbo.ExpertID, []float64) {
	cfg, lw := &w.Config, &w.Layers[layer]
	z := rms(r, vec(lw.RouterScale), cfg.RMSNormEps)
	for i := range z {
		z[i] /= math.Sqrt(float64(cfg.Hidden))
	}
	scores := d.mul(lw.Router, z)
	ids := make([]gturbo.ExpertID, len(scores))
	for e := range ids {
		ids[e] = gturbo.ExpertID(e)
	}
	slices.SortStableFunc(ids, func(a, b gturbo.ExpertID) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	ids = ids[:cfg.TopK]
	weights, sum := make([]float64, cfg.TopK), 0.0
	for i, e := range ids {
		weights[i] = math.Exp(scores[e] - scores[ids[0]])
		sum += weights[i]
	}
	for i, e := range ids {
		weights[i] *= bfAt(lw.PerExpertScale, int(e)) / sum
	}
	return ids, weights
}

func sharedOut(d denseCache, w *core.Weights, layer int, r []float64) []float64 {
	lw, eps := &w.Layers[layer], w.Config.RMSNormEps
	a := rms(r, vec(lw.PreSharedNorm), eps)
	return rms(d.mul(lw.Down, geglu(d.mul(lw.Gate, a), d.mul(lw.Up, a))), vec(lw.PostSharedNorm), eps)
}

// expertOut takes its own cache of matrices: a slot's bytes change, so nothing made from them may be kept.
func expertOut(d denseCache, w *core.Weights, layer int, blob []byte, r []float64) []float64 {
	u := rms(r, vec(w.Layers[layer].PreRoutedNorm), w.Config.RMSNormEps)
	e := w.Expert
	return d.mul(e.Down.View(blob), geglu(d.mul(e.Gate.View(blob), u), d.mul(e.Up.View(blob), u)))
}

func layerOut(w *core.Weights, layer int, r, shared, routed []float64) []float64 {
	lw, eps := &w.Layers[layer], w.Config.RMSNormEps
	x := add(r, rms(add(shared, rms(routed, vec(lw.PostRoutedNorm), eps)), vec(lw.PostFFNNorm), eps))
	for i := range x {
		x[i] *= float64(lw.Scalar)
	}
	return x
}

func logitsOf(d denseCache, w *core.Weights, x []float64) []float64 {
	cfg := &w.Config
	z := d.mul(w.Embed, rms(x, vec(w.Norm), cfg.RMSNormEps))
	for i := range z {
		z[i] = float64(cfg.LogitSoftcap) * math.Tanh(z[i]/float64(cfg.LogitSoftcap))
	}
	return z
}
