package pages

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"
)

func TestAllocIsZeroedAlignedAndWritable(t *testing.T) {
	before := Outstanding()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 2<<20 - 1, 2 << 20, 5<<20 + 3} {
		r, err := Alloc("test", size)
		if err != nil {
			t.Fatal(err)
		}
		b := r.Bytes()
		if len(b) != size || cap(b) != size {
			t.Fatalf("size %d: len %d cap %d", size, len(b), cap(b))
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); at%uintptr(os.Getpagesize()) != 0 {
			t.Errorf("size %d: address %#x is not page-aligned", size, at)
		}
		for i, v := range b {
			if v != 0 {
				t.Fatalf("size %d: byte %d is %d, want 0", size, i, v)
			}
			b[i] = byte(i)
		}
		if got := Usage()["test"]; got != int64(size) {
			t.Errorf("usage %d, want %d", got, size)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := Outstanding(); got != before {
		t.Errorf("%d regions outstanding, want %d", got, before)
	}
	if _, ok := Usage()["test"]; ok {
		t.Error("usage still names a class that holds nothing")
	}
}

func randomFile(t *testing.T, size int) (*os.File, []byte) {
	t.Helper()
	want := make([]byte, size)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range want {
		want[i] = byte(rng.Uint32())
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, want
}

func TestMapGivesExactlyTheRange(t *testing.T) {
	f, want := randomFile(t, 300_001)
	for _, c := range []struct{ offset, length int64 }{
		{0, 300_001}, {0, 0}, {300_001, 0}, {1, 1}, {4095, 2}, {4096, 4096}, {65535, 3}, {65536, 100}, {99_999, 200_002},
	} {
		r, err := Map("test", f, c.offset, c.length)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Bytes(), want[c.offset:c.offset+c.length]) {
			t.Errorf("offset %d length %d: wrong bytes", c.offset, c.length)
		}
		for _, a := range []Advice{WillNeed, Random, DontNeed} {
			if err := r.Advise(int(c.length/3), int(c.length), a); err != nil {
				t.Errorf("offset %d length %d: advice %d: %v", c.offset, c.length, a, err)
			}
		}
		if !bytes.Equal(r.Bytes(), want[c.offset:c.offset+c.length]) {
			t.Errorf("offset %d length %d: wrong bytes after advice", c.offset, c.length)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMapOutlivesTheDescriptor(t *testing.T) {
	f, want := randomFile(t, 10_000)
	r, err := Map("test", f, 5, 9_000)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if !bytes.Equal(r.Bytes(), want[5:9_005]) {
		t.Error("wrong bytes after the descriptor was closed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRangesOutsideAreRefused(t *testing.T) {
	f, _ := randomFile(t, 100)
	for _, c := range []struct{ offset, length int64 }{
		{0, 101}, {100, 1}, {101, 0}, {-1, 1}, {0, -1}, {1 << 62, 1 << 62},
	} {
		if _, err := Map("test", f, c.offset, c.length); !errors.Is(err, ErrRange) {
			t.Errorf("offset %d length %d: %v, want ErrRange", c.offset, c.length, err)
		}
	}
	if _, err := Alloc("test", -1); !errors.Is(err, ErrRange) {
		t.Errorf("negative size: %v, want ErrRange", err)
	}
	if _, err := Alloc("test", 1<<62); !errors.Is(err, ErrMemory) {
		t.Errorf("2^62 bytes: %v, want ErrMemory", err)
	}
	r, _ := Alloc("test", 10)
	defer r.Close()
	if err := r.Advise(3, 11, WillNeed); !errors.Is(err, ErrRange) {
		t.Errorf("advice past the end: %v, want ErrRange", err)
	}
}

func TestSecondCloseIsABug(t *testing.T) {
	r, err := Alloc("test", 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("second Close did not panic")
		}
	}()
	r.Close()
}

func TestAccountingUnderConcurrency(t *testing.T) {
	before := Outstanding()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 200 {
				r, err := Alloc("hammer", n)
				if err != nil {
					t.Error(err)
					return
				}
				Usage()
				r.Close()
			}
		})
	}
	wg.Wait()
	if got := Outstanding(); got != before {
		t.Errorf("%d regions outstanding, want %d", got, before)
	}
}
