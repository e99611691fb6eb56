// Package synth makes the synthetic model: a checkpoint with the shapes of Gemma 4 26B-A4B, or of any other member of
// the family, whose every value is a pure function of tensor name and index. It is an install.Source, so the weights
// pass through the same installer as real ones, and nothing is stored: a range is computed when it is read. Speed,
// memory and full-scale parity can so be measured by anyone, offline; the text that comes out is noise by construction.
//
// For comparisons, WriteGGUF writes a model of the same shapes in the format of llama.cpp.
//
// It refuses to know the installer's plan, the runtime and the meaning of the tensors. The same recipe exists in
// Python; both give the same bits. Start reading at New and, for the numbers, at
// words.go.
package synth
