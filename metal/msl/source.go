package msl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Source is MSL text and how to read it.
type Source struct {
	// Name stands in messages and debug information; default "program_source", Apple's word for text without a file.
	// Text may name files of its own with #line.
	Name string
	Text string
	// Version is the language version, major<<16 | minor; 0 means 3.0.
	Version uint32
	// Macros are defined before the first line, name to value.
	Macros map[string]string
}

// DefaultName is the name of a source that has none.
const DefaultName = "program_source"

func (s Source) name() string {
	if s.Name == "" {
		return DefaultName
	}
	return s.Name
}

func (s Source) version() (major, minor uint32) {
	if s.Version == 0 {
		return 3, 0
	}
	return s.Version >> 16, s.Version & 0xffff
}

// defines gives the macros as compiler arguments, in a fixed order.
func (s Source) defines() []string {
	major, minor := s.version()
	args := []string{"-D__METAL__=1", fmt.Sprintf("-D__METAL_VERSION__=%d", major*100+minor*10)}
	for _, name := range slices.Sorted(maps.Keys(s.Macros)) {
		args = append(args, "-D"+name+"="+s.Macros[name])
	}
	return args
}

// key names the source by content.
func (s Source) key() string {
	return digest(s.name(), s.Text, strings.Join(s.defines(), "\n"))
}

// digest names a list of texts by content.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d\n%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
