//go:build !unix

package picture

// openFlags: this system has no pipes in its file tree.
const openFlags = 0
