package metal

import (
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// product encodes y = W x for rows.
func (e *executor) product(p *shaders.AffineParams, bits, rows int, x, y argument) {
	e.at.affine = *p
	e.at.affine.Rows = u32(rows)
	if k := e.k.tensor.affine[bits]; k != nil && rows > shaders.ProductRows {
		grid := driver.D2(ceil(int(p.Outputs), shaders.TensorTile), ceil(rows, shaders.TensorTile))
		e.s.dispatch(k, grid, in(e.region.buffer), x, y, inBytes(shaders.Bytes(&e.at.affine)))
		return
	}
	k, width, height := productGrid(e.k.affine[bits], e.k.split[bits], int(p.Outputs), rows)
	e.s.dispatch(k, driver.D2(width, height), in(e.region.buffer), x, y, inBytes(shaders.Bytes(&e.at.affine)))
}

// splitOutputs is the most outputs of a matrix whose sums are split: fewer simdgroups than a GPU has room for would make
// them. Whether they are split goes by the matrix alone, because it decides the order of its sums.
const splitOutputs = 4096

// productGrid chooses the kernel for a product and says how many threadgroups it takes across and down.
func productGrid(whole, split byRows, outputs, rows int) (k *kernel, width, height int) {
	kernels, perGroup := whole, shaders.ProductSimds*shaders.ProductOutputs
	if outputs <= splitOutputs {
		kernels = split
		if rows == 1 {
			perGroup /= shaders.SplitParts
		}
	}
	if rows == 1 {
		return kernels.one, ceil(outputs, perGroup), 1
	}
	return kernels.many, ceil(outputs, perGroup), ceil(rows, shaders.ProductRows)
}

// gegluGrid does the same for gate and up of the shared expert.
func (e *executor) gegluGrid(bits, outputs, rows int) (k *kernel, width, height int) {
	const perGroup = shaders.ProductSimds * shaders.ProductOutputs / 2
	if rows == 1 {
		return e.k.geglu[bits].one, ceil(outputs, perGroup), 1
	}
	if t := e.k.tensor.geglu[bits]; t != nil && rows > shaders.ProductRows {
		return t, ceil(outputs, shaders.TensorPairs), ceil(rows, shaders.TensorTile)
	}
	return e.k.geglu[bits].many, ceil(outputs, perGroup), ceil(rows, shaders.ProductRows)
}

// normRows encodes y = RMS(x) * w for rows.
func (e *executor) normRows(k *kernel, p *shaders.NormParams, rows int, x, y argument) {
	e.at.norm = *p
	e.s.dispatch(k, driver.D1(rows), in(e.region.buffer), x, y, inBytes(shaders.Bytes(&e.at.norm)))
}
