package core

import "math"

// A sampler chooses tokens for one generation. It allocates when it is made and when a rare flat distribution makes
// it look deeper than before, not per token.
type sampler struct {
	opts     Sampling
	distinct []int32   // ids in prompt or output, each once
	known    []bool    // [V]: id is in distinct; nil unless penalties ask for it
	count    []int32   // [V]: occurrences in the output; nil unless penalties ask for it
	changed  []float32 // [V]: logits after penalties; nil when they are used as they come
	top      []int32
	weights  []float64
}

func newSampler(opts Sampling, vocab int, prompt []int32) *sampler {
	s := &sampler{opts: opts}
	if !opts.penalized() {
		return s
	}
	s.known, s.count, s.changed = make([]bool, vocab), make([]int32, vocab), make([]float32, vocab)
	for _, id := range prompt {
		s.meet(id)
	}
	return s
}

func (s *sampler) meet(id int32) {
	if !s.known[id] {
		s.known[id] = true
		s.distinct = append(s.distinct, id)
	}
}

// accept takes id into the history of the penalties.
func (s *sampler) accept(id int32) {
	if s.known == nil {
		return
	}
	s.meet(id)
	s.count[id]++
}

// sample chooses the index-th token of the output from finite logits, [V], which it leaves as they are.
func (s *sampler) sample(logits []float32, index int) int32 {
	x := s.penalize(logits)
	if s.opts.Greedy() {
		return argmax(x)
	}
	u := draw(s.opts.Seed, uint64(index))
	if s.opts.TopK == 0 && !s.opts.truncatesByMass() && s.opts.MinP == 0 {
		return s.drawFromAll(x, u)
	}
	return s.drawFrom(x, s.survivors(x), u)
}

// penalize applies the penalties and the bias, on the softcapped logits: raw ones reach the hundreds, where a
// division disappears in the cap.
func (s *sampler) penalize(logits []float32) []float32 {
	if s.changed == nil {
		return logits
	}
	x := s.changed
	copy(x, logits)
	for _, id := range s.distinct {
		v := float64(x[id])
		if s.opts.repeats() {
			if v > 0 {
				v /= s.opts.RepetitionPenalty
			} else {
				v *= s.opts.RepetitionPenalty
			}
		}
		if n := s.count[id]; n > 0 {
			v -= s.opts.PresencePenalty + float64(n)*s.opts.FrequencyPenalty
		}
		x[id] = float32(v)
	}
	for id, b := range s.opts.Bias {
		x[id] += float32(b)
	}
	return x
}

// survivors returns the ids that top-p, min-p and top-k leave, in order. It looks at a short sorted prefix of the
// vocabulary and goes deeper only when the cut does not fall inside it.
func (s *sampler) survivors(x []float32) []int32 {
	limit := len(x)
	if s.opts.TopK > 0 {
		limit = min(limit, s.opts.TopK)
	}
	total := 0.0
	for n := min(limit, 256); ; n = min(limit, 8*n) {
		s.top = selectTop(s.top, x, n)
		if s.opts.truncatesByMass() && total == 0 {
			total = mass(x, x[s.top[0]], 1)
		}
		kept := s.cut(x, total)
		if kept < n || n == limit {
			return s.top[:kept]
		}
	}
}

// cut counts how many of s.top stay under top-p and min-p. total is the mass of the whole vocabulary, in units of
// the largest.
func (s *sampler) cut(x []float32, total float64) int {
	largest := x[s.top[0]]
	before := 0.0
	for i, id := range s.top {
		p := math.Exp(float64(x[id]) - float64(largest))
		if i > 0 && (s.opts.truncatesByMass() && before >= s.opts.TopP*total || p < s.opts.MinP) {
			return i
		}
		before += p
	}
	return len(s.top)
}

// drawFrom draws from ids, in their order, with weights at the temperature.
func (s *sampler) drawFrom(x []float32, ids []int32, u float64) int32 {
	s.weights = s.weights[:0]
	sum := 0.0
	for _, id := range ids {
		w := math.Exp((float64(x[id]) - float64(x[ids[0]])) / s.opts.Temperature)
		s.weights = append(s.weights, w)
		sum += w
	}
	reached := 0.0
	for i, w := range s.weights {
		if reached += w; reached >= u*sum {
			return ids[i]
		}
	}
	return ids[len(ids)-1]
}

// drawFromAll is drawFrom over the whole vocabulary, of which it sorts no more than the draw walks over.
func (s *sampler) drawFromAll(x []float32, u float64) int32 {
	largest := x[argmax(x)]
	sum := mass(x, largest, s.opts.Temperature)
	for n := min(len(x), 64); ; n = min(len(x), 8*n) {
		s.top = selectTop(s.top, x, n)
		reached := 0.0
		for _, id := range s.top {
			reached += math.Exp((float64(x[id]) - float64(largest)) / s.opts.Temperature)
			if reached >= u*sum {
				return id
			}
		}
		if n == len(x) {
			return s.top[n-1]
		}
	}
}

// mass sums exp((x-largest)/temperature) over the whole vocabulary, in id order.
func mass(x []float32, largest float32, temperature float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp((float64(v) - float64(largest)) / temperature)
	}
	return sum
}

// A TokenLogprob is a token with the logarithm of its probability under the model: softmax of the softcapped logits,
// before penalties and temperature.
type TokenLogprob struct {
	ID      int32
	Logprob float64
}

// logprobs fills t with the log-probability of its id and of the n likeliest ids. t.Top is valid until the next call.
func (s *sampler) logprobs(t *Token, logits []float32, n int) {
	largest := logits[argmax(logits)]
	norm := float64(largest) + math.Log(mass(logits, largest, 1))
	t.Logprob = float64(logits[t.ID]) - norm
	t.Top = t.Top[:0]
	s.top = selectTop(s.top, logits, n)
	for _, id := range s.top {
		t.Top = append(t.Top, TokenLogprob{ID: id, Logprob: float64(logits[id]) - norm})
	}
}
