package install

import (
	"fmt"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// expertMark is what the names of routed experts' tensors contain.
const expertMark = ".experts.switch_glu."

// expertRoles are the projections of an expert in the order in which a blob holds them.
var expertRoles = []string{"gate", "up", "down"}

// experts are the tensors of one layer's routed experts, by role; each holds all experts, outermost first.
type experts map[string]resident

// expertRole takes a routed expert's tensor name apart.
func expertRole(name string) (layer int, role string, ok bool) {
	if !strings.HasPrefix(name, languagePrefix) || !strings.Contains(name, expertMark) {
		return 0, "", false
	}
	layer, found := layerOf(name)
	for _, r := range expertRoles {
		if strings.Contains(name, "."+r+"_proj.") {
			return layer, r, found
		}
	}
	return 0, "", false
}

// checkExperts holds a routed expert's tensors to what slicing needs: rank 3, the experts outermost, whole slices.
func checkExperts(r *resident, numExperts int) error {
	if r.bits == 0 {
		return fmt.Errorf("%w: %s is %s, expected packed U32", ErrTensor, r.weights.Name, r.weights.DType)
	}
	for _, t := range []*Tensor{&r.weights, r.scales, r.biases} {
		if len(t.Shape) != 3 || t.Shape[0] != int64(numExperts) {
			return fmt.Errorf("%w: %s has shape %v, expected %d experts of rank 2", ErrTensor, t.Name, t.Shape, numExperts)
		}
		for _, d := range t.Shape[1:] {
			if d <= 0 || d >= 1<<32 {
				return fmt.Errorf("%w: %s has shape %v", ErrTensor, t.Name, t.Shape)
			}
		}
	}
	return nil
}

// expertPiece is one of the nine parts of a blob: where it lies there, and the tensor that it is a slice of.
type expertPiece struct {
	role   string
	offset int64
	size   int64
	tensor *Tensor
	bits   int // of packed weights, else 0
}

// blobPieces lays out one expert: gate, up, down, and in each packed weights, scales, biases.
func blobPieces(layer experts, numExperts int) (pieces []expertPiece, size int64) {
	for _, role := range expertRoles {
		r := layer[role]
		for _, p := range []expertPiece{
			{role: role, tensor: &r.weights, bits: r.bits},
			{role: role + "_scales", tensor: r.scales},
			{role: role + "_biases", tensor: r.biases},
		} {
			p.offset, p.size = size, p.tensor.Size/int64(numExperts)
			pieces = append(pieces, p)
			size += p.size
		}
	}
	return pieces, size
}

// layerLayout describes a layer's file with the experts in their logical order. All experts share one map.
func layerLayout(layer gturbo.LayerID, pieces []expertPiece, numExperts int, stride uint64) gturbo.LayerLayout {
	tensors := map[string]gturbo.SubTensor{}
	for _, p := range pieces {
		sub := gturbo.SubTensor{Offset: uint64(p.offset), Size: uint64(p.size), DType: string(p.tensor.DType)}
		shape := p.tensor.Shape[1:]
		if p.bits != 0 {
			bits := p.bits
			sub.Bits = &bits
			shape = logicalShape(shape, p.bits)
		}
		for _, d := range shape {
			sub.Shape = append(sub.Shape, uint32(d))
		}
		tensors[p.role] = sub
	}
	l := gturbo.LayerLayout{Layer: layer, File: fmt.Sprintf("layer_%02d.bin", layer)}
	for i := range numExperts {
		id := gturbo.ExpertID(i)
		l.Experts = append(l.Experts,
			gturbo.ExpertRecord{Expert: &id, Offset: uint64(i) * stride, Size: stride, Tensors: tensors})
	}
	return l
}

// expertCopies lists where the bytes of a layer's file come from.
func expertCopies(pieces []expertPiece, numExperts int, stride int64, file int) []copyOf {
	copies := make([]copyOf, 0, len(pieces)*numExperts)
	for _, p := range pieces {
		for i := range int64(numExperts) {
			copies = append(copies, copyOf{
				shard: p.tensor.Shard, from: p.tensor.Offset + i*p.size, file: file, to: i*stride + p.offset, size: p.size,
			})
		}
	}
	return copies
}
