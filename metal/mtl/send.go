package mtl

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// words holds the arguments of one call. They are reused, because an argument list handed to purego escapes.
type words [16]uintptr

var spare = sync.Pool{New: func() any { return new(words) }}

// call calls the C function at address fn with one word.
func call(fn, arg uintptr) uintptr {
	w := spare.Get().(*words)
	w[0] = arg
	r, _, _ := purego.SyscallN(fn, w[:1]...)
	spare.Put(w)
	return r
}

// send sends m to id. Addresses of Go memory may be among args, converted in the call itself; for them the list is
// allocated.
//
//go:uintptrescapes
func send(id uintptr, m *message, args ...uintptr) uintptr {
	if len(args) != m.words {
		panic(fmt.Sprintf("BUG: mtl: %s takes %d words, not %d", m.selector, m.words, len(args)))
	}
	w := spare.Get().(*words)
	w[0], w[1] = id, m.sel
	n := 2 + copy(w[2:], args)
	r, _, _ := purego.SyscallN(c.msgSend, w[:n]...)
	spare.Put(w)
	return r
}

// sendWord sends m with one word that is no address of Go memory, and allocates nothing.
func sendWord(id uintptr, m *message, arg uintptr) uintptr {
	w := spare.Get().(*words)
	w[0], w[1], w[2] = id, m.sel, arg
	r, _, _ := purego.SyscallN(c.msgSend, w[:3]...)
	spare.Put(w)
	return r
}

// sendForBool is send for results of type bool, of which only the low byte counts.
func sendForBool(id uintptr, m *message, args ...uintptr) bool { return send(id, m, args...)&0xff != 0 }

// create makes an instance of a class, which the caller owns.
func create(k *classRef) uintptr { return send(call(c.alloc, k.id), msgInit) }

func retain(id uintptr) uintptr { return call(c.retain, id) }

func release(id uintptr) { call(c.release, id) }

// A pool is an autorelease pool. Between push and drain the goroutine keeps its operating system thread, because a
// pool belongs to the thread that pushed it.
type pool struct{ token uintptr }

func push() pool {
	runtime.LockOSThread()
	return pool{call(c.push, 0)}
}

func (p pool) drain() {
	call(c.pop, p.token)
	runtime.UnlockOSThread()
}
