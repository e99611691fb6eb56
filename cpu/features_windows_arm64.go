//go:build !noasm

package cpu

import "golang.org/x/sys/windows"

// Of winnt.h: PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE and PF_ARM_V86_BF16_INSTRUCTIONS_AVAILABLE.
const (
	processorFeatureI8MM = 66
	processorFeatureBF16 = 68
)

// matrixFeatures tells whether the processor has FEAT_I8MM and FEAT_BF16. A Windows that does not know them says no.
func matrixFeatures() (i8mm, bf16 bool) {
	return windows.IsProcessorFeaturePresent(processorFeatureI8MM), windows.IsProcessorFeaturePresent(processorFeatureBF16)
}
