//go:build !noasm

package cpu

import "golang.org/x/sys/cpu"

//go:generate go -C internal/asm run . -set avx2 -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg cpu
//go:generate go -C internal/asm run . -set avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg cpu

// machineKernels is the one place that asks what an x86-64 processor has.
func machineKernels() (sets []*kernelSet) {
	x := cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA && x.HasF16C
	avx512 := avx2 && x.HasBMI2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
	if avx512 && x.HasAVX512VNNI {
		sets = append(sets, avx512Int8Kernels, avx512VNNIKernels)
	}
	if avx512 {
		sets = append(sets, avx512Int16Kernels, avx512Kernels)
	}
	if avx2 {
		sets = append(sets, avx2Int8Kernels, avx2Int16Kernels, avx2Kernels)
	}
	return sets
}
