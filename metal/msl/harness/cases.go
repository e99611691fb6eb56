package harness

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/fieldfare/fieldfare/metal/msl/device"
)

// Run is the setting of one pass over the cases.
type Run struct {
	Device device.Device
	Dir    string // folder of the generated libraries
	Scale  Scale
	Bench  int // timed repetitions; 0: none
	Seed   uint64
}

// Scale selects problem sizes.
type Scale int

const (
	Tiny  Scale = iota // for the checked emulator and compute-sanitizer
	Small              // for the fast emulator
	Full               // for a GPU
)

func (r *Run) pick(tiny, small, full int) int { return [...]int{tiny, small, full}[r.Scale] }

// Result is what one case measured.
type Result struct {
	Error   float64 // largest error relative to the largest reference value
	Limit   float64
	Checked int     // values compared
	Seconds float64 // per run, when timed
	Bytes   float64 // moved at least
	Flops   float64
	Note    string
}

// Case is one kernel with its reference.
type Case struct {
	Number int
	Name   string
	Test   func(*Run) (Result, error)
}

// Cases lists all sample kernels.
var Cases = []Case{
	{1, "gemv_int4", gemv}, {2, "rmsnorm", rmsnorm}, {3, "rope", rope}, {4, "decode_attention", decode},
	{5, "vision_attention", vision}, {6, "router", router}, {7, "gemm_simdgroup", gemm},
}

// job collects the buffers of one case and the first error.
type job struct {
	run *Run
	lib device.Library
	all []device.Buffer
	rng *rand.Rand
	err error
}

func (r *Run) start(library string, constants map[int]uint64) *job {
	j := &job{run: r, rng: rand.New(rand.NewPCG(r.Seed, 7))}
	j.lib, j.err = r.Device.Load(filepath.Join(r.Dir, library), constants)
	return j
}
func (j *job) done() {
	for _, b := range j.all {
		b.Free()
	}
}
func (j *job) buffer(n int) device.Buffer {
	if j.err != nil {
		return nil
	}
	var b device.Buffer
	if b, j.err = j.run.Device.Alloc(n); j.err == nil {
		j.all = append(j.all, b)
	}
	return b
}
func (j *job) upload(p []byte) device.Buffer {
	b := j.buffer(len(p))
	if j.err == nil {
		j.err = b.Write(0, p)
	}
	return b
}
func download[T any](j *job, b device.Buffer, n int) []T {
	s := make([]T, n)
	if j.err == nil {
		j.err = b.Read(0, raw(s))
	}
	return s
}
func (j *job) dispatch(res *Result, kernel string, grid, threads device.Size, bindings ...device.Binding) {
	if j.err != nil {
		return
	}
	k, err := j.lib.Kernel(kernel)
	if err == nil {
		err = k.Dispatch(grid, threads, bindings...)
	}
	if err == nil && j.run.Bench > 0 && res != nil {
		res.Seconds, err = k.Time(j.run.Bench, grid, threads, bindings...)
	}
	j.err = err
}

func params[T any](p T) []byte { return raw([]T{p}) }

// 1: affine 4-bit matrix-vector product.
func gemv(r *Run) (res Result, err error) {
	rows, cols := r.pick(20, 1000, 65536), r.pick(192, 2816, 4096)
	j := r.start("gemv_int4", nil)
	defer j.done()
	rng := j.rng
	words := make([]uint32, rows*cols/8)
	block := make([]uint32, min(len(words), 1<<20))
	for i := range block {
		block[i] = rng.Uint32()
	}
	fastFill(words, block)
	scales := fastFill(make([]bfloat, rows*cols/64), bfloats(rng, min(rows*cols/64, 1<<18), 0, 0.01))
	biases := fastFill(make([]bfloat, rows*cols/64), bfloats(rng, min(rows*cols/64, 1<<18), -0.05, 0.05))
	x := halves(rng, cols, 1)
	// The weights start 2 bytes into their buffer: only 2-byte aligned, as in a mapped file.
	wb := j.buffer(len(words)*4 + 2)
	if j.err == nil {
		j.err = wb.Write(2, raw(words))
	}
	sb, bb, xb, yb := j.upload(raw(scales)), j.upload(raw(biases)), j.upload(raw(x)), j.buffer(rows*4)
	p := params([2]uint32{uint32(rows), uint32(cols)})
	const simds = 4
	threads := device.D1(simds * 32)
	j.dispatch(&res, "gemv_int4_g64", device.Groups(device.D1((rows+simds*4-1)/(simds*4)), threads), threads,
		device.Buf(0, wb, 2), device.Buf(1, sb), device.Buf(2, bb), device.Buf(3, xb), device.Buf(4, yb), device.Bytes(5, p))
	y := download[float32](j, yb, rows)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	step := max(1, rows/1000)
	for row := 0; row < rows; row += step {
		want := 0.0
		for c := 0; c < cols; c++ {
			q := words[(row*cols+c)/8] >> (4 * (c % 8)) & 15
			g := (row*cols + c) / 64
			want += (scales[g].float()*float64(q) + biases[g].float()) * x[c].float()
		}
		w.add(float64(y[row]), want)
	}
	res.Error, res.Limit, res.Checked = w.relative(), 2e-6, w.n
	res.Bytes = float64(rows) * float64(cols) * (0.5 + 4.0/64)
	res.Flops = 2 * float64(rows) * float64(cols)
	return res, nil
}

// 2: RMS normalisation over 2816.
func rmsnorm(r *Run) (res Result, err error) {
	rows, width := r.pick(3, 16, 4096), 2816
	j := r.start("rmsnorm", nil)
	defer j.done()
	x := fastFill(make([]half, rows*width), halves(j.rng, min(rows*width, 1<<18), 2))
	weight := bfloats(j.rng, width, 1, 0.2)
	xb, wb, yb := j.upload(raw(x)), j.upload(raw(weight)), j.buffer(rows*width*2)
	threads := device.D1(256)
	const eps = 1e-6
	j.dispatch(&res, "rmsnorm", device.Groups(device.D1(rows), threads), threads,
		device.Buf(0, xb), device.Buf(1, wb), device.Buf(2, yb), device.Bytes(3, params(struct {
			n   uint32
			eps float32
		}{uint32(width), eps})))
	y := download[half](j, yb, rows*width)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for row := 0; row < rows; row += max(1, rows/50) {
		sum := 0.0
		for _, v := range x[row*width:][:width] {
			sum += v.float() * v.float()
		}
		s := 1 / math.Sqrt(sum/float64(width)+eps)
		for i := range width {
			w.add(y[row*width+i].float(), x[row*width+i].float()*s*weight[i].float())
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 5e-4, w.n
	res.Bytes = float64(rows * width * 4)
	return res, nil
}

// 3: NeoX rotary embedding.
func rope(r *Run) (res Result, err error) {
	tokens, heads, dim := r.pick(2, 8, 1024), r.pick(2, 16, 16), 128
	const base = 10000.0
	j := r.start("rope", nil)
	defer j.done()
	x := halves(j.rng, tokens*heads*dim, 1)
	pos := make([]int32, tokens)
	for i := range pos {
		pos[i] = int32(j.rng.IntN(2000))
	}
	xb, pb, yb := j.upload(raw(x)), j.upload(raw(pos)), j.buffer(len(x)*2)
	j.dispatch(&res, "rope_neox", device.D3(dim/2, heads, tokens), device.D3(32, 2, 1),
		device.Buf(0, xb), device.Buf(1, pb), device.Buf(2, yb), device.Bytes(3, params(struct {
			heads, dim uint32
			log2base   float32
		}{uint32(heads), uint32(dim), float32(math.Log2(base))})))
	y := download[half](j, yb, len(x))
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for t := range tokens {
		for h := range heads {
			for i := range dim / 2 {
				a := float64(pos[t]) * math.Pow(base, -float64(i)/float64(dim/2))
				o := (t*heads+h)*dim + i
				u, v := x[o].float(), x[o+dim/2].float()
				w.add(y[o].float(), u*math.Cos(a)-v*math.Sin(a))
				w.add(y[o+dim/2].float(), v*math.Cos(a)+u*math.Sin(a))
			}
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-3, w.n
	res.Bytes = float64(len(x) * 4)
	return res, nil
}

// 4: split-KV decode attention and merge, without and with the soft cap constant.
func decode(r *Run) (res Result, err error) {
	for _, cap := range []float64{0, 20} {
		if res, err = decodeOnce(r, cap); err != nil || res.Error > res.Limit {
			return res, err
		}
	}
	return res, nil
}

func decodeOnce(r *Run, softcap float64) (res Result, err error) {
	kv, heads, kvHeads, split := r.pick(70, 1000, 32768), r.pick(2, 8, 32), r.pick(1, 2, 8), r.pick(32, 128, 256)
	const dim = 128
	var constants map[int]uint64
	if softcap > 0 {
		constants = map[int]uint64{0: uint64(math.Float32bits(float32(softcap)))}
	}
	j := r.start("decode_attention", constants)
	defer j.done()
	q := halves(j.rng, heads*dim, 2)
	k := fastFill(make([]half, kv*kvHeads*dim), halves(j.rng, min(kv*kvHeads*dim, 1<<20), 1))
	v := fastFill(make([]half, kv*kvHeads*dim), halves(j.rng, min(kv*kvHeads*dim, 1<<20), 1))
	splits := (kv + split - 1) / split
	scale := float32(1 / math.Sqrt(dim))
	qb, kb, vb := j.upload(raw(q)), j.upload(raw(k)), j.upload(raw(v))
	stats, part, out := j.buffer(heads*splits*8), j.buffer(heads*splits*dim*4), j.buffer(heads*dim*2)
	threads := device.D1(128)
	j.dispatch(&res, "decode_partial", device.Groups(device.D2(splits, heads), threads), threads,
		device.Buf(0, qb), device.Buf(1, kb), device.Buf(2, vb), device.Buf(3, stats), device.Buf(4, part),
		device.Bytes(5, params(struct {
			kv, kvHeads, per, split uint32
			scale                   float32
		}{uint32(kv), uint32(kvHeads), uint32(heads / kvHeads), uint32(split), scale})))
	j.dispatch(nil, "decode_merge", device.Groups(device.D1(heads), threads), threads,
		device.Buf(0, stats), device.Buf(1, part), device.Buf(2, out), device.Bytes(3, params(uint32(splits))))
	y := download[half](j, out, heads*dim)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for h := range heads {
		kh := h / (heads / kvHeads)
		score := make([]float64, kv)
		for i := range score {
			s := 0.0
			for d := range dim {
				s += q[h*dim+d].float() * k[(i*kvHeads+kh)*dim+d].float()
			}
			s *= float64(scale)
			if softcap > 0 {
				s = softcap * math.Tanh(s/softcap)
			}
			score[i] = s
		}
		softmax(score)
		for d := range dim {
			want := 0.0
			for i, p := range score {
				want += p * v[(i*kvHeads+kh)*dim+d].float()
			}
			w.add(y[h*dim+d].float(), want)
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-3, w.n
	res.Bytes = float64(kv*kvHeads*dim*2) * 2
	return res, nil
}

func softmax(s []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range s {
		top = max(top, v)
	}
	for i, v := range s {
		s[i] = math.Exp(v - top)
		sum += s[i]
	}
	for i := range s {
		s[i] /= sum
	}
}

// 5: vision attention, head width 72.
func vision(r *Run) (res Result, err error) {
	tokens, heads := r.pick(50, 2520, 2520), r.pick(2, 1, 16)
	const dim = 72
	j := r.start("vision_attention", nil)
	defer j.done()
	q, k, v := halves(j.rng, tokens*heads*dim, 2), halves(j.rng, tokens*heads*dim, 1), halves(j.rng, tokens*heads*dim, 1)
	qb, kb, vb, ob := j.upload(raw(q)), j.upload(raw(k)), j.upload(raw(v)), j.buffer(len(q)*2)
	scale := float32(1 / math.Sqrt(dim))
	threads := device.D1(128)
	j.dispatch(&res, "vision_attention", device.Groups(device.D2((tokens+31)/32, heads), threads), threads,
		device.Buf(0, qb), device.Buf(1, kb), device.Buf(2, vb), device.Buf(3, ob), device.Bytes(4, params(struct {
			tokens, heads uint32
			scale         float32
		}{uint32(tokens), uint32(heads), scale})))
	y := download[half](j, ob, len(q))
	if j.err != nil {
		return res, j.err
	}
	kf, vf := make([]float64, len(k)), make([]float64, len(v))
	for i := range k {
		kf[i], vf[i] = k[i].float(), v[i].float()
	}
	var w worst
	for h := range heads {
		for t := 0; t < tokens; t += max(1, tokens/100) {
			score := make([]float64, tokens)
			for i := range score {
				for d := range dim {
					score[i] += q[(t*heads+h)*dim+d].float() * kf[(i*heads+h)*dim+d]
				}
				score[i] *= float64(scale)
			}
			softmax(score)
			for d := range dim {
				want := 0.0
				for i, p := range score {
					want += p * vf[(i*heads+h)*dim+d]
				}
				w.add(y[(t*heads+h)*dim+d].float(), want)
			}
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 3e-3, w.n
	res.Note = fmt.Sprintf("worst: value %d is %.4f, want %.4f", w.at, w.got, w.want)
	res.Flops = 4 * float64(tokens) * float64(tokens) * dim * float64(heads)
	return res, nil
}

// 6: router, top 8 of 128.
func router(r *Run) (res Result, err error) {
	tokens := r.pick(7, 257, 16384)
	const experts, top = 128, 8
	j := r.start("router", nil)
	defer j.done()
	logits := floats(j.rng, tokens*experts, 2)
	for i := 0; i+40 < len(logits); i += 97 { // ties
		logits[i+40] = logits[i]
	}
	lb, eb, wb, cb := j.upload(raw(logits)), j.buffer(tokens*top*2), j.buffer(tokens*top*4), j.buffer(experts*4)
	threads := device.D1(128)
	j.dispatch(nil, "router_top8", device.Groups(device.D1((tokens+3)/4), threads), threads,
		device.Buf(0, lb), device.Buf(1, eb), device.Buf(2, wb), device.Buf(3, cb), device.Bytes(4, params(uint32(tokens))))
	ex, we, load := download[uint16](j, eb, tokens*top), download[float32](j, wb, tokens*top), download[uint32](j, cb, experts)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	want := make([]uint32, experts)
	for t := range tokens {
		row := logits[t*experts:][:experts]
		used := make([]bool, experts)
		var best []float64
		for i := range top {
			b := -1
			for e, v := range row {
				if !used[e] && (b < 0 || v > row[b]) {
					b = e
				}
			}
			used[b] = true
			want[b]++
			best = append(best, float64(row[b]))
			if int(ex[t*top+i]) != b {
				return res, fmt.Errorf("token %d: expert %d is %d, want %d", t, i, ex[t*top+i], b)
			}
		}
		softmax(best)
		for i := range top {
			w.add(float64(we[t*top+i]), best[i])
		}
	}
	for e := range want {
		if load[e] != want[e] {
			return res, fmt.Errorf("expert %d: load %d, want %d", e, load[e], want[e])
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-6, w.n
	return res, nil
}

// 7: GEMM in 8x8 simdgroup matrices, half and bfloat.
func gemm(r *Run) (res Result, err error) {
	m, n, k := r.pick(64, 128, 4096), r.pick(64, 192, 4096), r.pick(64, 256, 4096)
	j := r.start("gemm_simdgroup", nil)
	defer j.done()
	ah, bh := fastFill(make([]half, m*k), halves(j.rng, min(m*k, 1<<20), 1)), fastFill(make([]half, k*n), halves(j.rng, min(k*n, 1<<20), 1))
	ab, bb := fastFill(make([]bfloat, m*k), bfloats(j.rng, min(m*k, 1<<20), 0, 1)), fastFill(make([]bfloat, k*n), bfloats(j.rng, min(k*n, 1<<20), 0, 1))
	threads := device.D1(128)
	p := params([3]uint32{uint32(m), uint32(n), uint32(k)})
	var w worst
	for _, kind := range []string{"gemm_bfloat", "gemm_half"} {
		pa, pb := raw(ah), raw(bh)
		fa, fb := func(i int) float64 { return ah[i].float() }, func(i int) float64 { return bh[i].float() }
		if kind == "gemm_bfloat" {
			pa, pb = raw(ab), raw(bb)
			fa, fb = func(i int) float64 { return ab[i].float() }, func(i int) float64 { return bb[i].float() }
		}
		a, b, c := j.upload(pa), j.upload(pb), j.buffer(m*n*4)
		j.dispatch(&res, kind, device.Groups(device.D2(n/64, m/64), threads), threads, device.Buf(0, a), device.Buf(1, b), device.Buf(2, c),
			device.Bytes(3, p), device.Threadgroup(0, 64*32*2), device.Threadgroup(1, 32*64*2))
		y := download[float32](j, c, m*n)
		if j.err != nil {
			return res, j.err
		}
		for range 2000 {
			row, col := j.rng.IntN(m), j.rng.IntN(n)
			want := 0.0
			for i := range k {
				want += fa(row*k+i) * fb(i*n+col)
			}
			w.add(float64(y[row*n+col]), want)
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 3e-5, w.n
	res.Flops = 2 * float64(m) * float64(n) * float64(k)
	return res, nil
}
