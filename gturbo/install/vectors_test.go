package install

import (
	"bytes"
	"strings"
	"testing"
)

// The vectors of this file come from the format's description; the fixture's index hash is the reference's.
const fixtureIndexSHA256 = "aa705246112c17d4b60422a2705bda53e96553f7ff96e09b00e6fbb5a4ffa594"

func TestTextPlanFingerprint(t *testing.T) {
	copies := []copyOf{
		{shard: "model-00001-of-00001.safetensors", from: 128, to: 16384, size: 16},
		{shard: "model-00001-of-00001.safetensors", from: 144, to: 16400, size: 8},
		{shard: "model-00001-of-00001.safetensors", from: 152, to: 16408, size: 8},
	}
	plan, err := buildPlan([]Output{{Path: "model_weights.bin", Size: 16416}}, copies, 4096)
	if err != nil {
		t.Fatal(err)
	}
	plan.domain, plan.layout, plan.indexSHA256 = "TurboFieldfare.RemoteInstallPlan.v1", "identity", fixtureIndexSHA256
	const want = "78769321120e09ebfb052019c30ec5d497d6ed3f6bdb4b6d08a6924b02a8a55d"
	if got := plan.Fingerprint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVisionPlanFingerprint(t *testing.T) {
	copies := []copyOf{{shard: "model-00001-of-00001.safetensors", from: 128, size: 4}}
	plan, err := buildPlan([]Output{{Path: packWeights, Size: 16384}}, copies, 4096)
	if err != nil {
		t.Fatal(err)
	}
	plan.domain, plan.layout = "TurboFieldfare.RemoteVisionInstallPlan.v1", "vision-execution-order"
	plan.layoutOrder = strings.Repeat("a", 64)
	const want = "7678e9e679b2b161e4e4c7b7887e1e98fc4f77c2e2623a69fcca4eacecdac9c5"
	if got := plan.Fingerprint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRangeDigest(t *testing.T) {
	plan, err := buildPlan([]Output{{Path: "weights.bin", Size: 16}}, []copyOf{{shard: "s", size: 16}}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	f := newMemFS()
	file, err := f.Create("/m/weights.bin", 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte{7}, 16), 0); err != nil {
		t.Fatal(err)
	}
	e := &engine{art: &Artifact{Plan: plan}, files: []File{file}, blocks: newBlockMap(plan)}
	got, err := e.digest(t.Context(), &plan.Ranges[0], make([]byte, 5), func(*block, uint32) error { return nil })
	const want = "4071e22f836b73bd9cc1c651633307daa13d7b2ee2971aca49e93c73257c420d"
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
