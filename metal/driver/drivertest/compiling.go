package drivertest

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
)

func compileErrorNamesLine(b *bench) {
	source := strings.Replace("#line 1 \"broken.metal\"\n"+kernels, "out[2] = PLAIN;", "out[2] = PLAINLY;", 1)
	line := 1 + strings.Count(kernels[:strings.Index(kernels, "out[2] = PLAIN;")], "\n")
	_, err := b.device.NewLibrary(source, driver.LibraryOptions{})
	var failed *driver.CompileError
	if !errors.As(err, &failed) || len(failed.Problems) == 0 {
		b.Fatalf("got %v", err)
	}
	p := failed.Problems[0]
	if p.File != "broken.metal" || p.Line != line || !strings.Contains(p.Message, "PLAINLY") {
		b.Errorf("got %v, want broken.metal:%d and PLAINLY", p, line)
	}
}

func macrosReachCompiler(b *bench) {
	const guard = "\n#if __METAL_VERSION__ != 310\n#error wrong version\n#endif\n"
	l := must(b.device.NewLibrary(kernels+guard, driver.LibraryOptions{
		Version: 3<<16 | 1, PreciseMath: true, Macros: map[string]string{"BIAS": "1000"},
	}))(b)
	defer l.Free()
	p := must(l.Pipeline("add"))(b)
	defer p.Free()
	in, out := b.buffer(1, 1), b.buffer(1)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(p)
		e.SetBuffer(0, in, 0)
		e.SetBuffer(1, out, 0)
		e.SetBytes(2, words(20))
		e.Dispatch(driver.D1(1), driver.D1(1))
	})
	b.wantWords(out, 1021)
}

func missingKernel(b *bench) {
	l := must(b.device.NewLibrary(kernels, driver.LibraryOptions{}))(b)
	defer l.Free()
	names := l.Functions()
	slices.Sort(names)
	if want := []string{"add", "area", "constants", "small", "turn"}; !slices.Equal(names, want) {
		b.Errorf("functions are %v, want %v", names, want)
	}
	for _, constants := range [][]driver.Constant{nil, {driver.Uint(2, 1)}} {
		if _, err := l.Pipeline("subtract", constants...); !errors.Is(err, driver.ErrNoFunction) {
			b.Errorf("got %v", err)
		}
	}
}

func constantsReachKernel(b *bench) {
	p := b.pipeline("constants", driver.Bool(0, true), driver.Int(1, -2), driver.Uint(2, 3_000_000_000),
		driver.Ushort(3, 65_000), driver.Float(4, -1.5))
	out := b.buffer(5)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(p)
		e.SetBuffer(0, out, 0)
		e.Dispatch(driver.D1(1), driver.D1(32))
	})
	b.wantWords(out, 1, math.MaxUint32-1, 3_000_000_000, 65_000, math.Float32bits(-1.5))
}

func pipelineLimits(b *bench) {
	p := b.pipeline("small")
	if p.Name() != "small" || p.MaxThreads() != 64 || p.SIMDWidth() != 32 || p.ThreadgroupMemory() != 64*16 {
		b.Errorf("%s: %d threads, simdgroups of %d, %d bytes of threadgroup memory", p.Name(), p.MaxThreads(), p.SIMDWidth(),
			p.ThreadgroupMemory())
	}
}
