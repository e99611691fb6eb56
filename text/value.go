package text

import (
	"strconv"
)

// A Kind says what a Value holds.
type Kind uint8

// The kinds of JSON, with whole numbers told from others as Python does.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindList
	KindObject
)

// A Value is a piece of JSON-like data: a tool's schema, the arguments of a call, a result. Unlike any it keeps
// the order of an object's members and whole numbers of every size. The zero Value is null. A Value never
// changes once it is made.
type Value struct {
	kind    Kind
	text    string // KindString: the text; KindBool, KindInt, KindFloat: the literal as JSON spells it
	items   []Value
	members []Member
}

// A Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// StringValue returns s as a Value.
func StringValue(s string) Value { return Value{kind: KindString, text: s} }

// BoolValue returns b as a Value.
func BoolValue(b bool) Value { return Value{kind: KindBool, text: strconv.FormatBool(b)} }

// ListValue returns a list of items, which it keeps.
func ListValue(items ...Value) Value { return Value{kind: KindList, items: items} }

// ObjectValue returns an object of members in their order, which it keeps. As in Python, a key that comes again
// replaces the value and stays in the first place.
func ObjectValue(members ...Member) Value {
	return Value{kind: KindObject, members: dropRepeatedKeys(members)}
}

func dropRepeatedKeys(members []Member) []Member {
	at := make(map[string]int, len(members))
	kept := members[:0]
	for _, m := range members {
		if i, again := at[m.Key]; again {
			kept[i].Value = m.Value
			continue
		}
		at[m.Key] = len(kept)
		kept = append(kept, m)
	}
	return kept
}

// Kind says what v holds.
func (v Value) Kind() Kind { return v.kind }

// IsNull says whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Text returns the text of a string; ok is false for every other kind.
func (v Value) Text() (s string, ok bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.text, true
}

// Items returns the elements of a list, nil for every other kind. The caller must not change them.
func (v Value) Items() []Value { return v.items }

// Members returns the members of an object in order, nil for every other kind. The caller must not change them.
func (v Value) Members() []Member { return v.members }

// Get returns the value of key; ok is false if v is no object or has no such key.
func (v Value) Get(key string) (value Value, ok bool) {
	for _, m := range v.members {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// at returns the value of key, null if there is none.
func (v Value) at(key string) Value {
	value, _ := v.Get(key)
	return value
}

// truthy is Python's truth: null, false, zero and everything empty are false.
func (v Value) truthy() bool {
	switch v.kind {
	case KindBool:
		return v.text == "true"
	case KindInt, KindFloat:
		f, err := strconv.ParseFloat(v.text, 64)
		return f != 0 || err != nil
	case KindString:
		return v.text != ""
	case KindList:
		return len(v.items) > 0
	case KindObject:
		return len(v.members) > 0
	}
	return false
}
