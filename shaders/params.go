package shaders

import "unsafe"

// The parameter blocks of the kernels. Fields are 4 bytes each, so that Go and MSL lay them out alike; params.metal is
// generated from these types. A weight's offset counts elements of 2 bytes from the start of the bound buffer.

// Matrix says where an affine matrix lies: offsets in bytes.
type Matrix struct{ Codes, Scales, Biases uint32 }

// NormParams is for rmsnorm and rmsnorm_add.
type NormParams struct {
	Width    uint32
	Eps      float32
	Weight   uint32
	Weighted uint32 // 0: the weight is 1
}

// RouterInputParams is for router_input.
type RouterInputParams struct {
	Width  uint32
	Eps    float32
	Scale  uint32  // the router's scale
	Weight uint32  // the norm of the routed experts
	Factor float32 // D^(-1/2)
}

// TailParams is for tail.
type TailParams struct {
	Width, TopK                     uint32
	Eps                             float32
	PostShared, PostRouted, PostFFN uint32
	Scalar                          float32
}

// EmbedParams is for embed.
type EmbedParams struct {
	Table  Matrix
	Width  uint32
	Factor float32
}

// AffineParams is for affine. Ends[i] is one past the last output of Matrix[i] among all outputs; unused ones repeat
// Outputs.
type AffineParams struct {
	Matrix           [3]Matrix
	Ends             [3]uint32
	Inputs, Outputs  uint32
	Rows             uint32
	XStride, YStride uint32 // elements between rows
	Limit            float32
}

// GegluParams is for affine_geglu.
type GegluParams struct {
	Gate, Up        Matrix
	Inputs, Outputs uint32
	Rows            uint32
}

// ExpertParams is for expert_geglu and expert_down: the picks of run i are [First[i], First[i+1]).
type ExpertParams struct {
	Gate, Up, Down  Matrix
	Inputs, Outputs uint32
	TopK            uint32
	First           [ExpertRuns + 1]uint32
}

// HeadsParams is for heads.
type HeadsParams struct {
	Heads, KVHeads, Width uint32
	Pairs                 uint32 // rotating ones
	Stride                uint32 // elements of a row of q, k and v
	KeyAt, ValueAt        uint32 // where they begin in a row
	QueryNorm, KeyNorm    uint32
	Pos, KVRows           uint32
	Eps                   float32
}

// AttendParams is for attend, attend_split and attend_join.
type AttendParams struct {
	Rows               uint32
	KVHeads, Group     uint32 // query heads per KV head
	Stride             uint32 // elements of a row of q
	Pos, Window        uint32
	KVRows             uint32
	FirstBlock, Blocks uint32 // split only
}

// ChooseParams is for choose.
type ChooseParams struct{ Rows, Experts, TopK, PerExpert uint32 }

// PositionParams is for positions.
type PositionParams struct{ Table, Width, Rows, GridWidth uint32 }

// TowerHeadsParams is for tower_heads.
type TowerHeadsParams struct {
	Heads, Width, GridWidth uint32
	QueryNorm, KeyNorm      uint32
	Eps                     float32
}

// PoolParams is for pool.
type PoolParams struct {
	Width, GridWidth, Side uint32
	Bias, Scale            uint32
	Root                   float32
}

// DenseParams is for dense and dense_simd.
type DenseParams struct{ Weight, Inputs, Outputs, Rows uint32 }

// TowerAttendParams is for tower_attend.
type TowerAttendParams struct{ Patches, Heads uint32 }

// Bytes views a parameter block as the bytes that a kernel reads.
func Bytes[T any](p *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)) }
