package gturbo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	maxScanEntries = 100_000
	minScanDepth   = 16 // deeper where a declared file lies deeper
	scanBatch      = 1024
)

// scanExtras lists the entries of an install that its manifest does not account for. The tokenizer folder is not
// looked into; a .DS_Store in the root and the parents of declared files are no extras. More than 100,000 entries, or
// deeper ones than any declared file and 16, are an error (ErrScanLimit), as is a directory that cannot be read.
func scanExtras(ctx context.Context, root *Root, m *Manifest) ([]string, error) {
	s := scanner{ctx: ctx, known: map[string]bool{
		ManifestFile: true, ReceiptFile: true, TokenizerDir: true, ".DS_Store": true,
	}, depth: minScanDepth}
	for path := range m.Files {
		s.known[path] = true
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			s.known[path[:i]] = true
		}
		s.depth = max(s.depth, strings.Count(path, "/")+1)
	}
	if err := s.dir(root.dir, "", 1); err != nil {
		return nil, fmt.Errorf("list %s: %w", root.Path(), err)
	}
	slices.Sort(s.extras)
	return s.extras, nil
}

type scanner struct {
	ctx     context.Context
	known   map[string]bool
	depth   int
	entries int
	extras  []string
}

// dir lists one directory, whose entries lie at the given depth; prefix is its path with a slash at the end.
func (s *scanner) dir(dir *os.Root, prefix string, depth int) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.ReadDir(scanBatch)
		for _, entry := range batch {
			if err := s.entry(dir, prefix, entry, depth); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *scanner) entry(dir *os.Root, prefix string, entry fs.DirEntry, depth int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	path := prefix + entry.Name()
	if s.entries++; s.entries > maxScanEntries {
		return fmt.Errorf("more than %d entries: %w", maxScanEntries, ErrScanLimit)
	}
	if depth > s.depth {
		return fmt.Errorf("%s: deeper than %d levels: %w", path, s.depth, ErrScanLimit)
	}
	if !s.known[path] {
		s.extras = append(s.extras, path)
	}
	if !entry.IsDir() || path == TokenizerDir {
		return nil
	}
	sub, err := openDir(dir, entry.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went away after it was listed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer sub.Close()
	return s.dir(sub, path+"/", depth+1)
}
