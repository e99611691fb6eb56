package standin

// Options says what device to play and how hard to look. The zero value is an M2 (Apple8) with Metal 3, whose kernels
// run fast on all processors, forward, with CPU accesses guarded.
type Options struct {
	// AppleFamily is the GPU family: 7 for M1; default 8. -1 plays a Mac whose system has no default device.
	AppleFamily int
	// NoMetal3 leaves the Metal 3 feature set out.
	NoMetal3 bool
	// Metal4 adds the Metal 4 feature set, and with it the language version 4.0.
	Metal4 bool
	// MaxThreads is the most threads per threadgroup of every pipeline; default 1024, at most 1024.
	MaxThreads int
	// MaxThreadgroupMemory in bytes; default and at most 32768.
	MaxThreadgroupMemory int
	// MaxBuffer and WorkingSet in bytes; default 8 GiB and 5 GiB.
	MaxBuffer, WorkingSet int64
	// MemoryLimit is the sum of buffers, in bytes, beyond which allocations fail; default none.
	MemoryLimit int64
	// Checked builds kernels with every access checked: races, bounds, uninitialised threadgroup memory, missing
	// barriers between dispatches. About ten times slower.
	Checked bool
	// Order is that of lanes, threadgroups and overlapping dispatches; Seed is for Shuffle.
	Order Order
	Seed  uint64
	// Strict makes a simd function that only part of a simdgroup reaches an error.
	Strict bool
	// Workers is the number of threads of one dispatch; default all processors. The checked build uses one.
	Workers int
	// Unguarded leaves the CPU's view of buffers open while work is queued.
	Unguarded bool
}

// Order is the sequence in which the emulator runs what Metal may run in any.
type Order int

const (
	Forward Order = iota
	Reverse
	Shuffle
)

func (o Options) config() config {
	orElse := func(v, d int64) uint64 {
		if v == 0 {
			v = d
		}
		return uint64(v)
	}
	c := config{
		AppleFamily:          orElse(int64(o.AppleFamily), 8),
		Metal3:               bit(!o.NoMetal3),
		Metal4:               bit(o.Metal4),
		MaxThreadgroupMemory: orElse(int64(o.MaxThreadgroupMemory), 32768),
		MaxThreads:           orElse(int64(o.MaxThreads), 1024),
		MaxBuffer:            orElse(o.MaxBuffer, 8<<30),
		WorkingSet:           orElse(o.WorkingSet, 5<<30),
		MemoryLimit:          uint64(o.MemoryLimit),
		Checked:              bit(o.Checked),
		Order:                uint64(o.Order),
		Seed:                 o.Seed,
		Strict:               bit(o.Strict),
		Workers:              uint64(o.Workers),
		Protect:              bit(!o.Unguarded),
	}
	if o.AppleFamily < 0 {
		c.AppleFamily = 0
	}
	return c
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
