package jpeg

import (
	"bytes"
	"fmt"
)

// segment is a marker with its parameters; body leaves out the length.
type segment struct {
	marker byte
	at     int // offset of the marker
	body   []byte
}

// walker steps over the segments of a file. After a start-of-scan segment it stands at the entropy-coded data.
type walker struct {
	data []byte
	pos  int
}

func newWalker(data []byte) (*walker, error) {
	if len(data) < 2 || data[0] != 0xFF || data[1] != mSOI {
		return nil, fmt.Errorf("%w: no start of image", ErrDamaged)
	}
	return &walker{data: data, pos: 2}, nil
}

// next finds the next marker and its parameters. Any number of fill bytes may precede a marker.
func (w *walker) next() (segment, error) {
	at := w.pos
	for at < len(w.data) && w.data[at] == 0xFF {
		at++
	}
	if at == len(w.data) {
		return segment{}, fmt.Errorf("%w: file ends at byte %d where a marker is due", ErrTruncated, at)
	}
	if at == w.pos {
		return segment{}, fmt.Errorf("%w: byte %#02x at %d, expected a marker", ErrDamaged, w.data[at], at)
	}
	seg := segment{marker: w.data[at], at: at - 1}
	w.pos = at + 1
	if m := seg.marker; m == mTEM || m >= mRST0 && m <= mEOI {
		return seg, nil
	}
	if len(w.data)-w.pos < 2 {
		return segment{}, fmt.Errorf("%w: file ends inside the segment at byte %d", ErrTruncated, seg.at)
	}
	length := int(w.data[w.pos])<<8 | int(w.data[w.pos+1])
	if length < 2 {
		return segment{}, fmt.Errorf("%w: segment of length %d at byte %d", ErrDamaged, length, seg.at)
	}
	if len(w.data)-w.pos < length {
		return segment{}, fmt.Errorf("%w: segment at byte %d needs %d bytes, %d are left", ErrTruncated, seg.at,
			length, len(w.data)-w.pos)
	}
	seg.body = w.data[w.pos+2 : w.pos+length]
	w.pos += length
	return seg, nil
}

// skipScan steps over entropy-coded data and returns it, restart markers included.
func (w *walker) skipScan() []byte {
	start := w.pos
	for {
		i := bytes.IndexByte(w.data[w.pos:], 0xFF)
		if i < 0 || w.pos+i+1 >= len(w.data) {
			w.pos = len(w.data)
			return w.data[start:]
		}
		w.pos += i
		switch m := w.data[w.pos+1]; {
		case m == 0 || m >= mRST0 && m <= mRST7:
			w.pos += 2
		case m == 0xFF: // fill byte
			w.pos++
		default:
			return w.data[start:w.pos]
		}
	}
}

// completenessWindow bounds the walk over the segments before the first scan.
const completenessWindow = 8 << 20

// Complete reports whether an end-of-image marker follows the first scan of data. Lenient decoders fill what a
// truncated file lacks with grey. A marker near the end of the file proves nothing: a thumbnail before the scan has
// its own, and a motion photo has a video behind the real one; so segments are walked up to the scan, and only what
// follows is searched. Trailing data is allowed.
func Complete(data []byte) error {
	w, err := newWalker(data)
	if err != nil {
		return err
	}
	for {
		if w.pos > completenessWindow {
			return fmt.Errorf("%w: no scan within %d bytes", ErrTruncated, completenessWindow)
		}
		seg, err := w.next()
		if err != nil {
			return err
		}
		if seg.marker != mSOS {
			continue
		}
		if !bytes.Contains(data[w.pos:], []byte{0xFF, mEOI}) {
			return fmt.Errorf("%w: no end of image after the scan at byte %d", ErrTruncated, seg.at)
		}
		return nil
	}
}
