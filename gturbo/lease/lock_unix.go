//go:build unix

package lease

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openLock opens the lock file for writing, creating it. O_NONBLOCK keeps a FIFO at the name from hanging the open.
func openLock(path string) (*os.File, error) {
	return open(path, os.O_RDWR|os.O_CREATE)
}

func openExisting(path string) (*os.File, error) {
	return open(path, os.O_RDONLY)
}

func open(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symlink", ErrUnsafe, path)
	}
	return f, err
}

func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return false, err
	}
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
