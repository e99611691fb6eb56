package vision

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/vision/resize"
	"github.com/fieldfare/fieldfare/visionpack"
)

// Options say where the image pack is, how pictures are prepared and what stays in memory. The zero value takes the
// pack beside the model, prepares as the zero PictureOptions do and maps the tower on demand.
type Options struct {
	// Pack is the pack's directory. Default: visionpack.Path of the text model's.
	Pack string
	// Budget is the most soft tokens of a picture that does not name its own, one of resize.Budgets. Default: what
	// the pack's processor file says.
	Budget int
	// MaxBudget is the largest budget that a picture may name: chunk scratch and the rings of the KV cache are sized
	// for it. Default: the budget of pictures that name none.
	MaxBudget int
	// Residency says when the tower is in memory. Default: on demand.
	Residency Residency
	// Picture says how pictures are prepared; patch and pooling are the tower's.
	Picture PictureOptions
	// Encoded hears of every picture that was encoded, on the session's goroutine. Pictures whose rows are reused are
	// not encoded again.
	Encoded func(Encoded)
}

// Validate reports every problem that can be seen without the pack; each wraps ErrOptions.
func (o *Options) Validate() error {
	var problems []error
	for _, b := range []struct {
		what string
		n    int
	}{{"budget", o.Budget}, {"largest budget", o.MaxBudget}} {
		if b.n == 0 {
			continue
		}
		if err := resize.CheckBudget(b.n); err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrOptions, b.what, err))
		}
	}
	if o.Residency != OnDemand && o.Residency != KeepReady {
		problems = append(problems, fmt.Errorf("%w: residency %d", ErrOptions, o.Residency))
	}
	return errors.Join(problems...)
}

// An Extension is vision as core knows it. It serves one Runtime.
type Extension struct {
	opts    Options
	runtime *core.Runtime
	backend core.TowerBackend
	pack    *visionpack.Pack
	tower   core.TowerConfig
	ids     *gturbo.SourceVision
	regions *regions
}

var _ core.Extension = (*Extension)(nil)

// New makes an extension for core.Options. Nothing is opened yet. Errors wrap ErrOptions.
func New(opts Options) (*Extension, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Extension{opts: opts}, nil
}

// Name implements core.Extension.
func (x *Extension) Name() string { return "vision" }

// Init opens the pack and attaches to r. When it fails, nothing is left open, mapped or attached, and text runs as if
// there were no extension. Errors: ErrBackend, ErrInstall, ErrOptions, those of package visionpack.
func (x *Extension) Init(ctx context.Context, r *core.Runtime) error {
	backend, ok := r.Backend().(core.TowerBackend)
	if !ok {
		return fmt.Errorf("%s: %w", r.Backend().Name(), ErrBackend)
	}
	if gate, ok := backend.(core.ImageGate); ok {
		if err := gate.Images(); err != nil {
			return fmt.Errorf("%w: %w", ErrBackend, err)
		}
	}
	in := r.Install()
	if in == nil {
		return ErrInstall
	}
	pack, err := openPack(ctx, in, x.opts.Pack)
	if err != nil {
		return err
	}
	x.runtime, x.backend, x.pack, x.ids = r, backend, pack, in.Source().Vision
	if err := x.start(); err != nil {
		pack.Close()
		x.pack = nil
		return err
	}
	r.Hooks().SetAdmit(x.Admit)
	r.Hooks().SetEncode(x.encode)
	r.Hooks().NeedSpan(x.opts.MaxBudget)
	return nil
}

// openPack opens the pack at path, or the one beside in.
func openPack(ctx context.Context, in *gturbo.Install, path string) (*visionpack.Pack, error) {
	text, err := visionpack.TextOf(in)
	if err != nil {
		return nil, err
	}
	if path == "" {
		if path, err = visionpack.Path(in.Path()); err != nil {
			return nil, err
		}
	}
	return visionpack.Open(ctx, path, text)
}

// start fills in what the pack decides, and maps it if it is to be kept ready.
func (x *Extension) start() error {
	t := x.pack.Tower()
	x.opts.Picture.Patch, x.opts.Picture.Pool = t.Patch, t.Pool
	if x.opts.Budget == 0 {
		x.opts.Budget = x.pack.Processor().MaxSoftTokens
	}
	x.opts.MaxBudget = max(x.opts.MaxBudget, x.opts.Budget)
	if err := resize.CheckBudget(x.opts.Budget); err != nil {
		return fmt.Errorf("%w: %w", visionpack.ErrProcessor, err)
	}
	x.tower = towerConfig(t)
	// A backend that refuses these dimensions should say so now and not when a picture comes.
	trial, err := x.backend.NewTower(x.tower, t.Pool*t.Pool)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBackend, err)
	}
	if err := trial.Close(); err != nil {
		return err
	}
	x.regions, err = newRegions(x.pack, x.opts.Residency)
	return err
}

// Close implements core.Extension.
func (x *Extension) Close() error { return errors.Join(x.regions.close(), x.pack.Close()) }

// Budget is the budget of a picture that does not name its own, MaxBudget the largest that one may name.
func (x *Extension) Budget() int    { return x.opts.Budget }
func (x *Extension) MaxBudget() int { return x.opts.MaxBudget }

// Pack is the open pack, nil before Init and when it failed.
func (x *Extension) Pack() *visionpack.Pack { return x.pack }

// Admit judges a picture from its header bytes; it implements core.AdmitFunc. The report is a Receipt. Errors wrap
// ErrBudgetSize or a sentinel of packages picture and resize.
func (x *Extension) Admit(_ context.Context, m core.Media) (core.Admission, error) {
	plan, err := x.plan(m)
	if err != nil {
		return core.Admission{}, err
	}
	return core.Admission{
		SoftTokens: plan.Geometry.SoftTokens, Digest: x.identity(plan),
		Before: x.ids.BeginImage, Soft: x.ids.ImageToken, After: x.ids.EndImage, Report: plan.Receipt(),
	}, nil
}

func (x *Extension) plan(m core.Media) (*Plan, error) {
	budget := m.Budget
	if budget == 0 {
		budget = x.opts.Budget
	}
	if budget > x.opts.MaxBudget && resize.CheckBudget(budget) == nil {
		return nil, fmt.Errorf("%d, at most %d: %w", budget, x.opts.MaxBudget, ErrBudgetSize)
	}
	return Admit(m.Data, budget, x.opts.Picture)
}
