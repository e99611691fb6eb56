package synth

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/text"
)

// A readGGUF is what an independent reader finds in a file.
type readGGUF struct {
	meta    map[string]any
	tensors map[string]readTensor
	data    []byte // from the first tensor on
}

type readTensor struct {
	shape  []uint64
	kind   uint32
	offset uint64
}

// ggufReader reads values one after the other, as the format's description lists them.
type ggufReader struct{ *bytes.Reader }

func number[T any](r ggufReader) (v T) {
	if err := binary.Read(r, binary.LittleEndian, &v); err != nil {
		panic(err)
	}
	return v
}

func (r ggufReader) text() string {
	b := make([]byte, number[uint64](r))
	if err := binary.Read(r, binary.LittleEndian, b); err != nil {
		panic(err)
	}
	return string(b)
}

func (r ggufReader) value(kind uint32) any {
	switch kind {
	case 4:
		return number[uint32](r)
	case 5:
		return number[int32](r)
	case 6:
		return number[float32](r)
	case 7:
		return number[bool](r)
	case 8:
		return r.text()
	case 9:
		of, n := number[uint32](r), number[uint64](r)
		all := make([]any, n)
		for i := range all {
			all[i] = r.value(of)
		}
		return all
	}
	panic(fmt.Sprint("no type of metadata: ", kind))
}

func parseGGUF(t *testing.T, file []byte) readGGUF {
	t.Helper()
	defer func() {
		if err := recover(); err != nil {
			t.Fatal("the header cannot be read: ", err)
		}
	}()
	r := ggufReader{bytes.NewReader(file)}
	magic, version := number[[4]byte](r), number[uint32](r)
	if string(magic[:]) != "GGUF" || version != 3 {
		t.Fatalf("magic %q, version %d", magic, version)
	}
	out := readGGUF{meta: map[string]any{}, tensors: map[string]readTensor{}}
	tensors, keys := number[uint64](r), number[uint64](r)
	for range keys {
		name := r.text()
		out.meta[name] = r.value(number[uint32](r))
	}
	for range tensors {
		name := r.text()
		shape := make([]uint64, number[uint32](r))
		for i := range shape {
			shape[i] = number[uint64](r)
		}
		out.tensors[name] = readTensor{shape, number[uint32](r), number[uint64](r)}
	}
	if len(out.meta) != int(keys) || len(out.tensors) != int(tensors) {
		t.Fatal("a name occurs twice")
	}
	start := (len(file) - r.Len() + 31) / 32 * 32
	out.data = file[min(start, len(file)):]
	return out
}

// bytesOf is the size of a tensor by the table of types.
func (t readTensor) bytesOf() uint64 {
	n := uint64(1)
	for _, d := range t.shape {
		n *= d
	}
	block := map[uint32][2]uint64{0: {1, 4}, 2: {32, 18}, 14: {256, 210}}[t.kind]
	return n / block[0] * block[1]
}

// values dequantizes the first n elements of a tensor, one at a time.
func (g readGGUF) values(name string, n int) []float64 {
	t := g.tensors[name]
	b := g.data[t.offset:]
	half := func(at int) float64 { return float64(bf16.HalfFloat32(binary.LittleEndian.Uint16(b[at:]))) }
	out := make([]float64, n)
	for i := range out {
		switch t.kind {
		case 0:
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		case 2:
			at, j := i/32*18, i%32
			out[i] = half(at) * float64(int(b[at+2+j%16]>>(j/16*4)&15)-8)
		case 14:
			at, j := i/256*210, i%256
			low := b[at+j/128*64+j%64] >> (j / 64 % 2 * 4) & 15
			high := b[at+128+j/128*32+j%32] >> (j / 32 % 4 * 2) & 3
			out[i] = half(at+208) * float64(int8(b[at+192+j/16])) * float64(int(low|high<<4)-32)
		}
	}
	return out
}

// TestGGUF writes one file and looks at it from all sides.
func TestGGUF(t *testing.T) {
	g := writeThin(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, readGGUF)
	}{
		{"tensors lie one after the other, aligned", testGGUFPlaces},
		{"shapes and norms are the checkpoint's", testGGUFShapes},
		{"matrices are of unit size", testGGUFSizes},
		{"tokens have the ids of the install", testGGUFTokenizer},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, g) })
	}
}

func writeThin(t *testing.T) readGGUF {
	t.Helper()
	name := filepath.Join(t.TempDir(), "thin.gguf")
	last := int64(0)
	n, err := WriteGGUF(ctx, GGUFOptions{
		Options: Options{Config: Thin(), Tokenizer: base(t)}, Output: name,
		Progress: func(done, total int64) {
			if done <= last || done > total {
				t.Errorf("progress goes from %d to %d of %d", last, done, total)
			}
			last = done
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(file)) != n || n-last >= 32*300 {
		t.Errorf("%d bytes are written, %d were announced, the last progress was %d", len(file), n, last)
	}
	return parseGGUF(t, file)
}

func testGGUFPlaces(t *testing.T, g readGGUF) {
	type place struct{ lo, hi uint64 }
	var places []place
	for _, tensor := range g.tensors {
		places = append(places, place{tensor.offset, tensor.offset + tensor.bytesOf()})
	}
	slices.SortFunc(places, func(a, b place) int { return int(a.lo) - int(b.lo) })
	at := uint64(0)
	for _, p := range append(places, place{lo: uint64(len(g.data))}) {
		if p.lo%32 != 0 || p.lo < at || p.lo-at >= 32 {
			t.Fatalf("a tensor or the file's end lies at %d, the tensor before ends at %d", p.lo, at)
		}
		at = p.hi
	}
}

func testGGUFShapes(t *testing.T, g readGGUF) {
	for name, want := range map[string][]uint64{
		"token_embd.weight": {512, 4096}, "rope_freqs.weight": {64}, "blk.4.attn_q.weight": {512, 256},
		"blk.4.attn_v.weight": {512, 128}, "blk.5.attn_q.weight": {512, 512}, "blk.5.attn_output.weight": {512, 512},
		"blk.11.ffn_gate_up_exps.weight": {512, 384, 40}, "blk.11.ffn_down_exps.weight": {192, 512, 40},
		"blk.0.ffn_gate_inp.weight": {512, 40}, "blk.0.ffn_down.weight": {320, 512}, "blk.0.layer_output_scale.weight": {1},
	} {
		if got := g.tensors[name].shape; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if _, ok := g.tensors["blk.5.attn_v.weight"]; ok {
		t.Error("a full layer has values of its own")
	}
	norm := make([]byte, 2*512)
	plain("language_model.model.layers.3.post_feedforward_layernorm_2.weight", []int64{512})(norm, 0)
	for i, got := range g.values("blk.3.post_ffw_norm_2.weight", 512) {
		if want := bf16.Float32(binary.LittleEndian.Uint16(norm[2*i:])); got != float64(want) {
			t.Fatalf("element %d of a norm is %v, want %v", i, got, want)
		}
	}
	freqs := g.values("rope_freqs.weight", 64)
	if freqs[0] != 1 || freqs[15] != 1 || freqs[16] < 1e29 || freqs[63] < 1e29 {
		t.Errorf("a quarter of the pairs rotates, not %v", freqs)
	}
}

// Rows times unit inputs give unit outputs, on average around zero: activations stay finite.
func testGGUFSizes(t *testing.T, g readGGUF) {
	for name, want := range map[string]float64{
		"token_embd.weight": 1, "blk.0.attn_q.weight": 1, "blk.7.ffn_down.weight": 1, "blk.9.ffn_down_exps.weight": 1,
	} {
		in := int(g.tensors[name].shape[0])
		const rows = 256
		sum, squares := 0.0, 0.0
		for _, v := range g.values(name, rows*in) {
			sum += v
			squares += v * v
		}
		if got := math.Sqrt(squares / rows); math.Abs(got-want) > 0.03 {
			t.Errorf("%s: outputs of size %.3f, want %.3f", name, got, want)
		}
		if mean := sum / rows / math.Sqrt(float64(in)); math.Abs(mean) > 0.02 {
			t.Errorf("%s: mean output %.4f of equal inputs", name, mean)
		}
	}
}

func testGGUFTokenizer(t *testing.T, g readGGUF) {
	s := source(t, Thin())
	tok, err := text.LoadTokenizer(s.small["tokenizer.json"])
	if err != nil {
		t.Fatal(err)
	}
	tokens := g.meta["tokenizer.ggml.tokens"].([]any)
	kinds := g.meta["tokenizer.ggml.token_type"].([]any)
	if len(tokens) != 4096 || len(kinds) != 4096 {
		t.Fatalf("%d tokens, %d types, want 4096", len(tokens), len(kinds))
	}
	seen := map[any]bool{}
	for i, token := range tokens {
		if token == "" || seen[token] {
			t.Fatalf("token %d, %q, is empty or there twice", i, token)
		}
		seen[token] = true
	}
	for _, name := range []string{"<bos>", "<|turn>", "<turn|>", "<|image>", "<|video|>"} {
		id, ok := tok.Special(name)
		if !ok || tokens[id] != name || kinds[id] != int32(3) {
			t.Errorf("%s: %q of type %v at its id %d", name, tokens[id], kinds[id], id)
		}
	}
	if g.meta["tokenizer.ggml.bos_token_id"] != uint32(2) || len(g.meta["tokenizer.ggml.merges"].([]any)) != 3618 {
		t.Error("begin of sequence or merges are not those of the demo's tokenizer")
	}
}

// All elements of the checkpoint are there: the full shapes have as many as the synthetic 26B.
func TestFullGGUFHasEveryElement(t *testing.T) {
	m, err := parse(Full())
	if err != nil {
		t.Fatal(err)
	}
	opts := GGUFOptions{Options: Options{Tokenizer: base(t)}}
	planned, err := m.gguf(&opts)
	if err != nil {
		t.Fatal(err)
	}
	var got, want uint64
	for name, tensor := range parseGGUF(t, planned.header).tensors {
		n := uint64(1)
		for _, d := range tensor.shape {
			n *= d
		}
		if name != "rope_freqs.weight" { // a constant, not a weight
			got += n
		}
	}
	snap, err := install.LoadSnapshot(ctx, source(t, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, tensor := range snap.Tensors {
		if !strings.HasPrefix(name, "language_model.") || strings.HasSuffix(name, ".scales") || strings.HasSuffix(name, ".biases") {
			continue
		}
		n := uint64(1)
		for _, d := range tensor.Shape {
			n *= uint64(d)
		}
		if tensor.DType == install.U32 {
			n *= 8
			if strings.HasSuffix(name, "router.proj.weight") {
				n /= 2
			}
		}
		want += n
	}
	if got != want || planned.size() != 14_430_308_480 {
		t.Errorf("%d elements in %d bytes, want %d in 14430308480", got, planned.size(), want)
	}
}

func TestTheTokenTableIsInQ6_KUnlessPure(t *testing.T) {
	m, err := parse(Thin())
	if err != nil {
		t.Fatal(err)
	}
	for pure, want := range map[bool]uint32{false: 14, true: 2} {
		g, err := m.gguf(&GGUFOptions{Options: Options{Tokenizer: base(t)}, Pure: pure})
		if err != nil {
			t.Fatal(err)
		}
		if got := parseGGUF(t, g.header).tensors["token_embd.weight"].kind; got != want {
			t.Errorf("pure %v: type %d, want %d", pure, got, want)
		}
	}
}

func TestGGUFBlocksDoNotDependOnHowTheyAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		fill  fill
		width int
	}{
		"Q4_0":   {q4Blocks("a", 64), 18},
		"Q6_K":   {q6Blocks("a", 512), 210},
		"router": {routerRows("a", 7), 4},
		"norm":   {widened(plain("a.weight", []int64{50})), 4},
	} {
		whole := make([]byte, 50*c.width)
		c.fill(whole, 0)
		for lo := range 50 {
			part := make([]byte, (50-lo)*c.width)
			c.fill(part, uint64(lo))
			if !bytes.Equal(part, whole[lo*c.width:]) {
				t.Errorf("%s: from block %d on, other bytes", name, lo)
			}
		}
	}
}

func TestGGUFIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "thin.gguf")
	opts := GGUFOptions{Options: Options{Config: Thin(), Tokenizer: base(t)}, Output: name}
	stopping, stop := context.WithCancel(ctx)
	opts.Progress = func(done, _ int64) {
		if done > 20<<20 {
			stop()
		}
	}
	if _, err := WriteGGUF(stopping, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a stopped run leaves %v (%v)", left, err)
	}
	if err := os.WriteFile(name, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteGGUF(ctx, opts); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want fs.ErrExist", err)
	}
	if kept, err := os.ReadFile(name); err != nil || string(kept) != "mine" {
		t.Errorf("the file that was there holds %q (%v)", kept, err)
	}
	opts.Overwrite = true
	if err := os.WriteFile(name+".partial", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteGGUF(ctx, opts); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another run's file: %v, want fs.ErrExist", err)
	}
}

func TestShapesWithoutWholeBlocksAreRefused(t *testing.T) {
	config := bytes.Replace(Thin(), []byte(`"hidden_size": 512`), []byte(`"hidden_size": 320`), 1)
	opts := GGUFOptions{Options: Options{Config: config, Tokenizer: base(t)}, Output: filepath.Join(t.TempDir(), "x.gguf")}
	if _, err := WriteGGUF(ctx, opts); !errors.Is(err, ErrConfig) {
		t.Errorf("%v, want ErrConfig", err)
	}
}
