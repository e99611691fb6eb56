package visionpack

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// What decodes must encode to something that decodes to the same; what is refused is refused by class.
func FuzzDecodeManifest(f *testing.F) {
	m, _ := tinyPack(tinyTower())
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"magic": "GTURBO-VISION"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			if !errors.Is(err, ErrMetadata) {
				t.Errorf("refused without a class: %v", err)
			}
			return
		}
		for _, x := range m.Tensors {
			if x.Offset+x.Size > m.Files[WeightsFile].Size || x.Offset > math.MaxInt64 {
				t.Errorf("%s leaves the file", x.Name)
			}
		}
		if err := tinyTower().Fits(m.Tensors); err != nil && !errors.Is(err, ErrSchema) {
			t.Errorf("misfit without a class: %v", err)
		}
		first, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeManifest(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("encodes differently the second time: %v", err)
		}
	})
}

func FuzzDecodeReceipt(f *testing.F) {
	m, _ := tinyPack(tinyTower())
	manifest, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	receipt, err := NewReceipt(m, manifest, "/m/tiny.vision.gturbo", "test").Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(receipt)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeReceipt(data)
		if err == nil {
			err = c.CheckBinding(m, manifest, "/m/tiny.vision.gturbo")
		}
		if err != nil && !errors.Is(err, ErrReceipt) {
			t.Errorf("refused without a class: %v", err)
		}
	})
}

func FuzzConfigurations(f *testing.F) {
	f.Add([]byte(tinyConfig))
	f.Add([]byte(tinyProcessor))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tower, err := ParseTower(data, 128); err == nil {
			if n := len(tower.groups()); n != tower.Layers+2 {
				t.Errorf("%d groups for %d layers", n, tower.Layers)
			}
		} else if !errors.Is(err, ErrTower) {
			t.Errorf("refused without a class: %v", err)
		}
		if _, err := ParseProcessor(data, tinyTower()); err != nil && !errors.Is(err, ErrProcessor) {
			t.Errorf("refused without a class: %v", err)
		}
	})
}
