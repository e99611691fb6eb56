//go:build !noasm

package cpu

import "golang.org/x/sys/unix"

// matrixFeatures tells whether the processor has FEAT_I8MM and FEAT_BF16 (M2 and later). A name that this macOS does not
// know is a feature that it does not offer.
func matrixFeatures() (i8mm, bf16 bool) {
	has := func(feature string) bool {
		v, err := unix.SysctlUint32("hw.optional.arm." + feature)
		return err == nil && v != 0
	}
	return has("FEAT_I8MM"), has("FEAT_BF16")
}
