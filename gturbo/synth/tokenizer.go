package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
)

// tokenizer returns the tokenizer files: those of base, with the vocabulary padded to the model's size by <unusedN>
// entries and the media tokens moved to the ids that the configuration gives them.
func (m *model) tokenizer(base fs.FS) (map[string][]byte, error) {
	if base == nil {
		return nil, fmt.Errorf("no files given: %w", ErrTokenizer)
	}
	small := map[string][]byte{}
	for name, required := range map[string]bool{
		"tokenizer.json": true, "tokenizer_config.json": true, "special_tokens_map.json": false,
		"chat_template.jinja": false,
	} {
		data, err := fs.ReadFile(base, name)
		switch {
		case err == nil:
			small[name] = data
		case required || !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: %w", ErrTokenizer, err)
		}
	}
	padded, err := m.pad(small["tokenizer.json"])
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w: %w", ErrTokenizer, err)
	}
	small["tokenizer.json"] = padded
	return small, nil
}

// pad rewrites tokenizer.json. Only what must change is decoded.
func (m *model) pad(data []byte) ([]byte, error) {
	var file, inner map[string]json.RawMessage
	var added []map[string]any
	var vocab map[string]int
	for _, part := range []struct {
		dst  any
		from func() json.RawMessage
	}{
		{&file, func() json.RawMessage { return data }},
		{&inner, func() json.RawMessage { return file["model"] }},
		{&vocab, func() json.RawMessage { return inner["vocab"] }},
		{&added, func() json.RawMessage { return file["added_tokens"] }},
	} {
		if err := json.Unmarshal(part.from(), part.dst); err != nil {
			return nil, err
		}
	}
	for token, id := range m.media {
		if _, ok := vocab[token]; ok {
			vocab[token] = id
		}
	}
	for _, token := range added {
		if id, ok := m.media[fmt.Sprint(token["content"])]; ok {
			token["id"] = id
		}
	}
	var err error
	if inner["vocab"], err = fillUp(vocab, m.Arch.VocabSize); err != nil {
		return nil, err
	}
	file["model"], file["added_tokens"] = compact(inner), compact(added)
	return compact(file), nil
}

// fillUp returns the vocabulary as JSON in the order of ids, every free id below size taken by an <unusedN> entry.
func fillUp(vocab map[string]int, size int) (json.RawMessage, error) {
	byID := make([]string, size)
	for token, id := range vocab {
		if id < 0 || id >= size {
			return nil, fmt.Errorf("token %q has id %d, the vocabulary ends at %d", token, id, size)
		}
		if byID[id] != "" {
			return nil, fmt.Errorf("tokens %q and %q share id %d", byID[id], token, id)
		}
		byID[id] = token
	}
	var out bytes.Buffer
	next := 0
	for id, token := range byID {
		for ; token == ""; next++ {
			name := fmt.Sprintf("<unused%d>", next)
			if _, taken := vocab[name]; !taken {
				token = name
			}
		}
		if id == 0 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		out.Write(compact(token))
		fmt.Fprintf(&out, ":%d", id)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// compact marshals without escaping < and >, which would make a vocabulary of control tokens unreadable.
func compact(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: synth: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// processor returns processor_config.json: how pictures are prepared for this tower.
func (m *model) processor() []byte {
	tokens := m.Vision.SoftTokens
	image := map[string]any{
		"image_processor_type": "Gemma4ImageProcessor", "do_convert_rgb": true, "do_normalize": false, "do_rescale": true,
		"do_resize": true, "image_mean": []float64{0, 0, 0}, "image_std": []float64{1, 1, 1}, "max_soft_tokens": tokens,
		"patch_size": m.tower.PatchSize, "pooling_kernel_size": m.tower.PoolingKernelSize, "resample": 3,
		"rescale_factor": 0.00392156862745098,
	}
	video := maps.Clone(image)
	delete(video, "image_processor_type")
	maps.Copy(video, map[string]any{
		"video_processor_type": "Gemma4VideoProcessor", "do_sample_frames": true, "num_frames": 32, "return_metadata": false,
	})
	return mustJSON(map[string]any{
		"processor_class": "Gemma4Processor", "image_processor": image, "image_seq_length": tokens,
		"video_processor": video,
	})
}
