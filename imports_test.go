package fieldfare_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fieldfare/fieldfare"

// layers says, per package tree, which of our own packages it may import and why no others. The longest matching
// prefix counts; a tree may always import itself downwards.
var layers = []struct {
	pkg     string
	imports []string
	why     string
}{
	{"cmd/fieldfare", []string{"*"}, "wiring may see everything"},
	{"testdata", nil, "data knows no code"},
	{"text", nil, "tokens and templates work without tensors, files or a model"},
	{"shaders", nil, "shader text and its table are read by the backend and by tools alike"},
	{"gturbo", nil, "the format is owned once, below installer, verifier and loader"},
	{"gturbo/install", []string{"gturbo", "visionpack"}, "installing must not need a runtime"},
	{"gturbo/synth", []string{"gturbo", "gturbo/install"}, "generated weights enter through the installer's source"},
	{"residency", []string{"gturbo"}, "bytes only: slots and policies know no tensors"},
	{"visionpack", []string{"gturbo"}, "the pack is a format; what its tensors mean is the extension's business"},
	{"core", []string{"residency", "gturbo", "text"},
		"the runtime never learns the words metal, cpu, vision or server: backends and extensions reach it"},
	{"cpu", []string{"core", "residency", "gturbo"}, "a backend sees the contract, no other backend and no session"},
	{"metal", []string{"core", "residency", "gturbo", "shaders"}, "a backend sees the contract, no other backend"},
	{"metal/driver", nil, "the seam between backend and devices knows neither side"},
	{"metal/mtl", []string{"metal/driver"}, "the binding knows no model; it implements the seam, mechanically"},
	{"metal/cuda", []string{"metal/driver", "metal/msl"}, "a second device: it runs translated kernels and knows no model"},
	{"metal/msl", []string{"metal/driver"}, "a translator and an emulator for any kernel, ours or not"},
	{"metal/standin", []string{"metal/driver", "metal/msl", "metal/mtl"},
		"plays Apple's framework for tests of the layers above it, which it never sees"},
	{"vision", []string{"core", "visionpack", "gturbo", "residency"},
		"an extension: reached by hooks, touches tensors through core.Backend"},
	{"server", []string{"core", "text", "residency", "gturbo"}, "HTTP shapes: never a backend, never the image extension"},
}

func TestImportDirection(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." || hasOwnModule(path)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		checked++
		checkFile(t, filepath.ToSlash(path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked == 0 {
		t.Fatal("no Go file was found below the module root")
	}
}

func hasOwnModule(dir string) bool {
	matches, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return dir != "." && len(matches) > 0
}

func checkFile(t *testing.T, path string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	from := filepath.ToSlash(filepath.Dir(path))
	layer := -1
	for i, l := range layers {
		if within(from, l.pkg) && (layer < 0 || len(l.pkg) > len(layers[layer].pkg)) {
			layer = i
		}
	}
	if layer < 0 {
		t.Errorf("%s: package %s is missing in the table of layers", path, from)
		return
	}
	l := layers[layer]
	for _, spec := range file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		to, ours := strings.CutPrefix(name, module+"/")
		if !ours || within(to, l.pkg) || slices.Contains(l.imports, "*") {
			continue
		}
		if !slices.ContainsFunc(l.imports, func(allowed string) bool { return within(to, allowed) }) {
			t.Errorf("%s imports %s, but %s may not: %s", path, to, l.pkg, l.why)
		}
	}
}

func within(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }
