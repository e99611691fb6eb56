package msl

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"
)

// SourceLine names the line of MSL, as file:line, that the instruction at offset place of a host library came from;
// "" when that is unknown. Instructions of the shim count for the line that called it.
func SourceLine(library string, place uint64) string {
	f, err := elf.Open(library)
	if err != nil {
		return ""
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		return ""
	}
	r := d.Reader()
	for {
		unit, err := r.Next()
		if err != nil || unit == nil {
			return ""
		}
		if unit.Tag == dwarf.TagCompileUnit {
			if at := lineInUnit(d, r, unit, place); at != "" {
				return at
			}
		}
		r.SkipChildren()
	}
}

// fromShim tells whether a file is none of the translated source's.
func fromShim(name string) bool {
	name = filepath.Base(name)
	return strings.HasPrefix(name, "msl_") || strings.HasPrefix(name, "<")
}

func lineInUnit(d *dwarf.Data, r *dwarf.Reader, unit *dwarf.Entry, place uint64) string {
	lines, err := d.LineReader(unit)
	if err != nil || lines == nil {
		return ""
	}
	var e dwarf.LineEntry
	if lines.SeekPC(place, &e) != nil {
		return ""
	}
	if !fromShim(e.File.Name) {
		return fmt.Sprintf("%s:%d", filepath.Base(e.File.Name), e.Line)
	}
	return inlineCall(d, r, lines.Files(), place)
}

// inlineCall walks the subroutines inlined at place and gives the innermost call that stands in MSL.
func inlineCall(d *dwarf.Data, r *dwarf.Reader, files []*dwarf.LineFile, place uint64) string {
	at := ""
	for depth := 1; depth > 0; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		if e.Tag == dwarf.TagInlinedSubroutine && covers(d, e, place) {
			file, _ := e.Val(dwarf.AttrCallFile).(int64)
			line, _ := e.Val(dwarf.AttrCallLine).(int64)
			if int(file) < len(files) && files[file] != nil && !fromShim(files[file].Name) {
				at = fmt.Sprintf("%s:%d", filepath.Base(files[file].Name), line)
			}
		}
		if e.Children {
			depth++
		}
	}
	return at
}

func covers(d *dwarf.Data, e *dwarf.Entry, place uint64) bool {
	ranges, _ := d.Ranges(e)
	for _, g := range ranges {
		if place >= g[0] && place < g[1] {
			return true
		}
	}
	return false
}
