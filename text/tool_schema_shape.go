package text

import "slices"

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
