package msl

import "errors"

// ErrNoCompiler: clang++ 16 or newer was not found, and the cache does not hold what was asked for.
var ErrNoCompiler = errors.New("no clang++-19 in PATH")
