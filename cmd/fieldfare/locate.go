package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/testdata"
)

// modelName is the file name of the model that an install fetches when nothing else is asked for.
const modelName = "gemma-4-26b-a4b-it-4bit.gturbo"

// usualPlace is where a model is looked for and installed to when no path is given.
func usualPlace() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "fieldfare", modelName), nil
}

// dataDir is the user's folder for a program's large files: what os.UserConfigDir is for small ones.
func dataDir() (string, error) {
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set: give the model's path")
	case "darwin":
		return os.UserConfigDir()
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%w: give the model's path", err)
	}
	return filepath.Join(home, ".local", "share"), nil
}

// locate returns the model to run: the one asked for, else the one in the usual place, else the demo, which is written
// to the user's cache folder on its first use. The choice of the demo is said on stderr unless quiet.
func (a *app) locate(ctx context.Context, asked string, quiet bool) (string, error) {
	if asked != "" {
		return asked, nil
	}
	usual, err := usualPlace()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(usual); err == nil {
		return usual, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: give the model's path with --model", err)
	}
	if !quiet {
		fmt.Fprintln(a.stderr, `fieldfare: no model is installed, the built-in demo model answers ("fieldfare install" fetches the real one)`)
	}
	demo := filepath.Join(cache, "fieldfare", "demo.gturbo")
	if err := install.Materialise(ctx, testdata.Demo(), demo); err != nil {
		return "", err
	}
	return demo, unpackDemoPack(ctx, demo)
}
