package gturbo

import (
	"fmt"
	"strings"
)

// A Damage says which bytes of one file of an install are not what its manifest promises, as far as the format lets
// that be known: it has one digest a file.
type Damage struct {
	File string // path relative to the install
	// Lo and Hi are the bytes [Lo, Hi) of the file that must be written again.
	Lo, Hi int64
	// Want is the manifest's record.
	Want FileRecord
	// GotSize is the size found, -1 when the file is missing or unreadable.
	GotSize int64
	// GotSHA256 is the digest found, empty when the file was not hashed.
	GotSHA256 string
	// Kind is ErrMissingFile, ErrSize, ErrChecksum, ErrUnsafePath or ErrUnreadable.
	Kind error
	// Cause is the system's word on a missing or unreadable file, else nil.
	Cause error
}

func (d Damage) String() string {
	want := int64(d.Want.Size)
	switch {
	case d.Kind == ErrSize && d.GotSize < want:
		return fmt.Sprintf("%s is %s short (%d of %d)", d.File, countBytes(want-d.GotSize), d.GotSize, want)
	case d.Kind == ErrSize:
		return fmt.Sprintf("%s is %s too long (%d instead of %d)", d.File, countBytes(d.GotSize-want), d.GotSize, want)
	case d.Kind == ErrChecksum:
		return fmt.Sprintf("%s: bytes [%d, %d): checksum mismatch: expected %s, found %s",
			d.File, d.Lo, d.Hi, strings.ToLower(d.Want.SHA256), d.GotSHA256)
	case d.Kind == ErrMissingFile:
		return d.File + " is missing"
	}
	return fmt.Sprintf("%s: %v: %v", d.File, d.Kind, d.Cause)
}

func countBytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// A DamageError names the damaged files of an install. It matches the Kind and Cause of each under errors.Is.
type DamageError struct {
	Install string // path of the install
	Damages []Damage
}

func (e *DamageError) Error() string {
	texts := make([]string, len(e.Damages))
	for i, d := range e.Damages {
		texts[i] = d.String()
	}
	return e.Install + " is damaged: " + strings.Join(texts, "; ")
}

func (e *DamageError) Unwrap() []error {
	var all []error
	for _, d := range e.Damages {
		all = append(all, d.Kind)
		if d.Cause != nil {
			all = append(all, d.Cause)
		}
	}
	return all
}
