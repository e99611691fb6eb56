package mtl

import "github.com/fieldfare/fieldfare/metal/driver"

// Apple's constants, by their names in the headers.
const (
	utf8Encoding = 4 // NSUTF8StringEncoding

	resourceStorageModeShared = 0

	dispatchTypeSerial     = 0
	dispatchTypeConcurrent = 1
	barrierScopeBuffers    = 1

	commandBufferStatusCompleted = 4
	commandBufferStatusError     = 5

	gpuFamilyApple1 = 1001
	gpuFamilyApple9 = 1009
	gpuFamilyMetal3 = 5001

	// Newer than the headers that the test compares with.
	gpuFamilyApple10 = 1010
	gpuFamilyMetal4  = 5002

	languageVersion3_0 = 3 << 16
)

// Codes of the error domain MTLCommandBufferErrorDomain.
const (
	commandBufferErrorTimeout       = 2
	commandBufferErrorPageFault     = 3
	commandBufferErrorAccessRevoked = 4
	commandBufferErrorNotPermitted  = 7
	commandBufferErrorOutOfMemory   = 8
	commandBufferErrorDeviceRemoved = 11
)

// dataTypes holds MTLDataType by kind of constant.
var dataTypes = map[driver.ConstantKind]uintptr{
	driver.KindBool:   53,
	driver.KindInt:    29,
	driver.KindUint:   33,
	driver.KindUshort: 41,
	driver.KindFloat:  3,
}
