package residency

import (
	"errors"
	"fmt"
)

// Model is what the planner must know of a model and its backend: sizes in bytes, no shapes.
type Model struct {
	Dims
	TopK int // K: experts that one row uses in each layer

	Resident int64 // shared weights, mapped and clean
	// KVPosition is the KV cache of one position in all full layers, KVRow that of one ring row in all sliding ones.
	KVPosition, KVRow int64
	Window            int // W: a ring has W-1 rows and those of a chunk
	// Scratch is the backend's working memory whatever the chunk, ScratchRow what each row of a chunk adds.
	Scratch, ScratchRow int64
	Program             int64 // code, Go heap, stacks, logits
	MaxContext          int   // positions that the model was made for
	// Span is the longest span of soft tokens: scratch and rings take at least so many rows, whatever the chunk.
	Span int
	// Kept is held for conversations other than the one that runs: a server's, 0 elsewhere.
	Kept int64

	// TowerKept is mapped for good when the image tower is kept ready, else 0. TowerEncoding is what encoding a
	// picture takes on demand, pictures in flight included, while slots and their descriptors are given back; 0
	// without images.
	TowerKept, TowerEncoding int64
}

// Wish is what the user asks of a plan. A zero field leaves the choice to the planner.
type Wish struct {
	// Budget covers everything the process holds, clean mapped weights included. 0 means the default plan: 16 slots a
	// layer, chunks of 128 rows, 4096 positions; smaller only when Spare is.
	Budget int64
	// Spare is what the machine can give, see Memory.Spare; 0 means unknown. No plan takes more.
	Spare int64

	Slots, Chunk, Context int
	// Machine rates the choices; zero rates mean those of an ordinary laptop.
	Machine Machine
}

func (m Model) validate() error {
	if err := m.Dims.validate(); err != nil {
		return err
	}
	if m.TopK < 1 || m.TopK > m.Experts || m.Window < 1 || m.MaxContext < 1 {
		return fmt.Errorf("top %d of %d experts, window %d, %d positions at most: %w",
			m.TopK, m.Experts, m.Window, m.MaxContext, ErrOptions)
	}
	return nil
}

func (w Wish) validate(m Model) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format+": %w", append(args, ErrOptions)...))
	}
	if w.Slots != 0 && (w.Slots < min(minSlots, m.Experts) || w.Slots > maxSlots) {
		bad("slots per layer: %d, want %d to %d", w.Slots, minSlots, maxSlots)
	}
	if w.Chunk < 0 || w.Chunk > chunks[len(chunks)-1] {
		bad("prefill chunk: %d rows, want 1 to %d", w.Chunk, chunks[len(chunks)-1])
	}
	if w.Context < 0 || w.Context > m.MaxContext {
		bad("context: %d positions, want 1 to %d", w.Context, m.MaxContext)
	}
	if w.Budget < 0 || w.Spare < 0 {
		bad("memory: %d bytes of %d to spare", w.Budget, w.Spare)
	}
	return errors.Join(errs...)
}
