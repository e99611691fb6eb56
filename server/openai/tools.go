package openai

import (
	"regexp"

	model "github.com/fieldfare/fieldfare/text"
)

// toolName is OpenAI's pattern, and a dot: the chat format has no quoting for names.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// tools reads the functions that the model may call.
func (r *reader) tools(dst *[]model.Tool) field {
	declared := make(map[string]bool)
	return list(func(v value, at string) *Error {
		kind, err := partType(v, at)
		if err != nil {
			return err
		}
		if kind != "function" {
			return refuse(CodeUnsupportedValue, at+".type", "tools of type %q are not supported, only functions", shorten(kind))
		}
		var tool model.Tool
		err = fields{
			"type":          ignored,
			"function":      func(v value, at string) *Error { return r.declaration(&tool, v, at) },
			"cache_control": ignored,
		}.read(v, at)
		switch {
		case err != nil:
			return err
		case !toolName.MatchString(tool.Name):
			return refuse(CodeInvalidValue, at+".function.name",
				"%q is not a name of 1 to 128 letters, digits, _, - and dots", shorten(tool.Name))
		case declared[tool.Name]:
			return refuse(CodeDuplicate, at+".function.name", "%q is declared twice", tool.Name)
		}
		declared[tool.Name] = true
		*dst = append(*dst, tool)
		return nil
	})
}

func (r *reader) declaration(tool *model.Tool, v value, at string) *Error {
	var strict bool
	var schema model.Value
	err := fields{
		"name":        text(&tool.Name),
		"description": text(&tool.Description),
		"strict":      boolean(&strict),
		"parameters": func(v value, at string) *Error {
			var failed error
			if schema, failed = model.ParseValue(v); failed != nil {
				return refuse(CodeInvalidValue, at, "%v", failed)
			}
			return nil
		},
	}.read(v, at)
	normal, notes := model.NormalizeSchema(schema)
	tool.Parameters = normal
	for _, n := range notes {
		r.note("tool %s: %s", shorten(tool.Name), n)
	}
	if strict {
		r.note("tool %s: strict is not enforced", shorten(tool.Name))
	}
	return err
}

// toolChoice takes "auto" and "none"; what would have to be enforced is refused.
func toolChoice(none *bool) field {
	return func(v value, at string) *Error {
		if v.kind() != "string" {
			return refuse(CodeUnsupportedValue, at, "a choice of functions cannot be enforced here; auto and none are supported")
		}
		switch choice := v.text(); choice {
		case "auto":
		case "none":
			*none = true
		case "required":
			return refuse(CodeUnsupportedValue, at, `"required" cannot be enforced here; auto and none are supported`)
		default:
			return refuse(CodeInvalidValue, at, "%q is neither auto nor none", shorten(choice))
		}
		return nil
	}
}
