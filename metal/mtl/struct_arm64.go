package mtl

import "unsafe"

// structSender sends messages whose result is a struct in memory.
const structSender = "objc_msgSend"

// dispatch sends dispatchThreads:threadsPerThreadgroup:. Structs of more than 16 bytes travel as the address of a copy.
func (e *Encoder) dispatch() {
	e.args[2], e.args[3] = uintptr(unsafe.Pointer(&e.grid)), uintptr(unsafe.Pointer(&e.threads))
	e.call(msgDispatchThreads, 4)
}
