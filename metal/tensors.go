package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/shaders"
)

// tensorFamily is the first GPU family with hardware for tensor operations: M5. Older ones run them too, no faster than
// they run the ordinary kernels.
const tensorFamily = 10

// Tensors returns nil when the device and its system have tensor operations that are worth using, else an error that wraps
// ErrTensors and says why not. It does not say that their kernels are right: SelfCheck does.
func (b *Backend) Tensors() error {
	switch {
	case !b.info.Metal4:
		return fmt.Errorf("metal: %s: %w: no Metal 4: macOS 26 or newer has it", b.info.Name, ErrTensors)
	case b.info.AppleFamily < tensorFamily:
		return fmt.Errorf("metal: %s: %w: GPU family Apple%d, hardware for them begins with Apple%d (M5)",
			b.info.Name, ErrTensors, b.info.AppleFamily, tensorFamily)
	}
	return nil
}

// allowTensors takes over what a self-check found.
func (b *Backend) allowTensors(passed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tensors = passed
}

// useTensors tells whether the image tower, and whether products and attention of chunks, go through tensor operations.
// Executors and towers ask once, when they are made. The tower always computes an image in one way, so that its bits depend
// on nothing else; a chunk's would differ from a decode step's, which is why they must be asked for.
func (b *Backend) useTensors() (tower, text bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tensors, b.tensors && b.tensorText
}

// runs tells whether the device runs a library at all.
func (b *Backend) runs(l *shaders.Library) bool {
	switch l {
	case shaders.Tower:
		return b.Images() == nil
	case shaders.Tensors:
		return b.Tensors() == nil
	}
	return true
}
