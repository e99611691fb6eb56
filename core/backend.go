package core

import (
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// A Backend supplies the arithmetic of the stages and the memory they work on. It knows tensors and slots; it
// does not know sessions, prompts or files.
type Backend interface {
	// Name identifies the backend and its kernel set in reports, e.g. "cpu (avx512)".
	Name() string

	// NewExecutor prepares the resident weights w for chunks of up to opts.MaxRows rows. w's bytes stay mapped
	// until the Executor is closed. An Executor is used by one goroutine at a time.
	NewExecutor(w *Weights, opts ExecutorOptions) (Executor, error)
}

// ExecutorOptions sizes one Executor.
type ExecutorOptions struct {
	// MaxRows is the largest number of rows of one chunk, at least 1: the prefill chunk or the longest span.
	MaxRows int
	// KV is the element type of the caches that NewCache makes.
	KV KVType
}

// KVType is the element type of a KV cache.
type KVType int

const (
	KVFloat16 KVType = iota // default
	KVFloat32               // parity tests: the references cache nothing
)

// A Batch describes the rows of one chunk: N consecutive positions of one sequence.
type Batch struct {
	// Tokens holds the ids, [N].
	Tokens []int32
	// Pos is the absolute position of row 0.
	Pos int
	// SlidingEnd and FullEnd hold, per row, one past the last position that the row sees in sliding and in full
	// layers, [N]. Causal rows have Pos+row+1; rows of a bidirectional span see to the span's end. A sliding row
	// at position p never sees a position below p-W+1. Every end is at most Pos+N: the keys of the whole chunk
	// are written before any of its rows attends.
	SlidingEnd, FullEnd []int
	// Soft holds rows that stand in place of the token table's, unscaled, in ascending order of Row.
	Soft []SoftRow
}

// A SoftRow is one soft token: Data [H] replaces the embedding of row Row.
type SoftRow struct {
	Row  int
	Data []float32
}

// Routing is the router's choice for one layer and chunk.
type Routing struct {
	// Experts holds the K chosen ids of each row, [N, K], best score first, lower id first on a tie.
	Experts []gturbo.ExpertID
	// Weights holds what each chosen expert's output is multiplied with, [N, K].
	Weights []float32
}

// An ExpertRun asks for one expert on the rows that chose it.
type ExpertRun struct {
	Expert gturbo.ExpertID
	// Bytes holds the expert's blob in the layout of Weights.Expert.
	Bytes []byte
	// Picks holds the rows that chose this expert and at which rank, ascending by row.
	Picks []Pick
	// More says that the next run of this layer follows at once, without a wait for its bytes: a backend may hold this
	// one back and queue them together. Its fence passes all the same.
	More bool
}

// A Pick is one place in a Routing: row Row chose the expert as its Rank-th, 0 to K-1.
type Pick struct{ Row, Rank int32 }

// An Executor runs the stages of the forward program on its own scratch, which holds the residual stream [N, H] of
// the current chunk. Methods queue work in the order of the calls; only Route and Head wait for results.
//
// Same bits: what a stage computes for one row depends on that row and the rows it sees, never on N, on the order in
// which experts are run, on threads or on what ran before.
type Executor interface {
	// NewCache allocates the keys and values of one sequence.
	NewCache(spec CacheSpec) (Cache, error)

	// Embed fills the residual stream: token rows times the embedding factor, soft rows as they are.
	Embed(b *Batch) error
	// Attend runs the attention half of a layer and adds it to the residual stream. It writes the chunk's keys and
	// values to c first.
	Attend(layer gturbo.LayerID, b *Batch, c Cache) error
	// Route computes the router's choice and waits for it. The result is valid until the next Route.
	Route(layer gturbo.LayerID, b *Batch) (Routing, error)
	// Shared runs the shared expert (dense FFN) on all rows, its post norm included.
	Shared(layer gturbo.LayerID, b *Batch) error
	// Routed runs one expert on its picks and keeps each result apart at (row, rank). The returned fence has passed
	// when run.Bytes is no longer read; nil means at return.
	Routed(layer gturbo.LayerID, b *Batch, run ExpertRun) (residency.Fence, error)
	// Tail sums the routed results by rank, norms both branches, adds them to the residual stream and applies the
	// layer scalar.
	Tail(layer gturbo.LayerID, b *Batch) error
	// Head writes the softcapped logits of the listed rows to dst, [len(rows), V], and waits for them.
	Head(b *Batch, rows []int, dst []float32) error

	// Residual copies the residual stream of the chunk to dst, [N, H], and waits: for observers and tests.
	Residual(b *Batch, dst []float32) error
	// Drain waits until all queued work has passed.
	Drain() error
	Close() error
}

// An ExpertKeeper is an Executor that keeps something of its own for the memory of experts, e.g. GPU buffers around
// slots. Found by one type assertion, in ReleaseExperts.
type ExpertKeeper interface {
	// ForgetExperts lets go of all of it, before the memory is given back. The executor is drained.
	ForgetExperts()
}

// CacheSpec sizes a KV cache.
type CacheSpec struct {
	// MaxContext is the number of rows of full layers: the most positions of the sequence.
	MaxContext int
	// Ring is the number of rows of sliding layers; position p lies in row p % Ring. At least W-1 plus the largest
	// chunk, or MaxContext if that is less.
	Ring int
}

// A Cache holds the keys and values of one sequence, outside the Go heap. It does not know how many positions are
// filled; the session does.
type Cache interface {
	Spec() CacheSpec
	// Layer gives the raw memory of one layer, [rows, G, Dh] each, for snapshots. Valid while the backend is
	// drained, until Close.
	Layer(layer gturbo.LayerID) (k, v []byte)
	// SizeBytes is the memory that the cache holds.
	SizeBytes() int64
	Close() error
}
