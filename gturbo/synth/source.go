package synth

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"sort"

	"github.com/fieldfare/fieldfare/gturbo/install"
)

// Options say which model to make. They are copied in and never change.
type Options struct {
	// Config is the config.json of the model, default Full().
	Config []byte
	// Tokenizer holds the files of a base tokenizer (tokenizer.json, tokenizer_config.json, and where they exist
	// special_tokens_map.json and chat_template.jinja), e.g. the demo model's. Required.
	Tokenizer fs.FS
}

// A Source is the synthetic checkpoint. Methods may be called from several goroutines.
type Source struct {
	small  map[string][]byte
	shards map[string]*shard
}

var _ install.Source = (*Source)(nil)

// New makes the source; no weight is computed yet. Errors wrap ErrConfig or ErrTokenizer.
func New(opts Options) (*Source, error) {
	if opts.Config == nil {
		opts.Config = Full()
	}
	m, err := parse(opts.Config)
	if err != nil {
		return nil, err
	}
	small, err := m.tokenizer(opts.Tokenizer)
	if err != nil {
		return nil, err
	}
	small["config.json"] = opts.Config
	if m.tower != nil {
		small["processor_config.json"] = m.processor()
	}
	s := &Source{small: small, shards: map[string]*shard{}}
	s.place(m.tensors())
	return s, nil
}

// shardBytes is about the size of one shard, as in the real checkpoint.
const shardBytes = 5 << 30

// place cuts the tensors into shards and writes their headers and the index.
func (s *Source) place(all []tensor) {
	var total int64
	for i := range all {
		total += all[i].size()
	}
	n := int((total + shardBytes - 1) / shardBytes)
	weightMap := map[string]string{}
	for i, at := 0, int64(0); i < n; i++ {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)
		k := 0
		for ; k < len(all) && at < total*int64(i+1)/int64(n); k++ {
			weightMap[all[k].name] = name
			at += all[k].size()
		}
		s.shards[name] = newShard(all[:k])
		all = all[k:]
	}
	s.small["model.safetensors.index.json"] = mustJSON(map[string]any{
		"metadata": map[string]any{"total_size": total}, "weight_map": weightMap,
	})
}

// A shard is one safetensors file.
type shard struct {
	header  []byte
	tensors []tensor
	starts  []int64 // of each tensor in the file, ascending, and the file's size
}

func newShard(tensors []tensor) *shard {
	entries := map[string]any{"__metadata__": map[string]string{"format": "mlx"}}
	ends, at := make([]int64, len(tensors)), int64(0)
	for i := range tensors {
		t := &tensors[i]
		ends[i] = at + t.size()
		entries[t.name] = map[string]any{"dtype": t.dtype, "shape": t.shape, "data_offsets": []int64{at, ends[i]}}
		at = ends[i]
	}
	text, err := json.Marshal(entries)
	if err != nil {
		panic("BUG: synth: " + err.Error())
	}
	sh := &shard{tensors: tensors}
	sh.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	base := int64(len(sh.header))
	sh.starts = append(sh.starts, base)
	for _, end := range ends {
		sh.starts = append(sh.starts, base+end)
	}
	return sh
}

func (sh *shard) size() int64 { return sh.starts[len(sh.starts)-1] }

// read computes the bytes at off, which lie inside the file.
func (sh *shard) read(dst []byte, off int64) {
	if base := int64(len(sh.header)); off < base {
		n := copy(dst, sh.header[off:])
		dst, off = dst[n:], base
	}
	i := sort.Search(len(sh.tensors), func(i int) bool { return sh.starts[i+1] > off })
	for len(dst) > 0 {
		part := dst[:min(int64(len(dst)), sh.starts[i+1]-off)]
		sh.tensors[i].read(part, off-sh.starts[i])
		dst, off = dst[len(part):], sh.starts[i+1]
		i++
	}
}

// read computes the tensor's bytes at off, which need not be the start of an element.
func (t *tensor) read(dst []byte, off int64) {
	width := t.dtype.Bytes()
	var one [4]byte
	if skip := off % width; skip > 0 {
		t.fill(one[:width], uint64(off/width))
		n := copy(dst, one[skip:width])
		dst, off = dst[n:], off+int64(n)
	}
	whole := int64(len(dst)) / width * width
	t.fill(dst[:whole], uint64(off/width))
	if rest := dst[whole:]; len(rest) > 0 {
		t.fill(one[:width], uint64((off+whole)/width))
		copy(rest, one[:width])
	}
}

// Resolve implements install.Source: the weights come from nowhere.
func (s *Source) Resolve(context.Context, string) (install.Origin, error) {
	return install.Origin{}, nil
}

// Size implements install.Source.
func (s *Source) Size(_ context.Context, name string) (int64, error) {
	if data, ok := s.small[name]; ok {
		return int64(len(data)), nil
	}
	if sh, ok := s.shards[name]; ok {
		return sh.size(), nil
	}
	return 0, fmt.Errorf("synthetic checkpoint: %s: %w", name, fs.ErrNotExist)
}

// Open implements install.Source. A range outside of the file wraps ErrRange.
func (s *Source) Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	size, err := s.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, fmt.Errorf("synthetic checkpoint: %s: %d bytes at %d of %d: %w", name, n, off, size, ErrRange)
	}
	if data, ok := s.small[name]; ok {
		return io.NopCloser(bytes.NewReader(data[off : off+n])), nil
	}
	return &reader{ctx: ctx, shard: s.shards[name], at: off, end: off + n}, nil
}

// reader computes a range as it is read.
type reader struct {
	ctx     context.Context
	shard   *shard
	at, end int64
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.at == r.end {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.end-r.at)]
	r.shard.read(p, r.at)
	r.at += int64(len(p))
	return len(p), nil
}

func (r *reader) Close() error { return nil }
