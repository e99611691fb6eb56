package text

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// anyOf reads variants of which one has to hold. The variant null makes the others nullable.
func (r *schemaReader) anyOf(variants []Value, path string, depth int) schemaShape {
	var shape schemaShape
	nullable, first := false, true
	for _, v := range variants {
		variant := r.read(v, path, depth+1)
		switch {
		case variant.kind == "null":
			nullable = true
		case first:
			shape, first = variant, false
		default:
			shape = r.either(shape, variant, path)
		}
	}
	if first {
		return schemaShape{kind: "null"}
	}
	shape.nullable = shape.nullable || nullable
	return shape
}

// either returns a shape that allows what a allows and what b allows.
func (r *schemaReader) either(a, b schemaShape, path string) schemaShape {
	out := schemaShape{
		kind: a.kind, nullable: a.nullable || b.nullable, description: firstOf(a.description, b.description),
	}
	switch {
	case a.kind == b.kind:
	case isNumeric(a.kind) && isNumeric(b.kind):
		out.kind = "number"
	default:
		if a.kind != "" && b.kind != "" {
			r.note(path, "%s or %s cannot be shown; any value is allowed", a.kind, b.kind)
		}
		out.kind = ""
		return out
	}
	if len(a.enum) > 0 && len(b.enum) > 0 {
		out.enum = unite(a.enum, b.enum)
	}
	if a.items != nil && b.items != nil {
		items := r.either(*a.items, *b.items, path+"[]")
		out.items = &items
	}
	if a.kind == "object" {
		r.note(path, "variants of an object are shown as one with the properties of all")
		out.properties = r.uniteProperties(a.properties, b.properties, path, r.either)
		out.required = inBoth(a.required, b.required)
	}
	return out
}

// both returns a shape for what a and b allow together, or looser.
func (r *schemaReader) both(a, b schemaShape, path string) schemaShape {
	out := schemaShape{
		kind: a.kind, nullable: a.nullable || b.nullable, description: firstOf(a.description, b.description),
	}
	switch {
	case a.kind == "" || isNumeric(a.kind) && b.kind == "integer":
		out.kind = b.kind
	case b.kind == "" || a.kind == b.kind || a.kind == "integer" && isNumeric(b.kind):
	default:
		r.note(path, "it cannot be %s and %s at once; shown as %s", a.kind, b.kind, a.kind)
		b = schemaShape{}
	}
	out.enum = bothEnums(a.enum, b.enum)
	switch {
	case a.items != nil && b.items != nil:
		items := r.both(*a.items, *b.items, path+"[]")
		out.items = &items
	case a.items != nil:
		out.items = a.items
	default:
		out.items = b.items
	}
	out.properties = r.uniteProperties(a.properties, b.properties, path, r.both)
	out.required = unite(a.required, b.required)
	return out
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func isNumeric(kind string) bool { return kind == "number" || kind == "integer" }

func unite(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func inBoth(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// bothEnums keeps what is in a and b. Without anything in common nothing would be allowed; a is looser.
func bothEnums(a, b []string) []string {
	switch common := inBoth(a, b); {
	case len(common) > 0:
		return common
	case len(a) > 0:
		return a
	}
	return b
}

// uniteProperties lists the properties of a, then those that only b has; combine makes one of two with one key.
func (r *schemaReader) uniteProperties(a, b []schemaProperty, path string,
	combine func(a, b schemaShape, path string) schemaShape) []schemaProperty {
	out := slices.Clone(a)
	at := make(map[string]int, len(a))
	for i, p := range a {
		at[p.key] = i
	}
	for _, p := range b {
		if i, shared := at[p.key]; shared {
			out[i].shape = combine(out[i].shape, p.shape, path+"."+p.key)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// reference reads the schema that ref names. One that leads back to itself is cut.
func (r *schemaReader) reference(ref Value, path string, depth int) schemaShape {
	name, _ := ref.Text()
	target, found := r.lookUp(name)
	if !found {
		r.note(path, "reference %.80s leads nowhere; any value is allowed", ref)
		return schemaShape{}
	}
	if slices.Contains(r.resolve, name) {
		shape := schemaShape{}
		if kind, _ := target.at("type").Text(); slices.Contains(schemaKinds, kind) {
			shape.kind = kind
		}
		r.note(path, "reference %.80s leads back to itself and is cut", ref)
		return shape
	}
	r.resolve = append(r.resolve, name)
	shape := r.read(target, path, depth+1)
	r.resolve = r.resolve[:len(r.resolve)-1]
	return shape
}

// lookUp follows a JSON pointer into the whole schema.
func (r *schemaReader) lookUp(ref string) (Value, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		return Value{}, false
	}
	v, found := r.root, true
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if v.Kind() == KindList {
			i, err := strconv.ParseUint(step, 10, 31)
			if err != nil || i >= uint64(len(v.items)) {
				return Value{}, false
			}
			v = v.items[i]
		} else if v, found = v.Get(step); !found {
			return Value{}, false
		}
	}
	return v, true
}
