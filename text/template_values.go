package text

// value writes v in the syntax of calls and results: strings between quote tokens, bare keys, no blanks.
func (r *renderer) value(v Value) { r.writeValue(v, false) }

// object writes members as an object with bare keys.
func (r *renderer) object(members []Member) { r.writeObject(members, false) }

// schemaValue writes v as it stands inside a declaration, where T3 quotes keys.
func (r *renderer) schemaValue(v Value) { r.writeValue(v, r.template == T3) }

func (r *renderer) writeValue(v Value, quoteKeys bool) {
	switch v.kind {
	case KindNull:
		if r.template == T3 {
			r.literal("None")
		} else {
			r.literal("null")
		}
	case KindBool:
		r.literal(v.text)
	case KindInt, KindFloat:
		r.user(pythonNumber(v))
	case KindString:
		r.quoted(v.text)
	case KindList:
		r.literal("[")
		for i, item := range v.items {
			r.commaAfter(i)
			r.writeValue(item, quoteKeys)
		}
		r.literal("]")
	case KindObject:
		r.writeObject(v.members, quoteKeys)
	}
}

func (r *renderer) writeObject(members []Member, quoteKeys bool) {
	r.literal("{")
	for i, m := range sortedMembers(members) {
		r.commaAfter(i)
		if quoteKeys {
			r.quoted(m.Key)
		} else {
			r.user(m.Key)
		}
		r.literal(":")
		r.writeValue(m.Value, quoteKeys)
	}
	r.literal("}")
}

// commaAfter separates element i from the one before it.
func (r *renderer) commaAfter(i int) {
	if i > 0 {
		r.literal(",")
	}
}
