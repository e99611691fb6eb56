// Package page is the chat page: a conversation with the server that it came from, in plain modules, styles and
// markup that are embedded as they are written. There is no build step.
//
// It refuses to know the server: the page speaks the public API, and whoever mounts Serve needs no other part
// of this package. Policy stands here, beside the markup that it is about: nothing from elsewhere, nothing inline,
// and no script made of text.
//
// Start reading at Serve, then web/main.js and web/app.js.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed web
var embedded embed.FS

// Policy is the Content-Security-Policy of every file: own scripts and styles, requests to the own server, pictures
// from memory. Trusted types keep text from ever being parsed as markup.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are those of the files that the page consists of; systems disagree about them.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// A file is one asset, ready to be sent.
type file struct {
	kind, tag string
	data      []byte
}

var files = sync.OnceValue(load)

// Serve answers a GET or HEAD of the page, which is at /, or of one of its files beside it, and reports whether it did.
// Anything else is left alone.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	f, ok := files()[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	f.serve(w, r)
	return true
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", Policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache") // another version of the program has other files under the same names
	header.Set("ETag", f.tag)
	header.Set("Content-Type", f.kind)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.data) // the client may have gone
	}
}

// load reads all assets.
func load() map[string]*file {
	files := make(map[string]*file)
	err := fs.WalkDir(embedded, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			panic("BUG: page: " + name + " is of no known type")
		}
		sum := sha256.Sum256(data)
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		files[strings.TrimPrefix(name, "web/")] = &file{kind: kind, tag: tag, data: data}
		return nil
	})
	if err != nil {
		panic("BUG: page: an embedded file does not read: " + err.Error())
	}
	return files
}
