package text

import "math/bits"

// A pairTable maps pairs of numbers below 2^21 (ids or runes) to values below 2^22-1. It is an open-addressed
// hash table of one word per slot: the half million merges of Gemma take 8 MB.
type pairTable struct {
	slots []uint64 // pair<<pairValueBits | value+1; 0 is empty
	shift uint8
}

const (
	pairHalfBits  = 21
	pairValueBits = 22
	maxPairValue  = 1<<pairValueBits - 2
)

// newPairTable makes room for n pairs; putting more is a bug.
func newPairTable(n int) pairTable {
	log := uint8(bits.Len(uint(n + n/2)))
	return pairTable{make([]uint64, 1<<log), 64 - log}
}

func (p *pairTable) start(pair uint64) int { return int(pair * 0x9e3779b97f4a7c15 >> p.shift) }

// put sets the value of (a, b), replacing an earlier one.
func (p *pairTable) put(a, b, value uint32) {
	pair := uint64(a)<<pairHalfBits | uint64(b)
	mask := len(p.slots) - 1
	for i := p.start(pair); ; i = (i + 1) & mask {
		if s := p.slots[i]; s == 0 || s>>pairValueBits == pair {
			p.slots[i] = pair<<pairValueBits | uint64(value+1)
			return
		}
	}
}

func (p *pairTable) get(a, b uint32) (value uint32, ok bool) {
	pair := uint64(a)<<pairHalfBits | uint64(b)
	mask := len(p.slots) - 1
	for i := p.start(pair); ; i = (i + 1) & mask {
		s := p.slots[i]
		if s == 0 {
			return 0, false
		}
		if s>>pairValueBits == pair {
			return uint32(s&(1<<pairValueBits-1)) - 1, true
		}
	}
}
