package install

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openNoFollow is zero: openRegular looks at the name's type first.
const openNoFollow = 0

// syncDir does nothing: Windows offers no flush of a directory, its metadata journal keeps renames in order.
func syncDir(string) error { return nil }

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}

func freeBytes(name string) (int64, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	return int64(min(free, 1<<62)), nil
}
