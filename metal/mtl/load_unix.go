//go:build !windows

package mtl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// CoreGraphics is there because macOS gives a command line program no default device without it.
var systemLibraries = []string{
	"/usr/lib/libobjc.A.dylib",
	"/System/Library/Frameworks/Foundation.framework/Foundation",
	"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
	"/System/Library/Frameworks/Metal.framework/Metal",
}

// openLibraries loads the system's libraries, or the one that plays them all.
func openLibraries(framework string) (libraries []uintptr, err error) {
	paths := []string{framework}
	if framework == "" {
		if runtime.GOOS != "darwin" {
			return nil, errNotDarwin
		}
		paths = systemLibraries
	}
	for _, p := range paths {
		l, err := purego.Dlopen(p, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, err
		}
		libraries = append(libraries, l)
	}
	return libraries, nil
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }
