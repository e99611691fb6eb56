package cuda

import (
	"errors"

	"github.com/ebitengine/purego"
)

// openFirst loads the first library that is there.
func openFirst(names ...string) (uintptr, error) {
	var errs []error
	for _, n := range names {
		l, err := purego.Dlopen(n, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}
