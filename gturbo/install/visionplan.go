package install

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/visionpack"
)

// Names in an image pack.
const (
	packWeights   = visionpack.WeightsFile
	packProcessor = visionpack.ProcessorFile
)

// Totals of the pinned checkpoint's image tensors.
const (
	pinnedVisionTensors = 358
	pinnedVisionBytes   = 1_140_925_536
)

// visionTensors puts a checkpoint's image tensors into execution order and places them. It returns them as the pack
// and as the source have them, and the size of the file that holds them.
func visionTensors(snap *Snapshot) (placed []visionpack.Tensor, tensors []Tensor, size int64, err error) {
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
	for i, t := range tensors {
		p, err := visionTensor(snap, t)
		if err != nil {
			return nil, nil, 0, err
		}
		aligned, ok := gturbo.AlignUp(uint64(size))
		if !ok || int64(aligned) < 0 || int64(aligned)+t.Size < 0 {
			return nil, nil, 0, fmt.Errorf("%w: image tensors take more than 2^63 bytes", ErrPlan)
		}
		p.ExecutionPosition, p.Offset = i, aligned
		size = int64(aligned) + t.Size
		payload += t.Size
		placed = append(placed, p)
	}
	if snap.IndexSHA256 == Pinned.IndexSHA256 && (len(tensors) != pinnedVisionTensors || payload != pinnedVisionBytes) {
		return nil, nil, 0, fmt.Errorf("%w: %d image tensors with %d bytes, expected %d with %d",
			ErrTensor, len(tensors), payload, pinnedVisionTensors, pinnedVisionBytes)
	}
	return placed, tensors, size, nil
}

// visionTensor puts an image tensor in the pack's terms, as far as it has terms for it.
func visionTensor(snap *Snapshot, t Tensor) (visionpack.Tensor, error) {
	p := visionpack.Tensor{Name: t.Name, File: packWeights, Size: uint64(t.Size), DType: visionpack.BF16}
	for _, d := range t.Shape {
		p.Shape = append(p.Shape, uint64(d))
	}
	switch {
	case t.Size == 0:
		return p, fmt.Errorf("%w: %s is empty", ErrTensor, t.Name)
	case t.DType == BF16:
		return p, nil
	case t.DType != U32 || !strings.HasSuffix(t.Name, ".weight"):
		return p, fmt.Errorf("%w: %s is %s, expected BF16 or packed U32 weights", ErrTensor, t.Name, t.DType)
	}
	if bits := snap.Parsed.Quantization.TensorBits(t.Name); bits != visionpack.Packed.WeightBits {
		return p, fmt.Errorf("%w: %s has codes of %d bits, expected %d", ErrTensor, t.Name, bits, visionpack.Packed.WeightBits)
	}
	for _, suffix := range []string{".scales", ".biases"} {
		if _, err := snap.companion(t, suffix); err != nil {
			return p, err
		}
	}
	p.DType, p.Quantization = visionpack.U32, &visionpack.Packed
	return p, nil
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
func visionPlan(snap *Snapshot, textManifestSHA256 string, chunk int64) (*Plan, []visionpack.Tensor, error) {
	placed, tensors, size, err := visionTensors(snap)
	if err != nil {
		return nil, nil, err
	}
	copies := make([]copyOf, len(placed))
	for i, t := range tensors {
		copies[i] = copyOf{shard: t.Shard, from: t.Offset, to: int64(placed[i].Offset), size: t.Size}
	}
	plan, err := buildPlan([]Output{{Path: packWeights, Size: size}}, copies, chunk)
	if err != nil {
		return nil, nil, err
	}
	plan.domain, plan.layout = "TurboFieldfare.RemoteVisionInstallPlan.v1", "vision-execution-order"
	plan.layoutOrder = textManifestSHA256
	return plan, placed, nil
}
