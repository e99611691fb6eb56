package text

import (
	"fmt"
	"slices"
	"strings"
)

// NormalizeSchema turns a client's JSON Schema for the arguments of a tool into what the chat format can say: types,
// descriptions, string enums, properties, required, items and nullable. It takes every JSON value and never fails.
//
// Local references, allOf and nullable types are written out. What the format cannot say becomes looser, so that
// every value that the client allows stays allowed: unions of different types lose their type, recursion is cut, limits
// and patterns are left out. Each such place gives one note, "PATH: what happened", for whoever wrote the schema.
//
// The result is null for a tool without parameters and else an object schema that Template.Render shows with
// balanced braces. Normalizing it again changes nothing.
func NormalizeSchema(schema Value) (normal Value, notes []string) {
	if schema.IsNull() || schema.Kind() == KindObject && len(schema.Members()) == 0 {
		return Value{}, nil
	}
	r := schemaReader{root: schema, budget: maxSchemaNodes}
	shape := r.read(schema, "parameters", 0)
	if shape.kind != "object" {
		if shape.kind != "" {
			r.note("parameters", "a tool takes an object, not %s; shown without properties", shape.kind)
		}
		shape = schemaShape{kind: "object", description: shape.description}
	}
	return shape.topValue(), r.finishNotes()
}

const (
	maxSchemaNodes = 4096 // schemas that are read, references written out
	maxSchemaDepth = 32
	maxSchemaNotes = 20
)

// A schemaShape is what the format can say about a value.
type schemaShape struct {
	kind        string // one of schemaKinds, or empty for any value
	description string
	enum        []string // kind string only; empty for any string
	items       *schemaShape
	nullable    bool
	properties  []schemaProperty
	required    []string
}

type schemaProperty struct {
	key   string
	shape schemaShape
}

var schemaKinds = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// limitKeywords narrow what is allowed in ways that the format cannot say.
var limitKeywords = []string{
	"format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "minProperties",
	"maxProperties", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies",
	"not", "if", "contentEncoding", "contentMediaType",
}

func (s schemaShape) topValue() Value {
	s.nullable = false
	v := s.value()
	return ObjectValue(slices.DeleteFunc(v.members, func(m Member) bool {
		return m.Key == "properties" && len(m.Value.Members()) == 0
	})...)
}

func (s schemaShape) value() Value {
	var members []Member
	add := func(key string, v Value) { members = append(members, Member{key, v}) }
	if s.description != "" {
		add("description", StringValue(s.description))
	}
	if len(s.enum) > 0 {
		add("enum", stringList(s.enum))
	}
	if s.items != nil {
		if items := s.items.value(); len(items.Members()) > 0 {
			add("items", items)
		}
	}
	if s.nullable {
		add("nullable", BoolValue(true))
	}
	if s.kind == "object" { // always with properties, for T3 invents some where there are none
		properties := make([]Member, len(s.properties))
		for i, p := range s.properties {
			properties[i] = Member{p.key, p.shape.value()}
		}
		add("properties", ObjectValue(properties...))
		if len(s.required) > 0 {
			add("required", stringList(s.required))
		}
	}
	if s.kind != "" {
		add("type", StringValue(s.kind))
	}
	return ObjectValue(members...)
}

func stringList(list []string) Value {
	values := make([]Value, len(list))
	for i, s := range list {
		values[i] = StringValue(s)
	}
	return ListValue(values...)
}

type schemaReader struct {
	root    Value
	budget  int
	resolve []string // references that are being written out
	notes   []string
}

func (r *schemaReader) note(path, format string, args ...any) {
	note := path + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

func (r *schemaReader) finishNotes() []string {
	if more := len(r.notes) - maxSchemaNotes; more > 0 {
		return append(r.notes[:maxSchemaNotes:maxSchemaNotes], fmt.Sprintf("and %d more", more))
	}
	return r.notes
}

// read returns the shape of one schema.
func (r *schemaReader) read(v Value, path string, depth int) schemaShape {
	r.budget--
	switch {
	case r.budget < 0 || depth > maxSchemaDepth:
		r.note(path, "the schema is too large or too deep; any value is allowed from here on")
		return schemaShape{}
	case v.Kind() != KindObject:
		if v.Kind() != KindBool || !v.truthy() {
			r.note(path, "%.40s is not a schema; any value is allowed", v)
		}
		return schemaShape{}
	}
	shape := r.ownShape(v, path, depth)
	if ref, ok := v.Get("$ref"); ok {
		shape = r.both(shape, r.reference(ref, path, depth), path)
	}
	for _, part := range v.at("allOf").Items() {
		shape = r.both(shape, r.read(part, path, depth+1), path)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if variants := v.at(keyword).Items(); len(variants) > 0 {
			shape = r.both(shape, r.anyOf(variants, path, depth), path)
		}
	}
	r.noteLimits(v, path)
	return shape
}

func (r *schemaReader) noteLimits(v Value, path string) {
	var limits []string
	for _, keyword := range limitKeywords {
		if _, ok := v.Get(keyword); ok {
			limits = append(limits, keyword)
		}
	}
	if len(v.at("additionalProperties").Members()) > 0 {
		limits = append(limits, "additionalProperties")
	}
	if len(limits) > 0 {
		r.note(path, "not shown to the model: %s", strings.Join(limits, ", "))
	}
}

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
