package picture

import "errors"

// Refusals. Each message goes on with the numbers.
var (
	ErrSource       = errors.New("not a regular file")
	ErrEncodedBytes = errors.New("file is too large")
	ErrFormat       = errors.New("not a picture in a known format")
	ErrHEIF         = errors.New("HEIC and HEIF pictures are not decoded here")
	ErrAVIF         = errors.New("AVIF pictures are not decoded here")
	ErrTIFF         = errors.New("TIFF pictures are not admitted")
	ErrUnsupported  = errors.New("picture of a kind that is not decoded here")
	ErrDamaged      = errors.New("damaged picture")
	ErrTruncated    = errors.New("truncated picture")
	ErrZeroSize     = errors.New("picture has no pixels")
	ErrSide         = errors.New("side is too long")
	ErrPixels       = errors.New("too many pixels")
	ErrDecodedBytes = errors.New("decoded picture is too large")
	ErrAnimated     = errors.New("picture has several frames")
	ErrFrame        = errors.New("picture has no such frame")
	ErrAlpha        = errors.New("unknown way to treat transparency")
	// ErrDecoder: a decoder gave up in a way that it should not: it panicked.
	ErrDecoder = errors.New("decoder failed")
)

// Hint says in one line what the user can do about err, or nothing.
func Hint(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint
		}
	}
	return ""
}

var hints = []struct {
	err  error
	hint string
}{
	{ErrHEIF, `convert it first: "sips -s format jpeg IN.heic --out OUT.jpg" on macOS, "heif-convert IN.heic OUT.jpg" elsewhere`},
	{ErrAVIF, `convert it first: "sips -s format png IN.avif --out OUT.png" on macOS, "avifdec IN.avif OUT.png" elsewhere`},
	{ErrTIFF, "TIFF has to be allowed explicitly; or convert the picture to PNG"},
	{ErrAnimated, "choose one frame, counted from 1"},
	{ErrFrame, "frames count from 1"},
	{ErrTruncated, "the file is incomplete: fetch or copy it again"},
	{ErrDamaged, "the file is damaged: fetch or copy it again, or save it anew with a picture editor"},
	{ErrEncodedBytes, "save it smaller or with more compression"},
	{ErrSide, "scale it down first"},
	{ErrPixels, "scale it down first"},
	{ErrDecodedBytes, "scale it down first, or save it with 8 bits a channel"},
	{ErrUnsupported, "save it as PNG or plain JPEG"},
	{ErrFormat, "expected JPEG, PNG, WebP, GIF or BMP"},
	{ErrSource, "give the path of the file itself, not of a link, folder or pipe"},
}
