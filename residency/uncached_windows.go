package residency

import (
	"os"

	"golang.org/x/sys/windows"
)

var reOpenFile = windows.NewLazySystemDLL("kernel32.dll").NewProc("ReOpenFile")

// setUncached opens f's file again past the page cache and closes f: Windows decides this when a file is opened.
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-reopenfile
func setUncached(f *os.File) (*os.File, error) {
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, _, err := reOpenFile.Call(f.Fd(), windows.GENERIC_READ, share, windows.FILE_FLAG_NO_BUFFERING)
	if windows.Handle(h) == windows.InvalidHandle {
		return nil, err
	}
	name := f.Name()
	f.Close()
	return os.NewFile(h, name), nil
}

// dropCached does nothing: Windows has no call for it.
func dropCached(*os.File, int64, int64) {}
