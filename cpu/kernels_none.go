//go:build noasm || !(amd64 || arm64)

package cpu

// machineKernels has nothing to offer here: the plain set is the only one.
func machineKernels() []*kernelSet { return nil }
