// Package picture judges image files from their header bytes and decodes those it admits to rows of 8-bit RGB.
//
// Inspect decides by content alone (names and labels count for nothing), allocates next to nothing and names every
// refusal with its numbers; Decode yields stored rows from top to bottom. JPEG and non-interlaced PNG stream, so that
// a 48-megapixel file needs no full-size surface. Colour profiles and gamma are ignored, of 16-bit samples the high
// byte counts: so do the reference processors.
//
// It refuses to know resizing, patches, budgets and the network. Orientation is reported, not applied: package resize
// undoes it on the way. Start reading at Inspect.
package picture

import (
	"fmt"

	"github.com/fieldfare/fieldfare/vision/resize"
)

// Format is a file format that Inspect recognizes.
type Format int

const (
	JPEG Format = iota + 1
	PNG
	WebP
	GIF
	BMP
	TIFF
)

var formatNames = map[Format]string{JPEG: "JPEG", PNG: "PNG", WebP: "WebP", GIF: "GIF", BMP: "BMP", TIFF: "TIFF"}

func (f Format) String() string {
	if name, ok := formatNames[f]; ok {
		return name
	}
	return fmt.Sprintf("format(%d)", int(f))
}

// Orientation is the value of the Exif tag: how stored rows become what people see. Values are 1 to 8.
type Orientation int

// Turn gives the orientation in the terms of package resize.
func (o Orientation) Turn() resize.Turn {
	return resize.Turn{
		Transpose: o >= 5,
		FlipX:     o == 2 || o == 3 || o == 7 || o == 8,
		FlipY:     o == 3 || o == 4 || o == 6 || o == 7,
	}
}

// Header is what Inspect found.
type Header struct {
	Format        Format
	Width, Height int // as stored
	Bits          int // of one sample
	Frames        int
	Orientation   Orientation
	Alpha         bool     // some pixels may be transparent
	Notes         []string // what was odd and is ignored, for the user

	working int64 // most bytes that the decoder holds
	parsed  any   // what the format's own code keeps for decoding
}

// Oriented is the size that people see: sides swap for orientations 5 to 8.
func (h *Header) Oriented() (width, height int) {
	if h.Orientation >= 5 {
		return h.Height, h.Width
	}
	return h.Width, h.Height
}

// WorkingBytes is the most that decoding holds at once beside the file's bytes, for plans of memory.
func (h *Header) WorkingBytes() int64 { return h.working }

// Limits bound what Inspect admits. A zero field means its default.
type Limits struct {
	EncodedBytes int64 // bytes of the file; default 64 MiB
	Side         int   // pixels of either side; default 32,768
	Pixels       int64 // default 50,000,000
	DecodedBytes int64 // pixels * max(1, bits/8) * 4; default 200,000,000
}

func (l Limits) withDefaults() Limits {
	set := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	side := int64(l.Side)
	set(&side, 32768)
	l.Side = int(side)
	set(&l.EncodedBytes, 64<<20)
	set(&l.Pixels, 50_000_000)
	set(&l.DecodedBytes, 200_000_000)
	return l
}

// Alpha says what becomes of transparency.
type Alpha int

const (
	White Alpha = iota // default: composited on white
	Drop               // ignored, stored colours as they are: what the reference processors do
)

// String is the name used by flags and reports.
func (a Alpha) String() string {
	switch a {
	case White:
		return "white"
	case Drop:
		return "drop"
	}
	return fmt.Sprintf("alpha(%d)", int(a))
}

// ParseAlpha is the inverse of Alpha.String.
func ParseAlpha(name string) (Alpha, error) {
	for _, a := range []Alpha{White, Drop} {
		if name == a.String() {
			return a, nil
		}
	}
	return 0, fmt.Errorf("%w %q: expected white or drop", ErrAlpha, name)
}

// Options of Inspect and Decode; both must get the same.
type Options struct {
	Limits Limits
	Alpha  Alpha
	Frame  int  // which frame of an animated file or page of a TIFF, from 1; 0 admits only files with one
	TIFF   bool // admit TIFF
}
