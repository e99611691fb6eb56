// Package testdata holds what ships inside the program: the demo model, a small trained member of the family. It knows
// no other package; gturbo/install.Materialise writes the install to a disk. Everything else in this folder is read
// from disk by tests.
package testdata

import (
	"embed"
	"io/fs"
)

//go:embed demo.gturbo
var files embed.FS

// Demo returns the demo model's install: a .gturbo directory at the root, without a receipt, because a receipt is
// bound to the path that it was written for.
func Demo() fs.FS {
	sub, err := fs.Sub(files, "demo.gturbo")
	if err != nil {
		panic("BUG: the demo model is not embedded: " + err.Error())
	}
	return sub
}
