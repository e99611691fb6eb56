package text

import "slices"

// declaration writes a tool as the system turn shows it to the model. Schemas are taken as they are: what the
// template does with one that NormalizeSchema has not seen includes unbalanced braces.
func (r *renderer) declaration(tool Tool) {
	r.literal(declarationPrefix)
	r.user(tool.Name)
	r.literal("{description:")
	r.quoted(tool.Description)
	if tool.Parameters.truthy() {
		r.parameters(tool.Parameters)
	}
	if r.template == T3 && !tool.Response.IsNull() {
		r.responseSchema(tool.Response)
	}
	r.literal("}")
}

func (r *renderer) parameters(schema Value) {
	r.literal(",parameters:{")
	if properties := schema.at("properties"); len(properties.Members()) > 0 {
		r.literal("properties:{")
		r.properties(properties.Members())
		r.literal("},")
	}
	if required := schema.at("required"); required.truthy() {
		r.required(required)
		r.literal(",")
	}
	if kind := schema.at("type"); kind.truthy() {
		r.literal("type:")
		r.quoted(upper(pythonText(kind)))
		r.literal("}") // the template closes parameters only behind a type
	}
}

func (r *renderer) responseSchema(schema Value) {
	r.literal(",response:{")
	if description := schema.at("description"); description.truthy() {
		r.literal("description:")
		r.quoted(pythonText(description))
		r.literal(",")
	}
	if kind := typeName(schema); kind == "OBJECT" {
		r.literal("type:")
		r.quoted(kind)
		r.literal("}")
	}
}

func (r *renderer) properties(members []Member) {
	for i, m := range sortedMembers(members) {
		r.commaAfter(i)
		r.user(m.Key)
		r.literal(":{")
		r.property(m.Value)
		r.literal("}")
	}
}

// typeName is the schema's type in capitals, empty if it has none.
func typeName(schema Value) string {
	kind, ok := schema.Get("type")
	if !ok {
		return ""
	}
	return upper(pythonText(kind))
}

// property writes the schema of one property. Keywords that are not named here are not shown to the model.
func (r *renderer) property(schema Value) {
	kind := typeName(schema)
	if description := schema.at("description"); description.truthy() {
		r.literal("description:")
		r.quoted(pythonText(description))
		r.literal(",")
	}
	if enum := schema.at("enum"); kind == "STRING" && enum.truthy() {
		r.literal("enum:")
		r.schemaValue(enum)
		r.literal(",")
	}
	if items := schema.at("items"); kind == "ARRAY" && len(items.Members()) > 0 {
		r.literal("items:{")
		r.items(items.Members())
		r.literal("},")
	}
	if schema.at("nullable").truthy() {
		r.literal("nullable:true,")
	}
	if kind == "OBJECT" {
		r.literal("properties:{")
		r.properties(r.objectProperties(schema))
		r.literal("},")
		if required := schema.at("required"); required.truthy() {
			r.required(required)
			r.literal(",")
		}
	}
	r.literal("type:")
	r.quoted(kind)
}

// objectProperties returns what is written as the properties of an object. For an object without any T3 takes
// the schema's other keywords for properties.
func (r *renderer) objectProperties(schema Value) []Member {
	if properties := schema.at("properties"); properties.Kind() == KindObject {
		return properties.Members()
	}
	if r.template != T3 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(schema.Members()), func(m Member) bool {
		switch m.Key {
		case "description", "type", "properties", "required", "nullable":
			return true
		}
		return false
	})
}

// items writes the schema of an array's elements: all of its keywords, most of them as plain values.
func (r *renderer) items(members []Member) {
	members = slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Value.IsNull() })
	for i, m := range sortedMembers(members) {
		r.commaAfter(i)
		switch m.Key {
		case "properties":
			r.literal("properties:{")
			r.properties(m.Value.Members())
			r.literal("}")
		case "required":
			r.required(m.Value)
		case "type":
			r.literal("type:")
			r.schemaValue(upperValue(m.Value))
		default:
			r.user(m.Key)
			r.literal(":")
			r.schemaValue(m.Value)
		}
	}
}

func upperValue(v Value) Value {
	if v.Kind() != KindList {
		return StringValue(upper(pythonText(v)))
	}
	capitals := make([]Value, len(v.items))
	for i, item := range v.items {
		capitals[i] = StringValue(upper(pythonText(item)))
	}
	return ListValue(capitals...)
}

func (r *renderer) required(names Value) {
	r.literal("required:[")
	for i, name := range names.Items() {
		r.commaAfter(i)
		r.quoted(pythonText(name))
	}
	r.literal("]")
}
