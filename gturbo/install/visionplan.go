package install

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Names in an image pack.
const (
	packWeights   = "vision_weights.bin"
	packProcessor = "processor_config.json"
	processorCap  = 4 << 20
)

// Totals of the pinned checkpoint's image tensors.
const (
	pinnedVisionTensors = 358
	pinnedVisionBytes   = 1_140_925_536
)

// PackRegion is one tensor of an image pack, in execution order.
type PackRegion struct {
	Name   string
	DType  string  // "u32" or "bf16"
	Shape  []int64 // as stored, slowest axis first
	Offset int64   // in vision_weights.bin, a multiple of 16 KiB
	Size   int64   // bytes
	Bits   int     // of packed weights, else 0
}

// visionRegions puts a checkpoint's image tensors into execution order and places them. It returns the source tensor
// of every region and the size of the file that holds them.
func visionRegions(snap *Snapshot) (regions []PackRegion, tensors []Tensor, size int64, err error) {
	for name, t := range snap.Tensors {
		if slices.ContainsFunc(droppedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			tensors = append(tensors, t)
		}
	}
	if len(tensors) == 0 {
		return nil, nil, 0, fmt.Errorf("%w: the checkpoint has no image tower", ErrMissingTensor)
	}
	slices.SortFunc(tensors, func(a, b Tensor) int { return strings.Compare(visionKey(a.Name), visionKey(b.Name)) })
	var payload int64
	for _, t := range tensors {
		r := PackRegion{Name: t.Name, Shape: t.Shape, Size: t.Size}
		if r.DType, r.Bits, err = visionType(snap, t); err != nil {
			return nil, nil, 0, err
		}
		aligned, ok := gturbo.AlignUp(uint64(size))
		if !ok || int64(aligned) < 0 || int64(aligned)+t.Size < 0 {
			return nil, nil, 0, fmt.Errorf("%w: image tensors take more than 2^63 bytes", ErrPlan)
		}
		r.Offset = int64(aligned)
		size = r.Offset + r.Size
		payload += r.Size
		regions = append(regions, r)
	}
	if snap.IndexSHA256 == Pinned.IndexSHA256 && (len(tensors) != pinnedVisionTensors || payload != pinnedVisionBytes) {
		return nil, nil, 0, fmt.Errorf("%w: %d image tensors with %d bytes, expected %d with %d",
			ErrTensor, len(tensors), payload, pinnedVisionTensors, pinnedVisionBytes)
	}
	return regions, tensors, size, nil
}

// visionType holds an image tensor to what the pack can say about it.
func visionType(snap *Snapshot, t Tensor) (dtype string, bits int, err error) {
	switch {
	case t.Size == 0:
		return "", 0, fmt.Errorf("%w: %s is empty", ErrTensor, t.Name)
	case t.DType == BF16:
		return "bf16", 0, nil
	case t.DType != U32 || !strings.HasSuffix(t.Name, ".weight"):
		return "", 0, fmt.Errorf("%w: %s is %s, expected BF16 or packed U32 weights", ErrTensor, t.Name, t.DType)
	}
	if bits = snap.Parsed.Quantization.TensorBits(t.Name); bits != 4 {
		return "", 0, fmt.Errorf("%w: %s has codes of %d bits, expected 4", ErrTensor, t.Name, bits)
	}
	for _, suffix := range []string{".scales", ".biases"} {
		if _, err := snap.companion(t, suffix); err != nil {
			return "", 0, err
		}
	}
	return "u32", bits, nil
}

// visionKey orders image tensors as the tower meets them: patches, layers, standardisation, projection.
func visionKey(name string) string {
	const layers = "vision_tower.encoder.layers."
	switch {
	case strings.HasPrefix(name, "vision_tower.patch_embedder."):
		return "0000/" + name
	case strings.HasPrefix(name, layers):
		digits, _, _ := strings.Cut(name[len(layers):], ".")
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
			return fmt.Sprintf("1000/%03d/%s", n, name)
		}
	case name == "vision_tower.std_bias", name == "vision_tower.std_scale":
		return "2000/" + name
	case strings.HasPrefix(name, "embed_vision."):
		return "3000/" + name
	}
	return "9999/" + name
}

// visionPlan plans the copies of an image pack. The text model's manifest is part of the plan's identity: a download
// that was begun for another text model is not continued.
func visionPlan(snap *Snapshot, textManifestSHA256 string, chunk int64) (*Plan, []PackRegion, error) {
	regions, tensors, size, err := visionRegions(snap)
	if err != nil {
		return nil, nil, err
	}
	copies := make([]copyOf, len(regions))
	for i, r := range regions {
		copies[i] = copyOf{shard: tensors[i].Shard, from: tensors[i].Offset, to: r.Offset, size: r.Size}
	}
	plan, err := buildPlan([]Output{{Path: packWeights, Size: size}}, copies, chunk)
	if err != nil {
		return nil, nil, err
	}
	plan.domain, plan.layout = "TurboFieldfare.RemoteVisionInstallPlan.v1", "vision-execution-order"
	plan.layoutOrder = textManifestSHA256
	return plan, regions, nil
}
