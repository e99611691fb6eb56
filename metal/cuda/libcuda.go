package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// The functions of the CUDA driver that are used, named as there.
var cu struct {
	Init                   func(uint32) int32
	DeviceGet              func(*int32, int32) int32
	DeviceGetName          func(*byte, int32, int32) int32
	DeviceGetAttribute     func(*int32, int32, int32) int32
	DeviceTotalMem         func(*uintptr, int32) int32
	DevicePrimaryCtxRetain func(*uintptr, int32) int32
	CtxSetCurrent          func(uintptr) int32
	CtxSynchronize         func() int32
	MemAlloc               func(*uintptr, uintptr) int32
	MemFree                func(uintptr) int32
	MemsetD8               func(uintptr, uint8, uintptr) int32
	MemcpyHtoD             func(uintptr, unsafe.Pointer, uintptr) int32
	MemcpyDtoH             func(unsafe.Pointer, uintptr, uintptr) int32
	MemcpyDtoD             func(uintptr, uintptr, uintptr) int32
	ModuleLoadData         func(*uintptr, unsafe.Pointer) int32
	ModuleUnload           func(uintptr) int32
	ModuleGetFunction      func(*uintptr, uintptr, string) int32
	FuncGetAttribute       func(*int32, int32, uintptr) int32
	LaunchKernel           func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr,
		params, extra unsafe.Pointer) int32
	EventCreate      func(*uintptr, uint32) int32
	EventRecord      func(uintptr, uintptr) int32
	EventElapsedTime func(*float32, uintptr, uintptr) int32
	EventDestroy     func(uintptr) int32
	GetErrorString   func(int32, *uintptr) int32
}

// Attributes of devices and functions, CUdevice_attribute and CUfunction_attribute.
const (
	attributeMajor           = 75
	attributeMinor           = 76
	functionMaxThreads       = 0
	functionSharedSizeBytes  = 1
	functionLocalSizeBytes   = 3
	functionNumberOfRegister = 4
)

// loadCUDA finds the driver and its functions, once.
var loadCUDA = sync.OnceValue(func() error {
	l, err := openFirst("libcuda.so.1", "libcuda.so")
	if err != nil {
		return err
	}
	for name, fn := range map[string]any{
		"cuInit": &cu.Init, "cuDeviceGet": &cu.DeviceGet, "cuDeviceGetName": &cu.DeviceGetName,
		"cuDeviceGetAttribute": &cu.DeviceGetAttribute, "cuDeviceTotalMem_v2": &cu.DeviceTotalMem,
		"cuDevicePrimaryCtxRetain": &cu.DevicePrimaryCtxRetain, "cuCtxSetCurrent": &cu.CtxSetCurrent,
		"cuCtxSynchronize": &cu.CtxSynchronize, "cuMemAlloc_v2": &cu.MemAlloc, "cuMemFree_v2": &cu.MemFree,
		"cuMemsetD8_v2": &cu.MemsetD8, "cuMemcpyHtoD_v2": &cu.MemcpyHtoD, "cuMemcpyDtoH_v2": &cu.MemcpyDtoH,
		"cuMemcpyDtoD_v2": &cu.MemcpyDtoD, "cuModuleLoadData": &cu.ModuleLoadData, "cuModuleUnload": &cu.ModuleUnload,
		"cuModuleGetFunction": &cu.ModuleGetFunction, "cuFuncGetAttribute": &cu.FuncGetAttribute,
		"cuLaunchKernel": &cu.LaunchKernel, "cuEventCreate": &cu.EventCreate, "cuEventRecord": &cu.EventRecord,
		"cuEventElapsedTime": &cu.EventElapsedTime, "cuEventDestroy_v2": &cu.EventDestroy,
		"cuGetErrorString": &cu.GetErrorString,
	} {
		purego.RegisterLibFunc(fn, l, name)
	}
	return check("initialise", cu.Init(0))
})

// Results of the CUDA driver, CUresult.
const (
	resultOutOfMemory    = 2
	resultIllegalAddress = 700
	resultLaunchTimeout  = 702
	resultMisaligned     = 716
)

// check turns the first failure among results of the driver into an error of package driver's kinds.
func check(what string, results ...int32) error {
	for _, r := range results {
		if r != 0 {
			return fmt.Errorf("cuda: %s: %w: error %d: %s", what, kind(r), r, describe(r))
		}
	}
	return nil
}

func kind(result int32) error {
	switch result {
	case resultOutOfMemory:
		return driver.ErrOutOfMemory
	case resultIllegalAddress, resultMisaligned:
		return driver.ErrPageFault
	case resultLaunchTimeout:
		return driver.ErrTimeout
	}
	return driver.ErrExecution
}

func describe(result int32) string {
	var p uintptr
	if cu.GetErrorString(result, &p); p == 0 {
		return "unknown"
	}
	b := *(**byte)(unsafe.Pointer(&p))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(b), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(b, n))
}
