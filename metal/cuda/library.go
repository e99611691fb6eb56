package cuda

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
)

// Library is MSL translated to CUDA. Its kernels are compiled one by one, when pipelines are made of them.
type Library struct {
	device *Device
	*msl.Translation

	mu      sync.Mutex
	modules []uintptr
}

// NewLibrary translates MSL. Options.PreciseMath has no meaning here: results are precise.
func (d *Device) NewLibrary(source string, o driver.LibraryOptions) (driver.Library, error) {
	tr, err := d.tools.Translate(msl.Source{Text: source, Version: o.Version, Macros: o.Macros})
	if err != nil {
		return nil, err
	}
	return &Library{device: d, Translation: tr}, nil
}

// Functions lists the kernels.
func (l *Library) Functions() []string {
	var names []string
	for _, k := range l.Reflection.Kernels {
		names = append(names, k.Name)
	}
	return names
}

// Free unloads the machine code; no pipeline of the library is used after it.
func (l *Library) Free() {
	l.device.main.work <- func() {
		for _, m := range l.modules {
			cu.ModuleUnload(m)
		}
	}
}

// Pipeline compiles one kernel for this GPU, specialised for constants.
func (l *Library) Pipeline(name string, constants ...driver.Constant) (driver.Pipeline, error) {
	i := slices.IndexFunc(l.Reflection.Kernels, func(k msl.Kernel) bool { return k.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("kernel %s: %w", name, driver.ErrNoFunction)
	}
	code, err := compile(l.CUDA, l.device.options(name, constants))
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	p := &Pipeline{kernel: l.Reflection.Kernels[i]}
	return p, l.device.main.do(func() error {
		var module uintptr
		if err := check("load "+name, cu.ModuleLoadData(&module, unsafe.Pointer(&code[0]))); err != nil {
			return err
		}
		l.mu.Lock()
		l.modules = append(l.modules, module)
		l.mu.Unlock()
		return p.read(module)
	})
}

func (d *Device) options(kernel string, constants []driver.Constant) []string {
	list := []string{"--gpu-architecture=" + d.arch, "--std=c++17", "--device-as-default-execution-space", "--fmad=true",
		"--define-macro=MSL_ONLY", "--define-macro=MSL_ONLY_" + kernel}
	if d.lineInfo {
		list = append(list, "--generate-line-info")
	}
	for _, c := range constants {
		f := math.Float32frombits(uint32(c.Bits)) // read by constants of type float only
		if c.Kind != driver.KindFloat {
			f = 0
		}
		list = append(list, fmt.Sprintf("--define-macro=MSL_CONSTANT_%d=%dul", c.Index, c.Bits),
			fmt.Sprintf("--define-macro=MSL_CONSTANT_FLOAT_%d=%sf", c.Index, strconv.FormatFloat(float64(f), 'e', -1, 32)))
	}
	return list
}

// Pipeline is a function of a module.
type Pipeline struct {
	kernel   msl.Kernel
	function uintptr
	// Registers and LocalBytes of each thread, for reports: local memory means spilled registers.
	Registers, LocalBytes int
	threads, static       int
}

func (p *Pipeline) read(module uintptr) error {
	var threads, static, local, registers int32
	if err := check("find "+p.kernel.Name, cu.ModuleGetFunction(&p.function, module, p.kernel.Name)); err != nil {
		return err
	}
	err := check("ask about "+p.kernel.Name, cu.FuncGetAttribute(&threads, functionMaxThreads, p.function),
		cu.FuncGetAttribute(&static, functionSharedSizeBytes, p.function),
		cu.FuncGetAttribute(&local, functionLocalSizeBytes, p.function),
		cu.FuncGetAttribute(&registers, functionNumberOfRegister, p.function))
	p.threads, p.static, p.LocalBytes, p.Registers = int(threads), int(static), int(local), int(registers)
	return err
}

// Name is the kernel's.
func (p *Pipeline) Name() string { return p.kernel.Name }

// MaxThreads is the most threads per threadgroup that the registers allow.
func (p *Pipeline) MaxThreads() int { return p.threads }

// SIMDWidth is a warp.
func (p *Pipeline) SIMDWidth() int { return 32 }

// ThreadgroupMemory is the kernel's static shared memory in bytes.
func (p *Pipeline) ThreadgroupMemory() int { return p.static }

// Free does nothing: the machine code is the library's.
func (p *Pipeline) Free() {}
