// Package pages owns memory outside the Go heap: anonymous pages and read-only views of files. Every Region has one
// owner, who closes it; nothing is finalized behind anyone's back, and Usage says who holds how much.
//
// It refuses to know what the bytes mean: no format, no slots, no budget. Start reading at Region.
package pages

import (
	"fmt"
	"os"
	"sync/atomic"
)

// A Region is a run of mapped bytes. Methods may be called from any goroutine, Close from one only.
type Region struct {
	class  string
	bytes  []byte // what the owner sees
	whole  []byte // what the operating system mapped
	skip   int    // bytes begins here in whole
	mapped bool   // a view of a file, not anonymous memory
	closed atomic.Bool
}

// Alloc returns size zeroed bytes at a page-aligned address, to be read and written, that no garbage collector
// scans, moves or counts. Memory is taken from the system when it is first touched. Large regions are aligned to
// and advised for huge pages where the system has them (10 to 25 % of bandwidth for streamed weights).
//
// class names the owner in Usage, e.g. "kv" or "slots". A size of 0 gives an empty region; a negative one is an
// error that wraps ErrRange; a refusal by the system wraps ErrMemory.
func Alloc(class string, size int) (*Region, error) {
	r := &Region{class: class}
	if size < 0 {
		return nil, fmt.Errorf("allocate %s: %d bytes: %w", class, size, ErrRange)
	}
	if size > 0 {
		var err error
		if r.whole, r.skip, err = allocate(size); err != nil {
			return nil, fmt.Errorf("allocate %s: %d bytes: %w: %w", class, size, ErrMemory, err)
		}
		r.bytes = r.whole[r.skip : r.skip+size : r.skip+size]
	}
	account(r, +1)
	return r, nil
}

// Map returns a read-only view of length bytes of f from offset on, which need not be page-aligned. f may be closed
// afterwards. Writing to the bytes is a fault; so is reading them after another program has cut the file short,
// which is why a range beyond the present end of f is refused here (ErrRange). Pages are clean: the system may drop
// and read them again at any time.
func Map(class string, f *os.File, offset, length int64) (*Region, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", class, err)
	}
	if offset < 0 || length < 0 || offset > info.Size() || length > info.Size()-offset || int64(int(length)) != length {
		return nil, fmt.Errorf("map %s: %d bytes at offset %d of %s (%d bytes): %w",
			class, length, offset, f.Name(), info.Size(), ErrRange)
	}
	r := &Region{class: class, mapped: true}
	if length > 0 {
		r.skip = int(offset % granularity())
		if r.whole, err = view(f, offset-int64(r.skip), r.skip+int(length)); err != nil {
			return nil, fmt.Errorf("map %s: %d bytes at offset %d of %s: %w: %w",
				class, length, offset, f.Name(), ErrMemory, err)
		}
		r.bytes = r.whole[r.skip:len(r.whole):len(r.whole)]
	}
	account(r, +1)
	return r, nil
}

// Bytes returns exactly the bytes asked for. They belong to the region: using them after Close is a fault.
func (r *Region) Bytes() []byte { return r.bytes }

// Close gives the memory back. The owner does it once, when no queued work reads the bytes any more: a second Close
// means that two parts of the program think they own the region, and panics.
func (r *Region) Close() error {
	if r.closed.Swap(true) {
		panic("BUG: pages: region of class " + r.class + " closed twice")
	}
	account(r, -1)
	whole, mapped := r.whole, r.mapped
	r.bytes, r.whole = nil, nil
	if len(whole) == 0 {
		return nil
	}
	if err := release(whole, mapped); err != nil {
		return fmt.Errorf("unmap %s: %d bytes: %w", r.class, len(whole), err)
	}
	return nil
}

// Advice tells the system how a range will be used.
type Advice int

const (
	WillNeed Advice = iota // read ahead in the background
	DontNeed               // pages of a file may be dropped; anonymous bytes are undefined afterwards
	Random                 // no read-ahead around a page fault
)

// Advise gives advice for the bytes [lo, hi) of the region. It is a hint: systems without it do nothing. Whole pages
// are advised, with DontNeed only those that lie inside the range, otherwise all that it touches.
func (r *Region) Advise(lo, hi int, a Advice) error {
	if lo < 0 || hi < lo || hi > len(r.bytes) {
		return fmt.Errorf("advise %s: [%d, %d) of %d bytes: %w", r.class, lo, hi, len(r.bytes), ErrRange)
	}
	if lo == hi {
		return nil
	}
	page := int(granularity())
	lo, hi = lo+r.skip, hi+r.skip
	if a == DontNeed {
		lo, hi = (lo+page-1)/page*page, hi/page*page
	} else {
		lo = lo / page * page
	}
	if lo >= hi {
		return nil
	}
	if err := advise(r.whole[lo:hi], a); err != nil {
		return fmt.Errorf("advise %s: [%d, %d): %w", r.class, lo, hi, err)
	}
	return nil
}
