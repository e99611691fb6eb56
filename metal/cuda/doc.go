// Package cuda implements package driver on an NVIDIA GPU, so that the Metal backend and its shaders run whole on a
// real parallel machine, under compute-sanitizer and with timings. It needs libcuda and libnvrtc, found when a device
// is opened; MSL reaches them as the CUDA text that package msl makes. It knows no kernel and no model, and no shipped
// program contains it.
//
// The GPU has memory of its own. A buffer lives there; once Bytes was asked for, the CPU has a copy that is sent before
// each command buffer that binds the buffer and fetched after each that may write it. Wrapped memory is sent when it is
// wrapped and where Modified says so, and fetched like the rest. A command buffer runs on its queue's goroutine, and is
// over when the GPU is idle again. Start reading at Open, then queue.go.
package cuda
