// Package metal is the Backend on Apple GPUs: it binds the kernels of package shaders to the model's tensors and queues
// them, stage by stage, on a device that package driver describes. Weights and expert slots are used in place.
//
// It refuses to know sessions, prompts, files, and what stands behind the device: package mtl on a Mac, the same on a
// stand-in framework in tests, CUDA on an NVIDIA GPU. The CPU backend is its judge.
//
// The route of a decode step: attend and route go in one command buffer, which is waited for, because the CPU must know
// the experts; shared goes next, so that the GPU works while experts are read; then one command buffer for experts that
// come together; and tail joins the next layer's attend. Nothing else is waited for but the head.
//
// Every kernel fixes the order of its sums per element, whatever the number of rows, so that bits depend on neither
// chunks nor residency; tensors.go says where Metal 4's tensor operations may break that, when asked to. Start reading at
// executor.go and stream.go; check.go compares every kernel with plain Go.
package metal
