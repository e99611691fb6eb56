package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are the programs that the test binary stands for, by the name that it is called by.
var commands = map[string]func(){"fieldfare": main}

func TestMain(m *testing.M) {
	testscript.Main(m, commands)
}

// TestScript runs the program as users do. Each script in testdata/script is a story with its files inline; $REPO is
// the repository's testdata folder, the demo model's cache is shared. [images] holds in builds that have them.
func TestScript(t *testing.T) {
	repo, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(name string) (bool, error) {
			if name != "images" {
				return false, fmt.Errorf("no condition %q", name)
			}
			return withImages, nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("LocalAppData", cache)
			return os.Mkdir(filepath.Join(env.WorkDir, "data"), 0o755)
		},
	})
}
