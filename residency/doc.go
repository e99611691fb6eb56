// Package residency decides which routed experts are in memory and brings in those that are not: fixed page-aligned
// slots per layer, an eviction policy, and parallel positional reads that run under the work on other experts. With
// memory for all of them, the layer files are mapped and read in place through the same calls. The memory plan, which
// turns one budget into slots, chunk and context, lives here too.
//
// It refuses to know tensors, prompts and devices: an expert is stride bytes of a file, and what still reads a slot
// is a Fence. Output never depends on anything decided here, only speed does.
//
// Start reading at Streamer and Fetch.
package residency
