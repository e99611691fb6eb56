package shaders

// ExpertRuns is the most experts that one dispatch of the expert kernels runs.
const ExpertRuns = 8

// A Kernel is one entry point.
type Kernel struct {
	Name    string
	Library *Library
	// Threads is the size of a threadgroup; 0 when any will do, because each thread works alone.
	Threads int
	// Buffers are the arguments by index: Buffers[i] is [[buffer(i)]].
	Buffers []Buffer
	// Threadgroup names the threadgroup memory whose size the host gives, by index.
	Threadgroup []string
}

// A Buffer is one buffer argument.
type Buffer struct {
	Name  string
	Write bool
}

// The sizes that grids are made of; the kernels' comments say how.
const (
	RowThreads     = 256 // kernels with a threadgroup per row
	ProductSimds   = 4   // simdgroups of the product kernels
	ProductOutputs = 4   // outputs of a simdgroup
	ProductRows    = 8   // rows of a simdgroup in the _r8 kernels
	SplitParts     = 4   // simdgroups that share outputs in the _r1 kernels of affine_split
	HeadSimds      = 4   // heads of a threadgroup of heads and tower_heads
	RouterSimds    = 4   // rows of a threadgroup of choose
	AttendBlock    = 64  // positions of a block
	AttendTile     = 8   // queries of a tile
	DenseTile      = 64  // rows and outputs of a threadgroup of dense
	TowerQueries   = 32  // queries of a threadgroup of tower_attend
	TensorTile     = 64  // rows and outputs of a threadgroup of affine_tensor and dense_tensor
	TensorPicks    = 32  // picks of a threadgroup of expert_geglu_tensor and expert_down_tensor
	TensorQueries  = 32  // queries of a threadgroup of attend_tensor and tower_attend_tensor
	TensorPairs    = 32  // outputs of a threadgroup of affine_geglu_tensor and expert_geglu_tensor
	MaxExperts     = 256 // choose
	MaxTopK        = 32  // choose
)

// AttendWidths and TowerWidths are the head widths that the attention kernels are made for.
var (
	AttendWidths = []int{64, 128, 256, 512}
	TowerWidths  = []int{32, 72}
)

// Kernels is the table of all kernels.
var Kernels = table()

// families are kernels that differ in a template argument, which their names end with. A buffer that is written has a
// star. No kernel has function constants.
var families = []struct {
	library     *Library
	name        string
	variants    []string
	threads     int
	buffers     []string
	threadgroup []string
}{
	{Rows, "embed_int4", nil, 0, []string{"weights", "tokens", "x*", "p"}, nil},
	{Rows, "rmsnorm", nil, RowThreads, []string{"weights", "x", "y*", "p"}, nil},
	{Rows, "rmsnorm_add", nil, RowThreads, []string{"weights", "y", "x*", "p"}, nil},
	{Rows, "router_input", nil, RowThreads, []string{"weights", "x", "z*", "u*", "p"}, nil},
	{Rows, "tail", nil, RowThreads, []string{"weights", "h", "routed", "weight", "x*", "p"}, []string{"branch"}},
	{Rows, "choose", nil, 32 * RouterSimds, []string{"weights", "scores", "experts*", "shares*", "p"}, nil},

	{Products, "affine", products, 32 * ProductSimds, []string{"weights", "x", "y*", "p"}, nil},
	{Products, "affine_split", products, 32 * ProductSimds, []string{"weights", "x", "y*", "p"}, nil},
	{Products, "affine_geglu", products, 32 * ProductSimds, []string{"weights", "x", "y*", "p"}, nil},
	{Products, "expert_geglu", products[:2], 32 * ProductSimds, append(blobs, "x", "act*", "picks", "p"), nil},
	{Products, "expert_down", products[:2], 32 * ProductSimds, append(blobs, "act", "routed*", "picks", "p"), nil},

	{Attention, "heads", []string{"f16", "f32"}, 32 * HeadSimds,
		[]string{"weights", "turn", "qkv*", "keys*", "values*", "p"}, nil},
	{Attention, "attend", attends, RowThreads, []string{"q*", "keys", "values", "ends", "p"}, nil},
	{Attention, "attend_split", attends, RowThreads,
		[]string{"q", "keys", "values", "ends", "parts*", "sums*", "p"}, nil},
	{Attention, "attend_join", []string{"d64", "d128", "d256", "d512"}, 0, []string{"parts", "sums", "q*", "p"}, nil},

	{Tower, "pixels", nil, 0, []string{"patches", "x*"}, nil},
	{Tower, "positions", nil, 0, []string{"table", "x*", "p"}, nil},
	{Tower, "tower_heads", nil, 32 * HeadSimds, []string{"query_norm", "key_norm", "turn", "q*", "k*", "v*", "p"}, nil},
	{Tower, "tower_attend", []string{"d32", "d72"}, 128, []string{"q*", "k", "v", "p"}, nil},
	{Tower, "dense", nil, RowThreads, []string{"weights", "x", "y*", "p"}, nil},
	{Tower, "dense_simd", nil, RowThreads, []string{"weights", "x", "y*", "p"}, nil},
	{Tower, "geglu", nil, 0, []string{"gate*", "up"}, nil},
	{Tower, "pool", nil, 0, []string{"bias", "scale", "x", "y*", "p"}, nil},

	{Tensors, "affine_tensor", []string{"int4", "int8"}, 128, []string{"weights", "x", "y*", "p"}, nil},
	{Tensors, "dense_tensor", nil, 128, []string{"weights", "x", "y*", "p"}, nil},
	{Tensors, "affine_geglu_tensor", []string{"int4", "int8"}, 128, []string{"weights", "x", "y*", "p"}, nil},
	{Tensors, "expert_geglu_tensor", []string{"int4"}, 128, append(blobs, "x", "act*", "picks", "p"), nil},
	{Tensors, "expert_down_tensor", []string{"int4"}, 128, append(blobs, "act", "routed*", "picks", "p"), nil},
	{Tensors, "attend_tensor", attends, RowThreads, []string{"q*", "keys", "values", "ends", "p"}, nil},
	{Tensors, "tower_attend_tensor", []string{"d32", "d72"}, RowThreads, []string{"q*", "k", "v", "p"}, nil},
}

var (
	products = []string{"int4_r1", "int4_r8", "int8_r1", "int8_r8"}
	attends  = []string{"f16_d64", "f16_d128", "f16_d256", "f16_d512", "f32_d64", "f32_d128", "f32_d256", "f32_d512"}
	blobs    = []string{"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"}
)

func table() []Kernel {
	var all []Kernel
	for _, f := range families {
		k := Kernel{Name: f.name, Library: f.library, Threads: f.threads, Threadgroup: f.threadgroup}
		for _, name := range f.buffers {
			written := name[len(name)-1] == '*'
			if written {
				name = name[:len(name)-1]
			}
			k.Buffers = append(k.Buffers, Buffer{name, written})
		}
		if f.variants == nil {
			all = append(all, k)
		}
		for _, v := range f.variants {
			k.Name = f.name + "_" + v
			all = append(all, k)
		}
	}
	return all
}
