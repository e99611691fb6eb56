package mtl

import "github.com/ebitengine/purego"

// structSender sends messages whose result is a struct in memory.
const structSender = "objc_msgSend_stret"

// dispatch sends dispatchThreads:threadsPerThreadgroup:. The two structs of 24 bytes travel on the stack, behind the
// four registers that self and the selector leave free.
func (e *Encoder) dispatch() {
	e.args = words{0: e.id, 1: msgDispatchThreads.sel,
		6: e.grid.width, 7: e.grid.height, 8: e.grid.depth,
		9: e.threads.width, 10: e.threads.height, 11: e.threads.depth}
	purego.SyscallN(c.msgSend, e.args[:12]...)
}
