// Package vision is the image extension: it admits pictures from their header bytes, prepares them as patches, runs
// the tower and puts its soft tokens into the prompt. The text runtime does not know it; it attaches through hooks.
//
// The picture half starts at Admit. Files are judged and decoded by package picture, resized by package resize; here
// a budget and the way to prepare are added, and the result becomes patches with a receipt for the user.
//
// The extension half starts at Extension: it opens the image pack, binds its tensors to a backend's tower, decides
// what is in memory when (Residency), and encodes. It refuses to know how the tower's arithmetic is done.
package vision

import (
	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// PictureOptions say how pictures are prepared. The zero value prepares as the reference does, but for transparency,
// which is composited on white.
type PictureOptions struct {
	Picture picture.Options
	Filter  resize.Filter
	Patch   int // pixels a side of a patch; default 16
	Pool    int // patches a side of a pooled token; default 3
}

func (o PictureOptions) withDefaults() PictureOptions {
	if o.Patch == 0 {
		o.Patch = 16
	}
	if o.Pool == 0 {
		o.Pool = 3
	}
	return o
}
