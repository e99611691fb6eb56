package gturbo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
)

// chunkSize bounds every buffer that file contents pass through.
const chunkSize = 512 << 10

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// SHA256 returns the lowercase hex digest of data.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SHA256At returns the lowercase hex digest of the first size bytes of r, read in chunks of 512 KiB. progress, which
// may be nil, is told the bytes of each chunk. Fewer bytes wrap io.ErrUnexpectedEOF; a finished context is returned
// as it is.
func SHA256At(ctx context.Context, r io.ReaderAt, size int64, progress func(n int64)) (string, error) {
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	sum := sha256.New()
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		want := int(min(size-at, chunkSize))
		n, err := r.ReadAt(chunk[:want], at)
		sum.Write(chunk[:n])
		at += int64(n)
		if n < want {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return "", fmt.Errorf("read %d bytes at offset %d: got %d: %w", want, at-int64(n), n, err)
		}
		if progress != nil {
			progress(int64(n))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// ValidSHA256 reports whether s is written as 64 hex digits of either case.
func ValidSHA256(s string) bool {
	if len(s) != hex.EncodedLen(sha256.Size) {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

// EqualSHA256 compares two digests as readers of the format do: the case of the digits does not matter.
func EqualSHA256(a, b string) bool { return strings.EqualFold(a, b) }
