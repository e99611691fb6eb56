package gturbo

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func layerPath(dir string, name string) string { return filepath.Join(dir, ExpertsDir, name) }

func TestOpenLayerHashesOnFirstUseOnly(t *testing.T) {
	ti := newTiny(t, tinyArch())
	var hashed atomic.Int64
	in := open(t, ti.write(t), OpenOptions{LayerProgress: func(layer LayerID, done, total int64) {
		if layer != 1 || done > total || total != 4*16384 {
			t.Errorf("layer %d: %d of %d", layer, done, total)
		}
		if done == total {
			hashed.Add(1)
		}
	}})
	for range 3 {
		f, err := in.OpenLayer(1)
		if err != nil {
			t.Fatal(err)
		}
		blob := make([]byte, 16384)
		if _, err := f.ReadAt(blob, in.ExpertOffset(1, 2)); err != nil {
			t.Fatal(err)
		}
		if want := ti.files["packed_experts/layer_01.bin"][2*16384 : 3*16384]; !bytes.Equal(blob, want) {
			t.Error("other bytes than the expert's")
		}
		f.Close()
	}
	if n := hashed.Load(); n != 1 {
		t.Errorf("hashed %d times", n)
	}
}

func TestConcurrentCallersOfOpenLayerHashOnce(t *testing.T) {
	var hashed atomic.Int64
	in := open(t, newTiny(t, tinyArch()).write(t), OpenOptions{LayerProgress: func(_ LayerID, done, total int64) {
		if done == total {
			hashed.Add(1)
		}
	}})
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			f, err := in.OpenLayer(LayerID(i % 3))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if n, err := io.Copy(io.Discard, f); err != nil || n != 4*16384 {
				t.Errorf("read %d bytes, %v", n, err)
			}
		})
	}
	group.Wait()
	if n := hashed.Load(); n != 3 {
		t.Errorf("3 layers were hashed %d times", n)
	}
}

func TestDamagedLayerIsCaughtOnFirstTouchOfThatLayer(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	in := open(t, dir, OpenOptions{})
	if err := flip(40000)(layerPath(dir, "layer_01.bin")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a failure is not remembered as anything else
		_, err := in.OpenLayer(1)
		var damage *DamageError
		if !errors.As(err, &damage) || !errors.Is(err, ErrChecksum) ||
			damage.Damages[0].File != "packed_experts/layer_01.bin" {
			t.Fatalf("layer 1: %v", err)
		}
	}
	for _, layer := range []LayerID{0, 2} {
		f, err := in.OpenLayer(layer)
		if err != nil {
			t.Fatalf("layer %d: %v", layer, err)
		}
		f.Close()
	}
	if err := flip(40000)(layerPath(dir, "layer_01.bin")); err != nil {
		t.Fatal(err)
	}
	f, err := in.OpenLayer(1)
	if err != nil {
		t.Fatalf("repaired: %v", err)
	}
	f.Close()
}

func TestTrustedReceiptDoesNotHashLayers(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	if err := flip(40000)(layerPath(dir, "layer_01.bin")); err != nil {
		t.Fatal(err)
	}
	in := open(t, dir, OpenOptions{TrustReceipt: true})
	f, err := in.OpenLayer(1)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := cut(1)(layerPath(dir, "layer_01.bin")); err != nil {
		t.Fatal(err)
	}
	if _, err := in.OpenLayer(1); !errors.Is(err, ErrSize) {
		t.Errorf("a size that changed after load: %v", err)
	}
}

func TestLayerThatWasReplacedIsHashedAgain(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	in := open(t, dir, OpenOptions{})
	f, err := in.OpenLayer(0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	path := layerPath(dir, "layer_00.bin")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "other", noise(99, 4*16384))
	if err := os.Chtimes(filepath.Join(dir, "other"), time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "other"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := in.OpenLayer(0); !errors.Is(err, ErrChecksum) {
		t.Errorf("another file at the name: %v", err)
	}
}

func TestOpenLayerAfterCloseFails(t *testing.T) {
	in := open(t, newTiny(t, tinyArch()).write(t), OpenOptions{})
	f, err := in.OpenLayer(0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := in.OpenLayer(0); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
		t.Errorf("a file opened before: %v", err)
	}
}

func TestOpenLayerOfNoLayerIsABug(t *testing.T) {
	in := open(t, newTiny(t, tinyArch()).write(t), OpenOptions{})
	for _, layer := range []LayerID{-1, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("layer %d was opened", layer)
				}
			}()
			in.OpenLayer(layer)
		}()
	}
}
