package msl

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// BuildShared compiles the C++ files of a folder into a shared library in the cache, beside the shim: they include it
// as "msl_host_rt.h".
func (t *Toolchain) BuildShared(name string, sources fs.FS) (string, error) {
	texts := []string{ownDigest()}
	units, err := fs.Glob(sources, "*.cpp")
	if err != nil {
		return "", err
	}
	all, err := fs.Glob(sources, "*")
	if err != nil {
		return "", err
	}
	for _, path := range all {
		text, err := fs.ReadFile(sources, path)
		if err != nil {
			return "", err
		}
		texts = append(texts, path, string(text))
	}
	shim, err := t.shimFolder()
	if err != nil {
		return "", err
	}
	return t.cached(name+"-"+digest(texts...)+".so", func(out string) error {
		folder := out + ".sources"
		defer os.RemoveAll(folder)
		if err := os.CopyFS(folder, sources); err != nil {
			return err
		}
		objects, err := t.compileAll(folder, units, "-I", shim)
		if err != nil {
			return err
		}
		return t.clangFile(append([]string{"-shared", "-o", out, "-lpthread", "-ldl"}, objects...)...)
	})
}

// compileAll compiles units of folder, as many at a time as there are processors.
func (t *Toolchain) compileAll(folder string, units []string, flags ...string) (objects []string, err error) {
	args := append([]string{"-std=c++17", "-O1", "-g1", "-fPIC", "-fvisibility=hidden"}, flags...)
	errs := make([]error, len(units))
	slots := make(chan struct{}, runtime.NumCPU())
	var all sync.WaitGroup
	for i, u := range units {
		object := filepath.Join(folder, strings.TrimSuffix(u, ".cpp")+".o")
		objects = append(objects, object)
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = t.clangFile(append(slices.Clone(args), "-c", filepath.Join(folder, u), "-o", object)...)
		})
	}
	all.Wait()
	for _, e := range errs {
		if e != nil {
			return nil, e
		}
	}
	return objects, nil
}
