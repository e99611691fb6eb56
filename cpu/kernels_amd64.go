//go:build !noasm

package cpu

import "golang.org/x/sys/cpu"

//go:generate go -C internal/asm run . -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg cpu

// machineKernels is the one place that asks what an x86-64 processor has.
func machineKernels() []*kernelSet {
	x := cpu.X86
	if x.HasAVX2 && x.HasFMA && x.HasF16C {
		return []*kernelSet{avx2Int16Kernels, avx2Kernels}
	}
	return nil
}
