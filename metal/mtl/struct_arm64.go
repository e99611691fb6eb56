package mtl

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// structSender sends messages whose result is a struct in memory.
const structSender = "objc_msgSend"

// dispatch sends dispatchThreads:threadsPerThreadgroup:. Structs of more than 16 bytes travel as the address of a copy.
func (e *Encoder) dispatch() {
	e.args[0], e.args[1] = e.id, msgDispatchThreads.sel
	e.args[2], e.args[3] = uintptr(unsafe.Pointer(&e.grid)), uintptr(unsafe.Pointer(&e.threads))
	purego.SyscallN(c.msgSend, e.args[:4]...)
}
