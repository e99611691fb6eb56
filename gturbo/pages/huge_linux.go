package pages

import "golang.org/x/sys/unix"

// hugePage is the size of a transparent huge page with 4 KiB base pages, on amd64 and arm64.
const hugePage = 2 << 20

// adviseHuge asks for huge pages. The caller passes whole ones only: a huge page that reaches past the region would
// cost memory that nobody counts. Failure is fine: some kernels are built without them.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
