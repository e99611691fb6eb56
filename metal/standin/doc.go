// Package standin plays Apple's Metal for tests on machines without it: a shared library in C++ (framework/) with an
// Objective-C message sender and the classes that package mtl uses, which runs MSL on the emulator of package msl. The
// production code of mtl and of everything above it runs on it unchanged.
//
// It is strict where Metal is silent. These end the process with a readable report: unknown selectors, messages to
// released objects, objects of the wrong class, autoreleases without a pool, wrong storage modes, bindings beyond a
// buffer or missing, too many threads or too much threadgroup memory, encoding after commit or with an open encoder,
// waiting for what was never committed, the CPU touching what queued work uses and, in the checked build, dependent
// dispatches of a concurrent encoder without a barrier between. What a kernel itself does wrong (races, bounds,
// uninitialised threadgroup memory, misalignment) becomes the error of its command buffer.
//
// Start reading at Open. It needs clang++-19 and is for tests only.
package standin
