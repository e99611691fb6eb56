// Package core is the text runtime: it binds an install's weights, runs the forward program on a Backend, keeps the
// books of KV caches, and turns a prompt into tokens. Prefill and decode walk one list of named stages (stages.go);
// experts come from package residency while the shared expert computes.
//
// It refuses to know how arithmetic is done (a Backend does it), what an image is (an extension attaches to Hooks),
// and who asks (HTTP, a terminal). Greedy output does not depend on cache size, policy, chunk size, on what was
// reused, or on what ran before: for one backend the bits are the same.
//
// Start reading at Load, Session and program.
package core
