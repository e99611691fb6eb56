package vision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// Plan is a picture that was admitted: what it will cost is known, no pixel has been decoded.
type Plan struct {
	Header   *picture.Header
	Geometry resize.Geometry
	Budget   int
	// Source is the SHA-256 of the file's bytes.
	Source [32]byte
	// Digest identifies the picture together with the way it is prepared: equal digests give equal patches.
	Digest [32]byte

	data []byte
	opts PictureOptions
}

// Admit judges a picture from its header bytes, within the soft-token budget. The plan keeps data, which must stay as
// it is until it was prepared. Errors wrap a sentinel of package picture or resize; picture.Hint says what to do.
func Admit(data []byte, budget int, opts PictureOptions) (*Plan, error) {
	opts = opts.withDefaults()
	if err := resize.CheckBudget(budget); err != nil {
		return nil, err
	}
	h, err := picture.Inspect(data, opts.Picture)
	if err != nil {
		return nil, err
	}
	width, height := h.Oriented()
	g, err := resize.Target(width, height, budget, opts.Patch, opts.Pool)
	if err != nil {
		return nil, err
	}
	p := &Plan{Header: h, Geometry: g, Budget: budget, Source: sha256.Sum256(data), data: data, opts: opts}
	p.Digest = p.digest()
	return p, nil
}

// processingVersion joins every digest. It rises when the same file would give other patches than before.
const processingVersion = 1

func (p *Plan) digest() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "picture %d: %x, %dx%d, patch %d, pool %d, %s, alpha %s, frame %d",
		processingVersion, p.Source, p.Geometry.Width, p.Geometry.Height, p.opts.Patch, p.opts.Pool, p.opts.Filter,
		p.alpha(), max(1, p.opts.Picture.Frame)))
}

// alpha is what happens to transparency, "none" if there is none.
func (p *Plan) alpha() string {
	if !p.Header.Alpha {
		return "none"
	}
	return p.opts.Picture.Alpha.String()
}

// WorkingBytes is the most that preparing holds at once beside the file's bytes, for plans of memory.
func (p *Plan) WorkingBytes() int64 {
	width, height := p.Header.Oriented()
	g := p.Geometry
	// What the filter reaches: 4 source rows to a target row, and some.
	down := int64(4*max(1, height/g.Height)+8) * int64(max(width, g.Width)) * 3
	across := int64(4*max(1, width/g.Width)+8) * int64(max(height, g.Height)) * 3
	weights := 4 * 4 * int64(width+height+g.Width+g.Height) * 4
	return p.Header.WorkingBytes() + max(down, across) + weights + 2*3*int64(g.Width)*int64(g.Height)
}

// Receipt is what the user is told about one picture.
type Receipt struct {
	SHA256          string   `json:"sha256"`
	Format          string   `json:"format"`
	Width           int      `json:"width"` // as stored
	Height          int      `json:"height"`
	Orientation     int      `json:"orientation"`
	Frames          int      `json:"frames"`
	Alpha           string   `json:"alpha"` // none, white or drop
	Filter          string   `json:"filter"`
	ProcessedWidth  int      `json:"processed_width"`
	ProcessedHeight int      `json:"processed_height"`
	Budget          int      `json:"budget"`
	SoftTokens      int      `json:"soft_tokens"`
	Shrink          float64  `json:"shrink"`            // linear; below 1 the picture was enlarged
	Seconds         float64  `json:"seconds,omitempty"` // decoding and resizing
	Notes           []string `json:"notes,omitempty"`
}

// Receipt describes the plan; Seconds is zero.
func (p *Plan) Receipt() Receipt {
	h, g := p.Header, p.Geometry
	return Receipt{
		SHA256: hex.EncodeToString(p.Source[:]), Format: h.Format.String(), Width: h.Width, Height: h.Height,
		Orientation: int(h.Orientation), Frames: h.Frames, Alpha: p.alpha(), Filter: p.opts.Filter.String(),
		ProcessedWidth: g.Width, ProcessedHeight: g.Height, Budget: p.Budget, SoftTokens: g.SoftTokens,
		Shrink: g.Shrink(h.Width, h.Height), Notes: h.Notes,
	}
}

// Preview gives the receipts of a picture at several budgets, for a dry run. It decodes nothing.
func Preview(data []byte, budgets []int, opts PictureOptions) ([]Receipt, error) {
	var receipts []Receipt
	for _, b := range budgets {
		p, err := Admit(data, b, opts)
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, p.Receipt())
	}
	return receipts, nil
}
