package standin

import (
	"embed"
	"io/fs"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/fieldfare/fieldfare/metal/msl"
)

//go:embed framework
var framework embed.FS

// A library is the loaded stand-in: there is one per process.
type library struct {
	path  string
	tools *msl.Toolchain

	configure   func(*config)
	addFault    func(*fault)
	clearFaults func()
	live        func(*byte) int64
	methods     func() string
	build, line uintptr // callbacks
}

// loaded builds the stand-in, once per content, and loads it, once per process.
var loaded = sync.OnceValues(func() (*library, error) {
	if runtime.GOOS != "linux" {
		return nil, ErrNotLinux
	}
	tools, err := msl.NewToolchain(msl.ToolchainOptions{})
	if err != nil {
		return nil, err
	}
	sources, err := fs.Sub(framework, "framework")
	if err != nil {
		return nil, err
	}
	path, err := tools.BuildShared("standin", sources)
	if err != nil {
		return nil, err
	}
	handle, err := openLibrary(path)
	if err != nil {
		return nil, err
	}
	l := &library{path: path, tools: tools}
	var abi func() uint64
	for name, fn := range map[string]any{
		"standin_configure": &l.configure, "standin_add_fault": &l.addFault, "standin_clear_faults": &l.clearFaults,
		"standin_live": &l.live, "standin_methods": &l.methods, "standin_abi": &abi,
	} {
		purego.RegisterLibFunc(fn, handle, name)
	}
	if abi() != abiSize() {
		return nil, errABI
	}
	l.build, l.line = purego.NewCallback(l.onBuild), purego.NewCallback(onLine)
	return l, nil
})
