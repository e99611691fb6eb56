// Package mtl binds Apple's Metal framework: it implements package driver by sending Objective-C messages through
// purego. The binding is mechanical, one method for one call or two; it knows no kernel, no tensor and no model.
//
// Every message that is sent stands in messages.go with its class and types as Apple's headers declare them, and a test
// compares that table with the headers' own. The same code runs against the stand-in framework (package standin) on
// systems without Metal, which Options.Framework names.
//
// Ownership: an id kept in a struct field is retained, by alloc, new or objc_retain, and released in Free or Close.
// Whatever comes autoreleased is used or retained before the pool around the call is drained; a pool is pushed and
// drained on one locked operating system thread. Start reading at Open, then at Encoder, the hot path.
package mtl
