package shaders

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.metal
var files embed.FS

// A Library is MSL that is compiled in one piece.
type Library struct {
	Name  string
	files []string
}

// The libraries. Tower is needed for images alone.
var (
	Rows      = &Library{"rows", []string{"embed", "rmsnorm", "router"}}
	Products  = &Library{"products", []string{"affine", "expert"}}
	Attention = &Library{"attention", []string{"heads", "attention"}}
	Tower     = &Library{"tower", []string{"tower", "dense", "tower_attend"}}
)

// Libraries lists them all.
var Libraries = []*Library{Rows, Products, Attention, Tower}

// Source is the library's text, with #line directives that name our files.
func (l *Library) Source() string {
	var b strings.Builder
	for _, name := range append([]string{"common", "params"}, l.files...) {
		text, err := files.ReadFile(name + ".metal")
		if err != nil {
			panic("BUG: shaders: library " + l.Name + ": " + err.Error())
		}
		fmt.Fprintf(&b, "#line 1 \"%s.metal\"\n%s\n", name, text)
	}
	return b.String()
}
