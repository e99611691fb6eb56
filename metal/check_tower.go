package metal

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

func checkPixels(c *checker, _ string) {
	c.limit = 2e-7
	patches := c.buffer(256)
	for i := range 256 {
		patches.Bytes()[i] = byte(i)
	}
	y, got := c.unwritten(256)
	c.runThreads(c.k, driver.D1(256), in(patches), in(y))
	for i, v := range got {
		c.near(v, 2*(float64(i)/255-0.5), 1)
	}
}

func checkPositions(c *checker, _ string) {
	c.limit = 3e-7
	const gridW, gridH, rows = 5, 4, 12
	d := c.size(40, 1152)
	w := c.tensors(4 * rows * d)
	at, table := w.vector(2*rows*d, 0, 1)
	x, got := c.random(gridW*gridH*d, 1)
	before := append([]float32(nil), got...)
	p := shaders.PositionParams{Table: at, Width: u32(d), Rows: rows, GridWidth: gridW}
	c.runThreads(c.k, driver.D2(d, gridW*gridH), in(w.buffer), in(x), inBytes(shaders.Bytes(&p)))
	for i := range got {
		patch, e := i/d, i%d
		c.near(got[i], float64(before[i])+table[patch%gridW*d+e]+table[(rows+patch/gridW)*d+e], 8)
	}
}

func checkTowerHeads(c *checker, _ string) {
	c.limit = 3e-6
	const gridW, gridH, heads, width = 5, 3, 6, 72
	w := c.tensors(4 * width)
	p := shaders.TowerHeadsParams{Heads: heads, Width: width, GridWidth: gridW, Eps: checkEps}
	var queryNorm, keyNorm []float64
	p.QueryNorm, queryNorm = w.vector(width, 1, 0.3)
	p.KeyNorm, keyNorm = w.vector(width, 1, 0.3)
	freqs := frequencies(100, width/2, width/4)
	turn := c.buffer(8 * gridW * len(freqs))
	fillTurns(floats(turn), freqs, 0, gridW)
	var buffers [3]driver.Buffer
	var got, before [3][]float32
	for i := range buffers {
		buffers[i], got[i] = c.random(gridW*gridH*heads*width, 2)
		before[i] = append([]float32(nil), got[i]...)
	}
	c.run(c.k, driver.D3(ceil(heads, shaders.HeadSimds), gridW*gridH, 3), in(w.buffer), in(w.buffer), in(turn),
		in(buffers[0]), in(buffers[1]), in(buffers[2]), inBytes(shaders.Bytes(&p)))
	for which, norm := range [][]float64{queryNorm, keyNorm, nil} {
		for at := 0; at < len(got[which]); at += width {
			patch := at / (heads * width)
			want := rms(before[which][at:][:width], norm, checkEps)
			if norm != nil {
				turned(want[:width/2], freqs, patch%gridW)
				turned(want[width/2:], freqs, patch/gridW)
			}
			for i, v := range want {
				c.near(got[which][at+i], v, 4)
			}
		}
	}
}

func checkTowerAttend(c *checker, variant string) {
	c.limit = 1e-5
	width := 0
	if _, err := fmt.Sscanf(variant, "d%d", &width); err != nil {
		panic("BUG: metal: tower attention variant " + variant)
	}
	const heads = 2
	patches := c.size(75, 2520)
	n := patches * heads * width
	q, got := c.random(n, 3/math.Sqrt(float64(width)))
	query := append([]float32(nil), got...)
	k, keys := c.random(n, 1)
	v, values := c.random(n, 1)
	p := shaders.TowerAttendParams{Patches: u32(patches), Heads: heads}
	c.run(c.k, driver.D2(ceil(patches, shaders.TowerQueries), heads), in(q), in(k), in(v), inBytes(shaders.Bytes(&p)))
	step := c.size(1, 37) // at full size some queries stand for all
	for i := 0; i < patches; i += step {
		for h := range heads {
			out, sum := make([]float64, width), 0.0
			for j := range patches {
				score, at := 0.0, (j*heads+h)*width
				for d := range width {
					score += float64(query[(i*heads+h)*width+d]) * float64(keys[at+d])
				}
				e := math.Exp(score)
				sum += e
				for d := range out {
					out[d] += e * float64(values[at+d])
				}
			}
			for d, o := range out {
				c.near(got[(i*heads+h)*width+d], o/sum, 1)
			}
		}
	}
}

// checkDense has edges in all three directions.
func checkDense(c *checker, _ string) {
	c.limit = productLimit
	rows, inputs, outputs := c.size(70, 100), c.size(40, 4304), c.size(75, 1152)
	w := c.tensors(2 * inputs * outputs)
	at, weights := w.vector(inputs*outputs, 0, 1/math.Sqrt(float64(inputs)))
	x, input := c.random(rows*inputs, 1)
	y, got := c.unwritten(rows * outputs)
	p := shaders.DenseParams{Weight: at, Inputs: u32(inputs), Outputs: u32(outputs), Rows: u32(rows)}
	c.run(c.k, driver.D2(ceil(outputs, shaders.DenseTile), ceil(rows, shaders.DenseTile)), in(w.buffer), in(x), in(y),
		inBytes(shaders.Bytes(&p)))
	for r := range rows {
		for o := range outputs {
			want, magnitude := dot(weights[o*inputs:][:inputs], input[r*inputs:][:inputs])
			c.near(got[r*outputs+o], want, magnitude)
		}
	}
}

// checkElementGeglu reaches the products of the 26B that FP16 could not hold.
func checkElementGeglu(c *checker, _ string) {
	c.limit = 2e-6
	n := c.size(1000, 100_000)
	gate, got := c.random(n, 100)
	up, factors := c.random(n, 1000)
	for i := range got {
		if i%2 == 0 {
			got[i] /= 50
		}
	}
	before := append([]float32(nil), got...)
	c.runThreads(c.k, driver.D1(n), in(gate), in(up))
	for i, g := range before {
		c.near(got[i], geluOf(float64(g))*float64(factors[i]), (math.Abs(float64(g))+1)*math.Abs(float64(factors[i])))
	}
}

func checkPool(c *checker, _ string) {
	c.limit = 1e-6
	const gridW, gridH, side = 9, 6, 3
	d := c.size(40, 1152)
	w := c.tensors(4 * d)
	biasAt, bias := w.vector(d, 1, 1)
	scaleAt, scale := w.vector(d, 0.1, 0.02)
	x, input := c.random(gridW*gridH*d, 1)
	y, got := c.unwritten(gridW * gridH / (side * side) * d)
	root := math.Sqrt(float64(d))
	p := shaders.PoolParams{Width: u32(d), GridWidth: gridW, Side: side, Bias: biasAt, Scale: scaleAt, Root: float32(root)}
	c.runThreads(c.k, driver.D2(d, gridW*gridH/(side*side)), in(w.buffer), in(w.buffer), in(x), in(y),
		inBytes(shaders.Bytes(&p)))
	for i := range got {
		n, e := i/d, i%d
		sum := 0.0
		for j := range side * side {
			line, column := n/(gridW/side)*side+j/side, n%(gridW/side)*side+j%side
			sum += float64(input[(line*gridW+column)*d+e])
		}
		c.near(got[i], (sum/(side*side)*root-bias[e])*scale[e], 4*root*math.Abs(scale[e]))
	}
}
