package core_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// referenceChoice applies the rules of gemma4-text 8.2 literally: sort everything, cut, weigh, walk.
func referenceChoice(x []float32, o core.Sampling, history, output []int32, u float64) int32 {
	l := make([]float64, len(x))
	for id, v := range x {
		l[id] = float64(v)
		if o.RepetitionPenalty != 0 && (slices.Contains(history, int32(id)) || slices.Contains(output, int32(id))) {
			if v > 0 {
				l[id] /= o.RepetitionPenalty
			} else {
				l[id] *= o.RepetitionPenalty
			}
		}
		for i, other := range output {
			if other == int32(id) {
				l[id] -= o.FrequencyPenalty
				if slices.Index(output, other) == i {
					l[id] -= o.PresencePenalty
				}
			}
		}
		l[id] = float64(float32(l[id]))
		l[id] = float64(float32(l[id]) + float32(o.Bias[int32(id)]))
	}
	order := make([]int, len(l))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case l[a] > l[b]:
			return -1
		case l[a] < l[b]:
			return 1
		}
		return 0
	})
	if o.Temperature == 0 {
		return int32(order[0])
	}
	largest, total := l[order[0]], 0.0
	for _, v := range l {
		total += math.Exp(v - largest)
	}
	var kept []int
	before := 0.0
	for _, id := range order {
		p := math.Exp(l[id] - largest) // in units of the largest, as masses of equal logits sum exactly then
		if len(kept) > 0 && (o.TopP > 0 && o.TopP < 1 && before >= o.TopP*total || p < o.MinP ||
			o.TopK > 0 && len(kept) == o.TopK) {
			break
		}
		kept = append(kept, id)
		before += p
	}
	sum := 0.0
	for _, id := range kept {
		sum += math.Exp((l[id] - largest) / o.Temperature)
	}
	reached := 0.0
	for _, id := range kept {
		if reached += math.Exp((l[id] - largest) / o.Temperature); reached >= u*sum {
			return int32(id)
		}
	}
	return int32(kept[len(kept)-1])
}

func randomLogits(rng *rand.Rand, n int, spread float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(rng.NormFloat64()*spread*8) / 8) // eighths: ties are common
	}
	return x
}

func TestSamplerFollowsTheRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(v ...float64) float64 { return v[rng.IntN(len(v))] }
	runs := 3000
	if testing.Short() {
		runs = 500
	}
	for n := range runs {
		vocab := []int{1, 2, 65, 700, 3000}[rng.IntN(5)]
		o := core.Sampling{
			Temperature: pick(0, 0.2, 1, 1, 3), TopK: min(vocab, int(pick(0, 1, 2, 64, 300))),
			TopP: pick(0, 0.1, 0.5, 0.95, 0.999, 1), MinP: pick(0, 0, 0.01, 0.3, 1),
			RepetitionPenalty: pick(0, 1, 1.1, 2, 0.5), PresencePenalty: pick(0, 0, 1.5, -1),
			FrequencyPenalty: pick(0, 0, 0.5, -0.25), Seed: rng.Uint64(),
		}
		if rng.IntN(3) == 0 {
			o.Bias = map[int32]float64{0: -3, int32(vocab - 1): 5, int32(vocab / 2): 100}
		}
		x := randomLogits(rng, vocab, pick(0, 0.3, 1, 4))
		var history, output []int32
		for range rng.IntN(10) {
			history = append(history, int32(rng.IntN(vocab)))
		}
		s := core.NewSampler(o, vocab, history)
		for range rng.IntN(6) {
			output = append(output, int32(rng.IntN(vocab)))
			s.Accept(output[len(output)-1])
		}
		given := slices.Clone(x)
		got := s.Sample(x, n)
		want := referenceChoice(x, o, history, output, core.Draw(o.Seed, uint64(n)))
		if got != want {
			t.Fatalf("run %d: chose %d, want %d\n%+v", n, got, want, o)
		}
		if !slices.Equal(x, given) {
			t.Fatalf("run %d: the logits were changed", n)
		}
	}
}

func TestGreedyTakesTheLowestIdOnATie(t *testing.T) {
	s := core.NewSampler(core.Sampling{}, 6, nil)
	if got := s.Sample([]float32{1, 3, 2, 3, 3, 0}, 0); got != 1 {
		t.Errorf("chose %d, want 1", got)
	}
}

func TestTopPKeepsTheTokenThatCrosses(t *testing.T) {
	// masses 0.5, 0.25, 0.125, ...: with 0.6 the second token crosses and stays, the third does not
	x := []float32{0, -0.6931472, -1.3862944, -2.0794415, -2.7725887, -3.4657359}
	seen := map[int32]int{}
	s := core.NewSampler(core.Sampling{Temperature: 1, TopP: 0.6}, len(x), nil)
	for i := range 2000 {
		seen[s.Sample(x, i)]++
	}
	if len(seen) != 2 || seen[0] == 0 || seen[1] == 0 {
		t.Errorf("tokens drawn: %v, want 0 and 1", seen)
	}
}

func TestDrawsAreAFunctionOfSeedAndIndex(t *testing.T) {
	// splitmix64 and xorshift64* by hand: the published first output of splitmix64(0) is e220a8397b1dcdaf.
	state := uint64(0xe220a8397b1dcdaf)
	step := func() uint64 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return state * 2685821657736338717
	}
	step()
	want := float64(step()>>40) / (1 << 24)
	if got := core.Draw(0, 0); got != want {
		t.Errorf("draw(0, 0) = %v, want %v", got, want)
	}
	if core.Draw(5, 2) != core.Draw(3, 4) || core.Draw(5, 2) == core.Draw(5, 3) {
		t.Error("a draw does not depend on seed + index alone")
	}
	// mean and spread of a uniform variable
	sum, squares := 0.0, 0.0
	const n = 20000
	for i := range uint64(n) {
		u := core.Draw(12345, i)
		if u < 0 || u >= 1 {
			t.Fatalf("draw %d is %v", i, u)
		}
		sum, squares = sum+u, squares+u*u
	}
	if mean := sum / n; math.Abs(mean-0.5) > 0.01 || math.Abs(squares/n-1.0/3) > 0.01 {
		t.Errorf("mean %v, mean square %v of %d draws", mean, squares/n, n)
	}
}

func TestDrawnFrequenciesAreTheProbabilities(t *testing.T) {
	x := []float32{0.2, 1.1, -0.7, 0.9, 2, -3}
	for _, o := range []core.Sampling{{Temperature: 1}, {Temperature: 0.5, TopK: 3}, {Temperature: 2, TopP: 0.9}} {
		s := core.NewSampler(o, len(x), nil)
		const n = 40000
		seen := make([]float64, len(x))
		for i := range n {
			seen[s.Sample(x, i)]++
		}
		want := make([]float64, len(x))
		const grid = 100000
		for i := range grid {
			want[referenceChoice(x, o, nil, nil, (float64(i)+0.5)/grid)]++
		}
		for id := range x {
			if d := math.Abs(seen[id]/n - want[id]/grid); d > 0.012 {
				t.Errorf("%+v: token %d was drawn %.3f of the time, want %.3f", o, id, seen[id]/n, want[id]/grid)
			}
		}
	}
}

func TestSelectTopEqualsASort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var dst []int32
	for _, size := range []int{0, 1, 2, 63, 64, 65, 1000} {
		for _, n := range []int{0, 1, 2, 7, 64, 999, 1000, 2000} {
			x := randomLogits(rng, size, 1)
			dst = core.SelectTop(dst, x, n)
			order := make([]int32, size)
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortStableFunc(order, func(a, b int32) int {
				return int(math.Copysign(1, float64(x[b])-float64(x[a]))) * btoi(x[a] != x[b])
			})
			if want := order[:min(n, size)]; !slices.Equal(dst, want) {
				t.Fatalf("%d of %d: %v, want %v", n, size, dst, want)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestLogprobsAreThoseOfTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x := randomLogits(rng, 500, 3)
	s := core.NewSampler(core.Sampling{Temperature: 0.3, TopK: 5, RepetitionPenalty: 2}, len(x), []int32{1, 2})
	tok := core.Token{ID: 17}
	s.Logprobs(&tok, x, 4)
	total := 0.0
	for _, v := range x {
		total += math.Exp(float64(v))
	}
	if want := math.Log(math.Exp(float64(x[17])) / total); math.Abs(tok.Logprob-want) > 1e-9 {
		t.Errorf("log-probability %v, want %v", tok.Logprob, want)
	}
	if len(tok.Top) != 4 {
		t.Fatalf("%d likeliest tokens, want 4", len(tok.Top))
	}
	for i, top := range tok.Top {
		if want := math.Log(math.Exp(float64(x[top.ID])) / total); math.Abs(top.Logprob-want) > 1e-9 {
			t.Errorf("token %d: %v, want %v", top.ID, top.Logprob, want)
		}
		if i > 0 && top.Logprob > tok.Top[i-1].Logprob {
			t.Error("not in order")
		}
	}
}

func TestSamplingValidateNamesEveryProblem(t *testing.T) {
	o := core.Sampling{
		Temperature: math.NaN(), TopK: -1, TopP: 1.5, MinP: -0.1, RepetitionPenalty: -1, PresencePenalty: 3,
		FrequencyPenalty: -3, Bias: map[int32]float64{200: 1, 3: math.Inf(1)},
	}
	err := o.Validate(100)
	if !errors.Is(err, core.ErrOptions) {
		t.Fatalf("%v, want ErrOptions", err)
	}
	for _, name := range []string{"temperature", "top-k", "top-p", "min-p", "repetition", "presence", "frequency",
		"id 200", "id 3"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("no word of %s in: %v", name, err)
		}
	}
	for _, o := range []core.Sampling{{}, core.DefaultSampling(), {Temperature: 1, TopK: 100, TopP: 1, MinP: 1}} {
		if err := o.Validate(100); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestSamplingAllocatesNothingPerToken(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := randomLogits(rng, 2000, 3)
	for _, o := range []core.Sampling{
		{}, core.DefaultSampling(), {Temperature: 1}, {Temperature: 1, TopP: 0.99},
		{Temperature: 0.7, TopK: 40, MinP: 0.05, RepetitionPenalty: 1.2, FrequencyPenalty: 0.1},
	} {
		s := core.NewSampler(o, len(x), []int32{1, 2, 3})
		tok := core.Token{Top: make([]core.TokenLogprob, 0, 20)}
		index := 0
		run := func() {
			tok.ID = s.Sample(x, index)
			s.Accept(tok.ID % 4)
			s.Logprobs(&tok, x, 20)
			index++
		}
		for range 200 { // grow the scratch
			run()
		}
		if n := testing.AllocsPerRun(200, run); n > 0 {
			t.Errorf("%+v: %v allocations per token", o, n)
		}
	}
}

func BenchmarkSampler(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float32, 262144)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 3)
	}
	for _, o := range []core.Sampling{{}, core.DefaultSampling(), {Temperature: 1}, {Temperature: 1, TopP: 0.95}} {
		b.Run(fmt.Sprintf("temperature %v top-k %d top-p %v", o.Temperature, o.TopK, o.TopP), func(b *testing.B) {
			s := core.NewSampler(o, len(x), nil)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Sample(x, i)
			}
		})
	}
}
