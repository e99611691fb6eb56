package gturbo

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// CheckPath holds name to the grammar of relative paths in the format: components separated by single slashes, none
// empty, "." or "..", no NUL. The error wraps ErrPathGrammar.
func CheckPath(name string) error {
	if strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("path %q: holds NUL: %w", name, ErrPathGrammar)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("path %q: component %q: %w", name, part, ErrPathGrammar)
		}
	}
	return nil
}

// CheckBase holds name to CheckPath and to a single component.
func CheckBase(name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("base name %q: holds a slash: %w", name, ErrPathGrammar)
	}
	return CheckPath(name)
}

// PathKey is equal for names that some file system may take for one and the same: NFC, then lower case.
func PathKey(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// StandardPath makes path absolute and removes ".", "..", double and trailing separators. Symbolic links stay as
// they are: receipts record the path that a user asked for.
func StandardPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	return abs, nil
}
