package gturbo

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// openListed opens a file that the manifest lists and compares its size. What is wrong with it is a Damage.
func openListed(root *Root, name string, want FileRecord) (*os.File, *Damage) {
	d := &Damage{File: name, Hi: int64(want.Size), Want: want, GotSize: -1}
	f, err := root.Open(name)
	if err != nil {
		d.Kind, d.Cause = ErrUnreadable, err
		if errors.Is(err, fs.ErrNotExist) {
			d.Kind = ErrMissingFile
		} else if errors.Is(err, ErrUnsafePath) {
			d.Kind = ErrUnsafePath
		}
		return nil, d
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		d.Kind, d.Cause = ErrUnreadable, err
		return nil, d
	}
	if d.GotSize = info.Size(); d.GotSize < 0 || uint64(d.GotSize) != want.Size {
		f.Close()
		d.Kind = ErrSize
		d.Lo, d.Hi = min(d.GotSize, d.Hi), max(d.GotSize, d.Hi)
		return nil, d
	}
	return f, nil
}

// hashListed hashes the open file f of that name and compares it with the manifest. The error is only ever the
// context's.
func hashListed(
	ctx context.Context, f *os.File, name string, want FileRecord, progress func(n int64),
) (*Damage, error) {
	d := &Damage{File: name, Hi: int64(want.Size), Want: want, GotSize: int64(want.Size)}
	got, err := SHA256At(ctx, f, int64(want.Size), progress)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.Kind, d.Cause = ErrUnreadable, err
		return d, nil
	}
	if EqualSHA256(got, want.SHA256) {
		return nil, nil
	}
	d.GotSHA256, d.Kind = got, ErrChecksum
	return d, nil
}
