package install

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/testdata"
)

func init() {
	roles["materialise"] = func(arg string) error {
		var dest string
		if err := json.Unmarshal([]byte(arg), &dest); err != nil {
			return err
		}
		return Materialise(context.Background(), testdata.Demo(), dest)
	}
}

// sameDemo checks that dest holds the embedded install with a receipt that vouches for it.
func sameDemo(t *testing.T, dest string) {
	t.Helper()
	sameInstall(t, dest)
	in, err := gturbo.Open(t.Context(), dest, gturbo.OpenOptions{TrustReceipt: true})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
}

func TestMaterialiseWritesTheEmbeddedInstallOnce(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "cache", "demo.gturbo")
	if err := Materialise(t.Context(), testdata.Demo(), dest); err != nil {
		t.Fatal(err)
	}
	sameDemo(t, dest)
	before, err := os.Stat(dest)
	if err != nil {
		t.Fatal(err)
	}
	if err := Materialise(t.Context(), testdata.Demo(), dest); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(dest)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written a second time: %v", err)
	}
}

func TestMaterialiseReplacesWhatIsNotWhole(t *testing.T) {
	for name, harm := range map[string]func(dest string) error{
		"a shortened file":   func(d string) error { return os.Truncate(filepath.Join(d, gturbo.WeightsFile), 5) },
		"a missing file":     func(d string) error { return os.Remove(filepath.Join(d, "tokenizer", "tokenizer.json")) },
		"no receipt":         func(d string) error { return os.Remove(filepath.Join(d, receiptName)) },
		"another manifest":   func(d string) error { return os.WriteFile(filepath.Join(d, manifestName), []byte("{}"), 0o644) },
		"an empty directory": func(d string) error { return errors.Join(os.RemoveAll(d), os.Mkdir(d, 0o755)) },
		"half a directory": func(d string) error {
			return errors.Join(os.Rename(d, d+".partial"), os.Remove(filepath.Join(d+".partial", manifestName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "demo.gturbo")
			if err := Materialise(t.Context(), testdata.Demo(), dest); err != nil {
				t.Fatal(err)
			}
			if err := harm(dest); err != nil {
				t.Fatal(err)
			}
			if err := Materialise(t.Context(), testdata.Demo(), dest); err != nil {
				t.Fatal(err)
			}
			sameDemo(t, dest)
			if names, err := readDirNames(filepath.Dir(dest)); err != nil || len(names) > 3 {
				t.Errorf("left behind: %v, %v", names, err)
			}
		})
	}
}

func TestMaterialiseInManyProcessesAtOnce(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "demo.gturbo")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], string(mustJSON(dest)))
			cmd.Env = append(os.Environ(), roleVariable+"=materialise")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	sameDemo(t, dest)
}

func TestMaterialiseLeavesNothingHalf(t *testing.T) {
	bad := fstest.MapFS{}
	for name, data := range tree(t, demoInstall) {
		bad[name] = &fstest.MapFile{Data: []byte(data)}
	}
	bad[gturbo.WeightsFile].Data[9000] ^= 1
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		run  func(dest string) error
		want error
	}{
		{"with a damaged original", func(d string) error { return Materialise(t.Context(), bad, d) }, ErrDamaged},
		{"with an ended context", func(d string) error { return Materialise(ended, testdata.Demo(), d) }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "demo.gturbo")
			if err := c.run(dest); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			names, err := readDirNames(filepath.Dir(dest))
			if err != nil || len(names) != 1 || names[0] != "demo.gturbo.install.lock" {
				t.Errorf("left behind: %v, %v", names, err)
			}
		})
	}
}
