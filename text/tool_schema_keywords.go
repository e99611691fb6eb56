package text

import (
	"slices"
	"strings"
)

// ownShape reads what a schema says without looking at the schemas that it combines.
func (r *schemaReader) ownShape(v Value, path string, depth int) schemaShape {
	kinds, nullable := r.kinds(v, path)
	var shape schemaShape
	for i, kind := range kinds {
		variant := r.ofKind(kind, v, path, depth)
		if i == 0 {
			shape = variant
		} else {
			shape = r.either(shape, variant, path)
		}
	}
	shape.nullable = nullable || v.at("nullable").Kind() == KindBool && v.at("nullable").truthy()
	shape.description, _ = v.at("description").Text()
	return shape
}

// kinds returns the types that v names, or those that its other keywords tell; null is told apart unless it is
// the only one.
func (r *schemaReader) kinds(v Value, path string) (kinds []string, nullable bool) {
	named := v.at("type")
	list := named.Items()
	if named.Kind() == KindString {
		list = []Value{named}
	}
	for _, item := range list {
		kind := strings.ToLower(item.text)
		switch {
		case item.Kind() != KindString || !slices.Contains(schemaKinds, kind):
			if kind != "any" {
				r.note(path, "unknown type %.40s; any value is allowed", item)
			}
			return nil, false
		case !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		kinds = impliedKinds(v)
	}
	if at := slices.Index(kinds, "null"); at >= 0 && len(kinds) > 1 {
		return slices.Delete(kinds, at, at+1), true
	}
	return kinds, false
}

func impliedKinds(v Value) (kinds []string) {
	for _, value := range enumValues(v) {
		kind := [...]string{
			KindNull: "null", KindBool: "boolean", KindInt: "integer", KindFloat: "number", KindString: "string",
			KindList: "array", KindObject: "object",
		}[value.Kind()]
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case kinds != nil:
	case v.at("properties").Kind() == KindObject || v.at("additionalProperties").Kind() == KindObject,
		v.at("required").Kind() == KindList:
		kinds = []string{"object"}
	case v.at("items").truthy() || v.at("prefixItems").truthy():
		kinds = []string{"array"}
	}
	return kinds
}

// enumValues returns the values that v is bound to, nil if to none.
func enumValues(v Value) []Value {
	if value, ok := v.Get("const"); ok {
		return []Value{value}
	}
	return v.at("enum").Items()
}

func (r *schemaReader) ofKind(kind string, v Value, path string, depth int) schemaShape {
	shape := schemaShape{kind: kind}
	values := enumValues(v)
	for _, value := range values {
		if s, ok := value.Text(); ok && kind == "string" && !slices.Contains(shape.enum, s) {
			shape.enum = append(shape.enum, s)
		}
	}
	if len(values) > 0 && kind != "string" && kind != "null" {
		r.note(path, "not shown to the model: the %d values that %s may have", len(values), kind)
	}
	switch kind {
	case "object":
		r.readObject(&shape, v, path, depth)
	case "array":
		r.readItems(&shape, v, path, depth)
	}
	return shape
}

func (r *schemaReader) readObject(shape *schemaShape, v Value, path string, depth int) {
	if properties, ok := v.Get("properties"); ok && properties.Kind() != KindObject {
		r.note(path, "properties are not an object")
	}
	for _, m := range v.at("properties").Members() {
		p := schemaProperty{m.Key, r.read(m.Value, path+"."+m.Key, depth+1)}
		shape.properties = append(shape.properties, p)
	}
	for _, name := range v.at("required").Items() {
		if s, ok := name.Text(); ok && !slices.Contains(shape.required, s) {
			shape.required = append(shape.required, s)
		}
	}
}

func (r *schemaReader) readItems(shape *schemaShape, v Value, path string, depth int) {
	items := v.at("items")
	tuple := append(slices.Clone(v.at("prefixItems").Items()), items.Items()...)
	if len(tuple) > 0 {
		if items.Kind() == KindObject {
			tuple = append(tuple, items)
		}
		r.note(path, "the elements' order of types cannot be shown")
		elements := r.anyOf(tuple, path+"[]", depth)
		shape.items = &elements
	} else if len(items.Members()) > 0 {
		elements := r.read(items, path+"[]", depth+1)
		shape.items = &elements
	}
}
