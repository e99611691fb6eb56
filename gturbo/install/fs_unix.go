//go:build unix

package install

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNoFollow refuses a symlink in the last component, and keeps a FIFO there from hanging the open.
const openNoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some network and FUSE file systems have nothing to sync in a directory
	}
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

func freeBytes(name string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
