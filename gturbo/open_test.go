package gturbo

import (
	"bytes"
	"context"
	"testing"
)

func TestOpenGivesViewsOfTheWeights(t *testing.T) {
	ti := newTiny(t, tinyArch())
	in, err := Open(context.Background(), ti.write(t), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if !bytes.Equal(in.Region(), ti.files[WeightsFile]) {
		t.Fatal("the region is not the payload")
	}
	payload := ti.files[WeightsFile]
	bits := map[string]int{"router.proj": 8}
	for _, e := range ti.index.Entries {
		tensor, err := in.Tensor(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		for part, got := range map[Extent][]byte{e.Weights: tensor.Data, e.Scales: tensor.Scales, e.Biases: tensor.Biases} {
			if part.Size == 0 {
				if got != nil {
					t.Errorf("%s: an absent part has %d bytes", e.Name, len(got))
				}
				continue
			}
			lo := part.Offset - ti.index.IndexSize
			if !bytes.Equal(got, payload[lo:lo+part.Size]) {
				t.Errorf("%s: %d bytes at %d differ", e.Name, part.Size, part.Offset)
			}
		}
		want := 0
		if e.DType == U32 {
			want = 4
			for name, b := range bits {
				if bytes.Contains([]byte(e.Name), []byte(name)) {
					want = b
				}
			}
		}
		if tensor.Bits != want {
			t.Errorf("%s: %d bits, want %d", e.Name, tensor.Bits, want)
		}
	}
}
