package vision

import (
	"context"
	"time"

	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// Prepared is a picture as the tower takes it.
type Prepared struct {
	Patches      []byte // [GridW*GridH, Patch*Patch*3], row-major over the grid
	GridW, GridH int
	SoftTokens   int
	Digest       [32]byte
	Receipt      Receipt
}

// Prepare decodes the picture, turns it upright, resizes it and cuts it into patches. A finished context ends it
// between two rows and is returned as it is; other errors wrap a sentinel of package picture.
func (p *Plan) Prepare(ctx context.Context) (*Prepared, error) {
	start := time.Now()
	rows, err := picture.Decode(p.data, p.Header, p.opts.Picture)
	if err != nil {
		return nil, err
	}
	h, g := p.Header, p.Geometry
	rgb, err := resize.Rows(cancellable{ctx, rows}, h.Width, h.Height, h.Orientation.Turn(), g.Width, g.Height, p.opts.Filter)
	if err != nil {
		return nil, err
	}
	receipt := p.Receipt()
	patches := Patches(rgb, g.GridW, g.GridH, p.opts.Patch)
	receipt.Seconds = time.Since(start).Seconds()
	return &Prepared{Patches: patches, GridW: g.GridW, GridH: g.GridH, SoftTokens: g.SoftTokens, Digest: p.Digest,
		Receipt: receipt}, nil
}

// Prepare admits and prepares a picture in one step.
func Prepare(ctx context.Context, data []byte, budget int, opts PictureOptions) (*Prepared, error) {
	p, err := Admit(data, budget, opts)
	if err != nil {
		return nil, err
	}
	return p.Prepare(ctx)
}

// cancellable ends a source when its context does.
type cancellable struct {
	ctx context.Context
	src resize.Source
}

func (c cancellable) ReadRow(dst []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return c.src.ReadRow(dst)
}
