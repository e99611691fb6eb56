package picture

import (
	"fmt"
	"io"
)

// layer is one frame of an animated file.
type layer struct {
	x, y, width, height int
	rows                rows
	over                bool // blended, rather than replacing what is there
	after               disposal
}

// disposal says what becomes of a layer's area before the next one is drawn; the values are PNG's.
type disposal byte

const (
	keep disposal = iota
	wipe
	restore
)

// canvas is the picture that the frames of an animated file add up to. It starts out transparent.
type canvas struct {
	width, height int
	rgb, alpha    []byte
	y             int // the next row to yield
}

func canvasBytes(h *Header) int64 { return 2 * 4 * int64(h.Width) * int64(h.Height) }

// maxComposedPixels bounds the work that choosing a late frame can ask for.
const maxComposedPixels = 1 << 30

// compose draws the frames up to frame, from 1, and yields the picture that shows then.
func compose(h *Header, frame int, at func(i int) (layer, error)) (rows, error) {
	c := &canvas{width: h.Width, height: h.Height}
	c.rgb, c.alpha = make([]byte, 3*h.Width*h.Height), make([]byte, h.Width*h.Height)
	drawn := 0
	for i := range frame {
		l, err := at(i)
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", i+1, err)
		}
		if drawn += l.width * l.height; drawn > maxComposedPixels {
			return nil, fmt.Errorf("%w: the frames up to %d have more than %d pixels", ErrPixels, frame, maxComposedPixels)
		}
		last := i == frame-1
		var before *canvas
		if l.after == restore && !last {
			before = &canvas{rgb: append([]byte{}, c.rgb...), alpha: append([]byte{}, c.alpha...)}
		}
		if err := c.draw(l, i == 0); err != nil {
			return nil, fmt.Errorf("frame %d: %w", i+1, err)
		}
		switch {
		case last:
		case before != nil:
			c.rgb, c.alpha = before.rgb, before.alpha
		case l.after == wipe:
			c.wipe(l)
		}
	}
	return c, nil
}

// draw puts a layer on the canvas. The first replaces what is there, so that the colours stored under transparency
// are those that Drop shows.
func (c *canvas) draw(l layer, first bool) error {
	rgb, alpha := make([]byte, 3*l.width), make([]byte, l.width)
	for y := range l.height {
		for x := range alpha {
			alpha[x] = 255
		}
		if err := l.rows.ReadRow(rgb, alpha); err != nil {
			return err
		}
		base := (l.y+y)*c.width + l.x
		if first || !l.over {
			copy(c.rgb[3*base:], rgb)
			copy(c.alpha[base:], alpha)
			continue
		}
		for x, a := range alpha {
			blend(c.rgb[3*(base+x):][:3], &c.alpha[base+x], rgb[3*x:][:3], a)
		}
	}
	return nil
}

// blend puts a colour of opacity a over another; neither is multiplied by its opacity.
func blend(under []byte, opacity *byte, over []byte, a byte) {
	switch {
	case a == 0:
		return
	case a == 255 || *opacity == 0:
		copy(under, over)
		*opacity = a
		return
	}
	share := int(*opacity) * (255 - int(a)) / 255
	sum := int(a) + share
	for c := range under {
		under[c] = byte((int(over[c])*int(a) + int(under[c])*share + sum/2) / sum)
	}
	*opacity = byte(sum)
}

func (c *canvas) wipe(l layer) {
	for y := range l.height {
		base := (l.y+y)*c.width + l.x
		clear(c.rgb[3*base:][:3*l.width])
		clear(c.alpha[base:][:l.width])
	}
}

func (c *canvas) ReadRow(rgb, alpha []byte) error {
	if c.y == c.height {
		return io.EOF
	}
	copy(rgb, c.rgb[3*c.y*c.width:][:3*c.width])
	copy(alpha, c.alpha[c.y*c.width:])
	c.y++
	return nil
}
