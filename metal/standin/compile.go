package standin

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
)

// onBuild compiles MSL for the framework: newLibraryWithSource ends here.
func (l *library) onBuild(r *buildRequest) uintptr {
	s := msl.Source{Text: text(r.source), Version: uint32(r.version), Macros: map[string]string{}}
	for line := range strings.Lines(text(r.macros)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		s.Macros[name] = value
	}
	built, err := l.tools.Build(s, r.checked != 0)
	if err != nil {
		message := err.Error()
		var failed *driver.CompileError
		if errors.As(err, &failed) {
			message = failed.Text
		}
		put(r.err[:], message)
		return 1
	}
	put(r.path[:], built.Path)
	return 0
}

// onLine names the source line of a place in a kernel library.
func onLine(path *byte, place uintptr, to *byte, n uintptr) uintptr {
	put(unsafe.Slice(to, n), msl.SourceLine(text(path), uint64(place)))
	return 0
}
