//go:build !linux

package cuda

import "errors"

func openFirst(...string) (uintptr, error) { return 0, errors.New("cuda is looked for on linux only") }
