//go:build !noasm

package cpu

import "golang.org/x/sys/unix"

// Of the kernel's asm/hwcap.h and the processor supplement of the ELF specification.
const (
	auxvHWCap2 = 26
	hwcap2I8MM = 1 << 13
	hwcap2BF16 = 1 << 14
)

// matrixFeatures tells whether the processor has FEAT_I8MM and FEAT_BF16. A process without an auxiliary vector has
// neither.
func matrixFeatures() (i8mm, bf16 bool) {
	vector, err := unix.Auxv()
	if err != nil {
		return false, false
	}
	for _, entry := range vector {
		if entry[0] == auxvHWCap2 {
			return entry[1]&hwcap2I8MM != 0, entry[1]&hwcap2BF16 != 0
		}
	}
	return false, false
}
