package standin

import "errors"

// ErrNotLinux: the stand-in uses what only Linux has (memfd_create, ELF), and a Mac has the real thing.
var ErrNotLinux = errors.New("the metal stand-in runs on linux only")

// errABI: framework/control.h and structs.go differ.
var errABI = errors.New("the metal stand-in's structs are not those of package standin")
