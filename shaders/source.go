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
	Name string
	// Version is the language version, major<<16 | minor; 0 means 3.0.
	Version uint32
	files   []string
}

// The libraries. Tower is needed for images alone. Tensors holds second ways of what other kernels do, for devices and
// systems that have Metal 4's tensor operations: nothing needs it, and nothing uses it before a device's own check.
var (
	Rows      = &Library{Name: "rows", files: []string{"embed", "rmsnorm", "router"}}
	Products  = &Library{Name: "products", files: []string{"codes", "sums", "fold", "affine", "runs", "expert"}}
	Attention = &Library{Name: "attention", files: []string{"heads", "softmax", "tile", "attention"}}
	Tower     = &Library{Name: "tower", files: []string{"tower", "dense", "tower_attend"}}
	Tensors   = &Library{Name: "tensors", Version: 4 << 16, files: []string{
		"tensors", "tensor_products", "runs", "tensor_experts", "softmax", "tile", "tensor_attention",
	}}
)

// Libraries lists them all.
var Libraries = []*Library{Rows, Products, Attention, Tower, Tensors}

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
