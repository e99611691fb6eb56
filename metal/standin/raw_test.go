//go:build linux

package standin

import (
	"github.com/ebitengine/purego"
)

// A raw framework is Objective-C without package mtl in between, to do what mtl never would.
type raw struct {
	handle uintptr
}

func newRaw(o Options) raw {
	l, err := loaded()
	if err != nil {
		panic(err)
	}
	c := o.config()
	c.Build, c.Line = l.build, l.line
	l.configure(&c)
	handle, err := openLibrary(l.path)
	if err != nil {
		panic(err)
	}
	return raw{handle}
}

// call calls a C function of the runtime.
func (r raw) call(name string, args ...uintptr) uintptr {
	fn, err := purego.Dlsym(r.handle, name)
	if err != nil {
		panic(err)
	}
	result, _, _ := purego.SyscallN(fn, args...)
	return result
}

// send sends a message; selector is the text.
func (r raw) send(id uintptr, selector string, args ...uintptr) uintptr {
	var register func(string) uintptr
	purego.RegisterLibFunc(&register, r.handle, "sel_registerName")
	return r.call("objc_msgSend", append([]uintptr{id, register(selector)}, args...)...)
}

func (r raw) device() uintptr { return r.call("MTLCreateSystemDefaultDevice") }

// commandBuffer makes a command buffer inside a pool that stays open.
func (r raw) commandBuffer() uintptr {
	r.call("objc_autoreleasePoolPush")
	return r.send(r.send(r.device(), "newCommandQueue"), "commandBuffer")
}
