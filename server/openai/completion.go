package openai

import "maps"

// A CompletionRequest asks to continue a text as it is, without the chat format.
type CompletionRequest struct {
	Common
	// Prompt is plain text, in which nothing is a control token. Tokens, unless nil, are ids as they are.
	Prompt string
	Tokens []int32
	// Echo asks for the prompt in front of the answer.
	Echo bool
}

// DecodeCompletion reads the body of a completion request. Errors are of type *Error.
func DecodeCompletion(data []byte, o Options) (*CompletionRequest, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	c := new(CompletionRequest)
	var limits tokenLimits
	asked := false
	bestOf, logprobs := 1, -1
	table := c.fields(o, &limits)
	maps.Copy(table, fields{
		"prompt": func(v value, at string) *Error {
			asked = true
			return c.prompt(v, at, o.Vocab)
		},
		"echo":    boolean(&c.Echo),
		"best_of": integer(&bestOf, 1, 1),
		"logprobs": func(v value, at string) *Error {
			if v.kind() == "boolean" {
				return refuse(CodeInvalidType, at, "a number of alternatives, not true or false")
			}
			return integer(&logprobs, 0, 5)(v, at)
		},
		"suffix": refused("there is no infilling"),
	})
	delete(table, "max_completion_tokens")
	if err := table.read(v, ""); err != nil {
		return nil, err
	}
	if !asked {
		return nil, refuse(CodeMissing, "prompt", "a request has a prompt")
	}
	c.Generate.MaxTokens = limits.max()
	if c.Generate.MaxTokens == 0 {
		c.Generate.MaxTokens = 16 // as OpenAI's
	}
	c.Generate.Logprobs, c.Generate.TopLogprobs = logprobs >= 0, max(logprobs, 0)
	return c, nil
}

// prompt takes a string, a list of token ids, or a list of one of either.
func (c *CompletionRequest) prompt(v value, at string, vocab int) *Error {
	if v.kind() == "string" {
		c.Prompt = v.text()
		return nil
	}
	if v.kind() != "array" {
		return wrongType(v, at, "a string or an array")
	}
	items := v.items()
	if len(items) == 0 {
		return refuse(CodeInvalidValue, at, "the prompt is empty")
	}
	if items[0].kind() != "number" {
		if len(items) > 1 {
			return refuse(CodeUnsupportedValue, at, "one prompt at a time: got %d", len(items))
		}
		if items[0].kind() != "string" && items[0].kind() != "array" {
			return wrongType(items[0], at+"[0]", "a string or an array of token ids")
		}
		return c.prompt(items[0], at+"[0]", vocab)
	}
	return tokens(&c.Tokens, vocab)(v, at)
}

// tokens takes an array of ids of the vocabulary.
func tokens(dst *[]int32, vocab int) field {
	most := int64(1<<31 - 1)
	if vocab > 0 {
		most = int64(vocab) - 1
	}
	return func(v value, at string) *Error {
		*dst = []int32{}
		return list(func(v value, at string) *Error {
			var id int32
			err := integer(&id, 0, most)(v, at)
			*dst = append(*dst, id)
			return err
		})(v, at)
	}
}
