package mtl

import (
	"fmt"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Library is an id<MTLLibrary>. https://developer.apple.com/documentation/metal/mtllibrary
type Library struct {
	id     uintptr // owned
	device *Device
}

// NewLibrary compiles MSL.
// https://developer.apple.com/documentation/metal/mtldevice/makelibrary(source:options:)
func (d *Device) NewLibrary(source string, o driver.LibraryOptions) (driver.Library, error) {
	p := push()
	defer p.drain()
	options := compileOptions(o)
	text := newString(source)
	failed := new(uintptr)
	id := send(d.id, msgNewLibrary, text, options, uintptr(unsafe.Pointer(failed)))
	release(text)
	release(options)
	if id == 0 {
		said := readError(*failed).text
		return nil, &driver.CompileError{Problems: driver.ParseProblems(said), Text: said}
	}
	return &Library{id, d}, nil // warnings that came with success are dropped
}

// compileOptions makes an MTLCompileOptions, which the caller owns.
// https://developer.apple.com/documentation/metal/mtlcompileoptions
func compileOptions(o driver.LibraryOptions) uintptr {
	id := create(classCompileOptions)
	version := uintptr(o.Version)
	if version == 0 {
		version = languageVersion3_0
	}
	send(id, msgSetVersion, version)
	if o.PreciseMath {
		send(id, msgSetFastMath, 0)
	}
	if len(o.Macros) > 0 {
		send(id, msgSetMacros, stringDictionary(o.Macros))
	}
	return id
}

// Functions lists the kernels.
// https://developer.apple.com/documentation/metal/mtllibrary/functionnames
func (l *Library) Functions() []string {
	p := push()
	defer p.drain()
	names := send(l.id, msgFunctionNames)
	list := make([]string, send(names, msgArrayCount))
	for i := range list {
		list[i] = goString(send(names, msgArrayAt, uintptr(i)))
	}
	return list
}

// Free releases the library; its pipelines stay.
func (l *Library) Free() { release(l.id) }

// Pipeline specialises one kernel and makes its pipeline state.
// https://developer.apple.com/documentation/metal/mtldevice/makecomputepipelinestate(function:)
func (l *Library) Pipeline(name string, constants ...driver.Constant) (driver.Pipeline, error) {
	p := push()
	defer p.drain()
	function, err := l.function(name, constants)
	if err != nil {
		return nil, err
	}
	defer release(function)
	failed := new(uintptr)
	id := send(l.device.id, msgNewPipeline, function, uintptr(unsafe.Pointer(failed)))
	if id == 0 {
		return nil, fmt.Errorf("make pipeline %s: %v", name, readError(*failed))
	}
	return &Pipeline{id, name, int(send(id, msgPipelineThreads)), int(send(id, msgPipelineWidth)),
		int(send(id, msgPipelineTGMemory))}, nil
}

// function gives an id<MTLFunction>, which the caller owns.
// https://developer.apple.com/documentation/metal/mtllibrary/makefunction(name:constantvalues:)
func (l *Library) function(name string, constants []driver.Constant) (uintptr, error) {
	text := newString(name)
	defer release(text)
	if len(constants) == 0 {
		id := send(l.id, msgNewFunction, text)
		if id == 0 {
			return 0, fmt.Errorf("kernel %s: %w", name, driver.ErrNoFunction)
		}
		return id, nil
	}
	values := constantValues(constants)
	defer release(values)
	failed := new(uintptr)
	id := send(l.id, msgNewSpecialised, text, values, uintptr(unsafe.Pointer(failed)))
	if id == 0 {
		return 0, fmt.Errorf("kernel %s: %w: %v", name, driver.ErrNoFunction, readError(*failed))
	}
	return id, nil
}

// constantValues makes an MTLFunctionConstantValues, which the caller owns.
// https://developer.apple.com/documentation/metal/mtlfunctionconstantvalues
func constantValues(constants []driver.Constant) uintptr {
	id := create(classConstants)
	for _, k := range constants {
		bits := new(uint64) // read as little endian, by the size of its type
		*bits = k.Bits
		send(id, msgSetConstant, uintptr(unsafe.Pointer(bits)), dataTypes[k.Kind], uintptr(k.Index))
	}
	return id
}

// Pipeline is an id<MTLComputePipelineState>.
// https://developer.apple.com/documentation/metal/mtlcomputepipelinestate
type Pipeline struct {
	id                          uintptr // owned
	name                        string
	threads, width, threadgroup int
}

// Name is the kernel's.
func (p *Pipeline) Name() string { return p.name }

// MaxThreads is the most threads per threadgroup.
func (p *Pipeline) MaxThreads() int { return p.threads }

// SIMDWidth is the number of threads of a simdgroup.
func (p *Pipeline) SIMDWidth() int { return p.width }

// ThreadgroupMemory is the kernel's static threadgroup memory in bytes.
func (p *Pipeline) ThreadgroupMemory() int { return p.threadgroup }

// Free releases the pipeline; command buffers that use it hold it until they are complete.
func (p *Pipeline) Free() { release(p.id) }
