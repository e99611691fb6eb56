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

var schemaKinds = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// limitKeywords narrow what is allowed in ways that the format cannot say.
var limitKeywords = []string{
	"format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "minProperties",
	"maxProperties", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies",
	"not", "if", "contentEncoding", "contentMediaType",
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
