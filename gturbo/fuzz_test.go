package gturbo

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
)

// codec is what every document's fuzz target checks: decoding never panics and allocates within a multiple of the
// input; what decodes encodes again, to bytes that decode to the same bytes.
func codec[T interface{ Encode() ([]byte, error) }](t *testing.T, data []byte, decode func([]byte) (T, error)) {
	var document T
	var err error
	bounded(t, data, func() { document, err = decode(data) })
	if err != nil {
		if err.Error() == "" {
			t.Fatal("an error without words")
		}
		return
	}
	first, err := document.Encode()
	if err != nil {
		t.Fatalf("decoded but not encoded: %v", err)
	}
	document, err = decode(first)
	if err != nil {
		t.Fatalf("our own encoding is refused: %v\n%s", err, first)
	}
	second, err := document.Encode()
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("encodings differ: %v\n%s\n%s", err, first, second)
	}
}

// bounded fails when f allocates more than 200 bytes for each byte of data and 256 KiB.
func bounded(t *testing.T, data []byte, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(200*len(data)+256<<10); got > limit {
		t.Fatalf("allocated %d bytes for an input of %d", got, len(data))
	}
}

func FuzzManifest(f *testing.F) {
	text := string(fixture(f, "manifest.json"))
	f.Add([]byte(text))
	f.Add([]byte(strings.ReplaceAll(text, "layer_00", "\u00e9\\u0000")))
	f.Add([]byte(`{"magic":"GTURBO","versionMajor":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) { codec(t, data, DecodeManifest) })
}

func FuzzReceipt(f *testing.F) {
	_, _, c := newReceipt(f)
	data, err := c.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schemaVersion":1,"files":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) { codec(t, data, DecodeReceipt) })
}

func FuzzLayout(f *testing.F) {
	f.Add(fixture(f, "layout.json"))
	f.Add(twoLayers(f))
	f.Add(fixtureWithRanks(f))
	f.Add(mutate(f, twoLayers(f), set("numLayers", 1<<40)))
	f.Fuzz(func(t *testing.T, data []byte) { codec(t, data, DecodeLayout) })
}

func FuzzIndex(f *testing.F) {
	f.Add(fixture(f, "resident-index.bin"))
	f.Add(indexBytes(f))
	f.Add(make([]byte, 24))
	f.Fuzz(func(t *testing.T, data []byte) {
		// Most of an index is padding; let the fuzzer leave it out.
		if len(data) < Align {
			data = append(data, make([]byte, Align-len(data))...)
		}
		codec(t, data, DecodeIndex)
		x, err := DecodeIndex(data)
		y, readErr := ReadIndex(bytes.NewReader(data), int64(len(data)))
		if (err == nil) != (readErr == nil) || err == nil && len(x.Entries) != len(y.Entries) {
			t.Fatalf("decoded: %v, read: %v", err, readErr)
		}
	})
}

func FuzzSourceConfig(f *testing.F) {
	f.Add([]byte(tinyConfig(tinyArch())))
	demo, err := os.ReadFile("../testdata/checkpoint/config.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(demo)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c *SourceConfig
		var err error
		bounded(t, data, func() { c, err = ParseSourceConfig(data) })
		if err != nil {
			return
		}
		if err := c.Arch.check(); err != nil {
			t.Fatalf("the architecture of an accepted config is refused: %v", err)
		}
		if len(c.EOS) == 0 || c.RMSNormEps <= 0 || c.MaxPositionEmbeddings <= 0 {
			t.Fatalf("%+v", c)
		}
	})
}
