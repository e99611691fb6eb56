// Package msl turns compute kernels in the Metal Shading Language into something a machine without Apple hardware can
// run: C++ that clang compiles into an emulator of threadgroups and simdgroups, and CUDA C++ that NVRTC compiles for an
// NVIDIA GPU. On the way it lints the text against rules of Apple's compiler that neither would enforce.
//
// It knows the language and no particular kernel; it runs nothing itself: package standin executes the host libraries,
// package cuda the CUDA text. It serves tests and tools and is no part of a shipped program. README.md says what is
// covered and what can still break on real hardware. Start reading at Toolchain.
package msl
