package text

import (
	"fmt"
	"slices"
)

// checkModel refuses model options under which merging would differ from what this package does.
func checkModel(model map[string]scanner) error {
	var o struct {
		Type         string
		Dropout      float64
		Prefix       string
		Suffix       string
		ByteFallback bool
		IgnoreMerges bool
	}
	for key, v := range map[string]any{
		"type": &o.Type, "dropout": &o.Dropout, "continuing_subword_prefix": &o.Prefix,
		"end_of_word_suffix": &o.Suffix, "byte_fallback": &o.ByteFallback, "ignore_merges": &o.IgnoreMerges,
	} {
		section := model[key]
		if err := section.decode("model."+key, v); err != nil {
			return err
		}
	}
	if o.Type != "BPE" || !o.ByteFallback {
		return fmt.Errorf("%w: model type %q, byte_fallback %v; expected \"BPE\", true",
			ErrTokenizerKind, o.Type, o.ByteFallback)
	}
	if o.Dropout != 0 || o.Prefix != "" || o.Suffix != "" || o.IgnoreMerges {
		return fmt.Errorf("%w: dropout %v, continuing_subword_prefix %q, end_of_word_suffix %q, ignore_merges %v;"+
			" expected none of them", ErrTokenizerKind, o.Dropout, o.Prefix, o.Suffix, o.IgnoreMerges)
	}
	for _, key := range []string{"vocab", "merges"} {
		if _, ok := model[key]; !ok {
			return fmt.Errorf("%w: model has no %s", ErrTokenizerFile, key)
		}
	}
	return nil
}

// A step is a normalizer, pre-tokenizer or decoder of the file.
type step struct {
	Type    string
	Pattern struct{ String string }
	Content string
	Invert  bool
	// Decoders are the parts of a "Sequence".
	Decoders []step
}

func (s step) is(o step) bool {
	return s.Type == o.Type && s.Pattern == o.Pattern && s.Content == o.Content && s.Invert == o.Invert &&
		slices.EqualFunc(s.Decoders, o.Decoders, step.is)
}

func replaceStep(from, to string) step {
	s := step{Type: "Replace", Content: to}
	s.Pattern.String = from
	return s
}

// checkPipeline refuses other steps around the model than those that encode and decode take.
func checkPipeline(file map[string]scanner) error {
	mark := string(spaceMark)
	// No blank is left when the pre-tokenizer splits at blanks.
	split := step{Type: "Split"}
	split.Pattern.String = " "
	accepted := map[string][]step{
		"normalizer":    {replaceStep(" ", mark)},
		"pre_tokenizer": {{}, split},
		"decoder": {{Type: "Sequence", Decoders: []step{
			replaceStep(mark, " "), {Type: "ByteFallback"}, {Type: "Fuse"}}}},
	}
	for _, key := range []string{"normalizer", "pre_tokenizer", "decoder"} {
		var got step
		section := file[key]
		if err := section.decode(key, &got); err != nil {
			return err
		}
		if !slices.ContainsFunc(accepted[key], got.is) {
			return fmt.Errorf("%w: %s is %.200s", ErrTokenizerKind, key, section.data[section.pos:])
		}
	}
	return nil
}
