package metal

import (
	"math"
	"slices"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

const checkEps = 1e-6

func checkEmbed(c *checker, _ string) {
	c.limit = 1e-6
	const vocab, rows, factor = 40, 5, 13.875
	d := c.size(192, 2816)
	w := c.tensors(vocab * d)
	m, table := w.affine(vocab, d, 4)
	ids := c.buffer(4 * rows)
	for i := range rows {
		words(ids)[i] = u32(c.rng.IntN(vocab))
	}
	y, got := c.unwritten(rows * d)
	p := shaders.EmbedParams{Table: m, Width: u32(d), Factor: factor}
	c.runThreads(c.k, driver.D2(d/4, rows), in(w.buffer), in(ids), in(y), inBytes(shaders.Bytes(&p)))
	for r := range rows {
		for i, v := range row(table, int(words(ids)[r])) {
			c.near(got[r*d+i], v*factor, factor)
		}
	}
}

func checkNorm(c *checker, _ string) {
	c.limit = 2e-6
	const rows = 3
	d := c.size(193, 2816)
	w := c.tensors(2 * d)
	at, weight := w.vector(d, 1, 0.5)
	x, input := c.random(rows*d, 3)
	y, got := c.unwritten(rows * d)
	before := make([]float32, rows*d)
	if c.k.spec.Name == "rmsnorm_add" {
		copy(got, slices.Repeat([]float32{0.5}, rows*d))
		copy(before, got)
	}
	p := shaders.NormParams{Width: u32(d), Eps: checkEps, Weight: at, Weighted: 1}
	for range c.size(1, 2) { // at full size also without a weight
		c.run(c.k, driver.D1(rows), in(w.buffer), in(x), in(y), inBytes(shaders.Bytes(&p)))
		for r := range rows {
			for i, v := range rms(input[r*d:][:d], weight, checkEps) {
				c.near(got[r*d+i], v+float64(before[r*d+i]), 4)
			}
		}
		if c.k.spec.Name == "rmsnorm_add" {
			return
		}
		p.Weighted, weight = 0, nil
	}
}

func checkRouterInput(c *checker, _ string) {
	c.limit = 2e-6
	const rows = 3
	d := c.size(193, 2816)
	w := c.tensors(4 * d)
	scaleAt, scale := w.vector(d, 10, 1)
	weightAt, weight := w.vector(d, 1, 0.5)
	x, input := c.random(rows*d, 3)
	z, gotZ := c.unwritten(rows * d)
	u, gotU := c.unwritten(rows * d)
	factor := 1 / math.Sqrt(float64(d))
	p := shaders.RouterInputParams{Width: u32(d), Eps: checkEps, Scale: scaleAt, Weight: weightAt, Factor: float32(factor)}
	c.run(c.k, driver.D1(rows), in(w.buffer), in(x), in(z), in(u), inBytes(shaders.Bytes(&p)))
	for r := range rows {
		for i, v := range rms(input[r*d:][:d], nil, checkEps) {
			c.near(gotZ[r*d+i], v*scale[i]*factor, 40*factor)
			c.near(gotU[r*d+i], v*weight[i], 4)
		}
	}
}

func checkTail(c *checker, _ string) {
	c.limit = 4e-6
	const rows, scalar = 3, 0.0703125
	d, k := c.size(193, 2816), c.size(3, 8)
	w := c.tensors(6 * d)
	sharedAt, postShared := w.vector(d, 1, 0.3)
	routedAt, postRouted := w.vector(d, 1, 0.3)
	ffnAt, postFFN := w.vector(d, 1, 0.3)
	h, shared := c.random(rows*d, 5)
	experts, routed := c.random(rows*k*d, 5)
	weights, shares := c.random(rows*k, 0.5)
	x, got := c.random(rows*d, 2)
	before := slices.Clone(got)
	p := shaders.TailParams{Width: u32(d), TopK: u32(k), Eps: checkEps, PostShared: sharedAt, PostRouted: routedAt,
		PostFFN: ffnAt, Scalar: scalar}
	c.s.threadgroupMemory(4 * d)
	c.run(c.k, driver.D1(rows), in(w.buffer), in(h), in(experts), in(weights), in(x), inBytes(shaders.Bytes(&p)))
	for r := range rows {
		sum := make([]float32, d)
		for i := range sum {
			var t float64
			for rank := range k {
				t += float64(shares[r*k+rank]) * float64(routed[(r*k+rank)*d+i])
			}
			sum[i] = float32(t)
		}
		a, b := rms(sum, postRouted, checkEps), rms(shared[r*d:][:d], postShared, checkEps)
		for i := range a {
			a[i] += b[i]
		}
		for i, v := range rms(narrow(a), postFFN, checkEps) {
			c.near(got[r*d+i], (float64(before[r*d+i])+v)*scalar, 4*scalar)
		}
	}
}

func checkChoose(c *checker, _ string) {
	c.limit = 2e-6
	const rows = 6
	experts, k := c.size(9, 128), c.size(3, 8)
	w := c.tensors(2 * experts)
	at, scale := w.vector(experts, 1, 0.2)
	s, scores := c.random(rows*experts, 3)
	for e := range experts { // ties go to the lower id
		scores[e] = float32(e / 2 % 4)
	}
	chosen := c.buffer(4 * rows * k)
	shares, got := c.unwritten(rows * k)
	p := shaders.ChooseParams{Rows: rows, Experts: u32(experts), TopK: u32(k), PerExpert: at}
	c.run(c.k, driver.D1(ceil(rows, shaders.RouterSimds)), in(w.buffer), in(s), in(chosen), in(shares),
		inBytes(shaders.Bytes(&p)))
	for r := range rows {
		of := scores[r*experts:][:experts]
		order := make([]int, experts)
		for e := range order {
			order[e] = e
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(of[b]-of[a]))) * btoi(of[a] != of[b]) })
		var sum float64
		for _, e := range order[:k] {
			sum += math.Exp(float64(of[e] - of[order[0]]))
		}
		for rank, e := range order[:k] {
			if int(words(chosen)[r*k+rank]) != e {
				c.near(float32(math.NaN()), 0, 1)
			}
			c.near(got[r*k+rank], math.Exp(float64(of[e]-of[order[0]]))/sum*scale[e], 1)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
