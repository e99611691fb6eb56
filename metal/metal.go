package metal

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// Options configures a Backend. The zero value is right for production.
type Options struct {
	// Foreign accepts a device that is not Apple's, for tests and measurements. Default: refuse it.
	Foreign bool
	// TensorText makes products and attention of chunks of more than 8 rows go through Metal 4's tensor operations, once
	// the self-check has passed them. A row's bits then depend on how many rows came with it. Default: off.
	TensorText bool
}

// A Backend runs models on one device. Its methods may be called from any goroutine.
type Backend struct {
	device     driver.Device
	info       driver.Info
	foreign    bool
	tensorText bool
	queue      driver.Queue
	total      totals

	mu        sync.Mutex // guards what is compiled, and tensors
	libraries map[*shaders.Library]driver.Library
	kernels   map[string]*kernel
	tensors   bool // a self-check has passed the kernels of shaders.Tensors
}

var (
	_ core.Backend      = (*Backend)(nil)
	_ core.TowerBackend = (*Backend)(nil)
)

const (
	textFamily  = 7 // M1
	imageFamily = 8 // M2
	simdWidth   = 32
)

// New makes a backend on device, which it does not own. Nothing is compiled yet. Errors wrap ErrDevice or are the device's.
func New(device driver.Device, o Options) (*Backend, error) {
	b := &Backend{
		device: device, info: device.Info(), foreign: o.Foreign, tensorText: o.TensorText,
		libraries: map[*shaders.Library]driver.Library{}, kernels: map[string]*kernel{},
	}
	if err := b.suits(o); err != nil {
		return nil, err
	}
	var err error
	if b.queue, err = device.NewQueue(); err != nil {
		return nil, fmt.Errorf("metal: %w", err)
	}
	return b, nil
}

// suits names every feature that the device lacks for text.
func (b *Backend) suits(o Options) error {
	var problems []error
	lack := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrDevice}, args...)...))
	}
	if !o.Foreign {
		if b.info.AppleFamily < textFamily {
			lack("GPU family Apple%d, text needs Apple%d (M1) or newer", b.info.AppleFamily, textFamily)
		}
		if !b.info.Metal3 {
			lack("no Metal 3: macOS 13 or newer has it")
		}
		if !b.info.UnifiedMemory {
			lack("GPU and CPU do not share one memory")
		}
	}
	return joinProblems("metal: "+b.info.Name, problems)
}

// Images returns nil when the device can run the image tower, else an error that wraps ErrImages and says why not.
func (b *Backend) Images() error {
	if f := b.info.AppleFamily; f != 0 && f < imageFamily {
		return fmt.Errorf("metal: %s: %w: GPU family Apple%d, images need Apple%d (M2) or newer",
			b.info.Name, ErrImages, f, imageFamily)
	}
	return nil
}

// Name is "metal" and the device.
func (b *Backend) Name() string { return "metal (" + b.info.Name + ")" }

// Stats tells what executors and towers queued and waited for so far, up to their last wait.
func (b *Backend) Stats() Stats {
	b.total.mu.Lock()
	defer b.total.mu.Unlock()
	return b.total.stats
}

// stream makes a stream of command buffers.
func (b *Backend) stream(label string) stream {
	return stream{queue: b.queue, label: label, total: &b.total}
}

// Close gives queue, pipelines and libraries back. Executors and towers must be closed before.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kernels {
		k.pipeline.Free()
	}
	for _, l := range b.libraries {
		l.Free()
	}
	b.queue.Free()
	b.kernels, b.libraries = nil, nil
	return nil
}

// A kernel is a pipeline with its line in the table.
type kernel struct {
	pipeline driver.Pipeline
	spec     *shaders.Kernel
}

// kernel compiles a kernel on its first use.
func (b *Backend) kernel(name string) (*kernel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.kernels[name]; k != nil {
		return k, nil
	}
	for i := range shaders.Kernels {
		if spec := &shaders.Kernels[i]; spec.Name == name {
			k, err := b.compile(spec)
			if err != nil {
				return nil, fmt.Errorf("metal: kernel %s: %w", name, err)
			}
			b.kernels[name] = k
			return k, nil
		}
	}
	panic("BUG: metal: no kernel " + name)
}

func (b *Backend) compile(spec *shaders.Kernel) (*kernel, error) {
	l := b.libraries[spec.Library]
	if l == nil {
		var err error
		// Fast math would let the compiler order sums differently in kernels that must agree bit by bit.
		if l, err = b.device.NewLibrary(spec.Library.Source(), driver.LibraryOptions{
			Version: spec.Library.Version, PreciseMath: true,
		}); err != nil {
			return nil, err
		}
		b.libraries[spec.Library] = l
	}
	p, err := l.Pipeline(spec.Name)
	if err != nil {
		return nil, err
	}
	if w := p.SIMDWidth(); w != simdWidth {
		p.Free()
		return nil, fmt.Errorf("%w: simdgroups of %d threads, want %d", ErrDevice, w, simdWidth)
	}
	if most := p.MaxThreads(); most < spec.Threads {
		p.Free()
		return nil, fmt.Errorf("%w: at most %d threads a threadgroup, want %d", ErrDevice, most, spec.Threads)
	}
	return &kernel{p, spec}, nil
}

// A kernelSet looks kernels up and keeps every failure.
type kernelSet struct {
	b        *Backend
	problems []error
}

func (s *kernelSet) get(name string) *kernel {
	k, err := s.b.kernel(name)
	if err != nil {
		s.problems = append(s.problems, err)
	}
	return k
}

func (s *kernelSet) err() error { return errors.Join(s.problems...) }
