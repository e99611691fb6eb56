package msl

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// The shim, and this package's own text: what a translation depends on besides its source.
//
//go:embed shim *.go
var own embed.FS

// ownDigest names this version of translator and shim by content, so that a cache never answers for another one.
var ownDigest = sync.OnceValue(func() string {
	var texts []string
	err := fs.WalkDir(own, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := own.ReadFile(path)
		texts = append(texts, path, string(text))
		return err
	})
	if err != nil {
		panic("BUG: msl: read embedded files: " + err.Error())
	}
	return digest(texts...)
})

// Shim gives the text of one of the shim's headers.
func Shim(name string) string {
	text, err := own.ReadFile("shim/" + name)
	if err != nil {
		panic("BUG: msl: no shim file " + name)
	}
	return string(text)
}

// shimFolder unpacks the shim into the cache for clang to include.
func (t *Toolchain) shimFolder() (string, error) {
	return t.cached("shim-"+ownDigest(), func(out string) error {
		shim, err := fs.Sub(own, "shim")
		if err != nil {
			return err
		}
		return os.CopyFS(out, shim)
	})
}

func (t *Toolchain) stubsFolder() (string, error) {
	shim, err := t.shimFolder()
	return filepath.Join(shim, "stubs"), err
}
