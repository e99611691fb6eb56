package vision

import (
	"encoding/json"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/gturbo/synth"
	"github.com/fieldfare/fieldfare/text"
)

var fullSize = flag.Bool("fullsize", false, "run a tower of the 26B's shapes: 1.1 GB of generated weights, minutes of work")

// fullEvery is which soft tokens of the reference's 266 the golden file keeps.
const fullEvery = 33

// TestTowerOfTheRealShapes runs the generated weights of the 26B's tower, all 27 layers, on a picture of 2,394 patches.
// The text model around it is small: it does not reach soft tokens.
func TestTowerOfTheRealShapes(t *testing.T) {
	if !*fullSize {
		t.Skip("-fullsize runs it")
	}
	var config, full map[string]any
	if err := json.Unmarshal(synth.Thin(), &config); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(synth.Full(), &full); err != nil {
		t.Fatal(err)
	}
	config["vision_config"] = full["vision_config"]
	config["vision_soft_tokens_per_image"] = full["vision_soft_tokens_per_image"]
	words := config["text_config"].(map[string]any)
	words["hidden_size"] = full["text_config"].(map[string]any)["hidden_size"]
	words["num_experts"], words["moe_intermediate_size"] = 8, 64
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &spy{Backend: backend}
	var soft []float32
	scratch := int64(0)
	s.layer = func(rows []float32) error {
		soft = append(soft, rows...)
		scratch = pages.Usage()["tower"]
		return nil
	}
	var took time.Duration
	rt, x := load(t, synthetic(t, data), s, Options{Encoded: func(e Encoded) { took = e.Tower }}, nil)
	if x.Budget() != 280 || len(x.Pack().Manifest().Tensors) != 358 {
		t.Errorf("budget %d and %d tensors, want 280 and 358", x.Budget(), len(x.Pack().Manifest().Tensors))
	}
	place := text.Message{Role: text.RoleUser, Content: text.List(text.Part{Image: true})}
	media := []core.Media{{Name: "full", Data: syntheticPicture(t, 57, 42)}}
	p := prepare(t, rt, text.Conversation{Messages: []text.Message{place}}, media)
	prefill(t, session(t, rt), p)
	off := relative(everyRow(soft, 2816, fullEvery), readNpy(t, "full-image.soft.npy"))
	t.Logf("soft tokens off by %.1e; %v; %d bytes mapped at most, %d of scratch", off, took, s.mapped, scratch)
	if off > towerTolerance {
		t.Errorf("soft tokens off by %.2e", off)
	}
	if scratch > 66<<20 {
		t.Errorf("%d bytes of scratch, want at most 66 MiB", scratch)
	}
	if s.mapped > 3*41<<20 {
		t.Errorf("%d bytes mapped at a time, want at most three layers", s.mapped)
	}
}

// everyRow keeps the first of every n rows.
func everyRow(rows []float32, width, n int) (kept []float32) {
	for chunk := range slices.Chunk(rows, width*n) {
		kept = append(kept, chunk[:width]...)
	}
	return kept
}
