//go:build unix

package picture

import "syscall"

// openFlags keep an open from blocking on a pipe and from following a link, should the path change under us.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
