// Package shaders holds the Metal kernels of fieldfare: their MSL 3.0 sources, the parameter blocks that host and
// kernels share, and one table that says what each kernel is bound to and how many threads a threadgroup of it has.
//
// It refuses to know devices, models and schedules: package metal binds and dispatches. Start reading at Kernels; the
// arithmetic is explained above each kernel in the .metal files.
package shaders
