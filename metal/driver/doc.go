// Package driver is the seam between the Metal backend and whatever runs its kernels: devices, buffers, libraries,
// pipelines, command buffers and encoders, in Metal's words and with Metal's rules. It knows no model, no tensor and
// no shader.
//
// Three things stand behind it: package mtl on Apple's framework, the same package on the stand-in framework that
// tests load elsewhere, and package cuda on an NVIDIA GPU. Start reading at Device.
//
// Rules for callers, which the stand-in holds them to:
//
//   - Objects that must be given back have Free or Close; the giving back waits for nothing. A buffer may be freed
//     while queued work uses it: the work keeps it alive. Wrapped memory may be unmapped only once that work is done.
//   - A command buffer belongs to one goroutine until Commit; a goroutine has at most one encoder open, and it ends
//     it itself: an encoder holds its operating system thread.
//   - Command buffers of one queue run in the order of their commits, one after the other as far as memory is
//     concerned. Dispatches of a serial encoder do too; those of a concurrent encoder only across Barrier.
//   - The CPU neither reads what queued work writes nor writes what it reads, by the page: ranges with owners of
//     their own (a slot, a parameter block that is rewritten) are buffers of their own. Small parameters go by
//     SetBytes.
package driver
