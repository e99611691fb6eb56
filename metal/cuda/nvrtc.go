package cuda

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
)

// The functions of NVRTC that are used, named as there.
var rtc struct {
	CreateProgram     func(prog *uintptr, src, name string, n int32, headers, names unsafe.Pointer) int32
	CompileProgram    func(prog uintptr, n int32, options unsafe.Pointer) int32
	GetProgramLogSize func(uintptr, *uintptr) int32
	GetProgramLog     func(uintptr, *byte) int32
	GetCUBINSize      func(uintptr, *uintptr) int32
	GetCUBIN          func(uintptr, *byte) int32
	DestroyProgram    func(*uintptr) int32
}

var loadNVRTC = sync.OnceValue(func() error {
	names := []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}
	for _, pattern := range []string{
		"/usr/local/cuda*/lib64/libnvrtc.so*", "/usr/local/cuda*/targets/*/lib/libnvrtc.so*",
	} {
		found, _ := filepath.Glob(pattern)
		names = append(names, found...)
	}
	l, err := openFirst(names...)
	if err != nil {
		return err
	}
	for name, fn := range map[string]any{
		"nvrtcCreateProgram": &rtc.CreateProgram, "nvrtcCompileProgram": &rtc.CompileProgram,
		"nvrtcGetProgramLogSize": &rtc.GetProgramLogSize, "nvrtcGetProgramLog": &rtc.GetProgramLog,
		"nvrtcGetCUBINSize": &rtc.GetCUBINSize, "nvrtcGetCUBIN": &rtc.GetCUBIN, "nvrtcDestroyProgram": &rtc.DestroyProgram,
	} {
		purego.RegisterLibFunc(fn, l, name)
	}
	return nil
})

// compile turns CUDA text into machine code.
func compile(text string, options []string) ([]byte, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	headers := []string{"msl_cuda.h", "msl_common.h"}
	texts := []string{msl.Shim(headers[0]), msl.Shim(headers[1])}
	var prog uintptr
	if r := rtc.CreateProgram(&prog, text, "msl.cu", 2, cStrings(&pins, texts), cStrings(&pins, headers)); r != 0 {
		return nil, fmt.Errorf("nvrtc: create a program: error %d", r)
	}
	defer rtc.DestroyProgram(&prog)
	if r := rtc.CompileProgram(prog, int32(len(options)), cStrings(&pins, options)); r != 0 {
		said := programLog(prog)
		return nil, &driver.CompileError{Problems: driver.ParseProblems(said), Text: said}
	}
	var n uintptr
	if r := rtc.GetCUBINSize(prog, &n); r != 0 || n == 0 {
		return nil, fmt.Errorf("nvrtc: no machine code: error %d", r)
	}
	code := make([]byte, n)
	rtc.GetCUBIN(prog, &code[0])
	return code, nil
}

func programLog(prog uintptr) string {
	var n uintptr
	rtc.GetProgramLogSize(prog, &n)
	text := make([]byte, n+1)
	rtc.GetProgramLog(prog, &text[0])
	return strings.TrimRight(string(text), "\x00")
}

// cStrings makes an array of C strings that stays where it is until pins are given up.
func cStrings(pins *runtime.Pinner, list []string) unsafe.Pointer {
	pointers := make([]*byte, len(list)+1)
	for i, s := range list {
		text := append([]byte(s), 0)
		pins.Pin(&text[0])
		pointers[i] = &text[0]
	}
	pins.Pin(&pointers[0])
	return unsafe.Pointer(&pointers[0])
}
