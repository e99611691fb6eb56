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

//go:embed demo.vision.gturbo
var visionFiles embed.FS

// Demo returns the demo model's install: a .gturbo directory at the root, without a receipt, because a receipt is
// bound to the path that it was written for.
func Demo() fs.FS { return below(files, "demo.gturbo") }

// DemoVision returns the demo model's image pack in the same way.
func DemoVision() fs.FS { return below(visionFiles, "demo.vision.gturbo") }

func below(f embed.FS, dir string) fs.FS {
	sub, err := fs.Sub(f, dir)
	if err != nil {
		panic("BUG: the demo model is not embedded: " + err.Error())
	}
	return sub
}
