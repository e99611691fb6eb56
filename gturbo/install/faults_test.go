package install

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// memOutput is where the tests of this file install to; on Windows it gets a drive, which memFS drops.
const memOutput = "/m/tiny.gturbo"

// rig is a tiny checkpoint and what installing it should give.
type rig struct {
	source *memSource
	want   map[string]string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{source: &memSource{files: newCheckpointFiles(tiny()).files()}}
	clean := newMemFS()
	if _, err := Install(t.Context(), r.options(clean)); err != nil {
		t.Fatal(err)
	}
	r.want = clean.files(t, memOutput)
	if len(r.want) != 10 {
		t.Fatalf("a clean install has %d files", len(r.want))
	}
	return r
}

// options installs with small ranges, one at a time, at a fixed time: every run makes the same calls.
func (r *rig) options(f FS) Options {
	return Options{
		Source: r.source, Output: memOutput, AllowUnknown: true, Workers: 1, Chunk: 10 << 10, Reserve: 1, FS: f,
		now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
}

// carryOn does what a user does after an interruption: resume, and install where there is nothing to resume.
func (r *rig) carryOn(ctx context.Context, f FS) error {
	_, err := Resume(ctx, r.options(f))
	if errors.Is(err, ErrStateMissing) {
		_, err = Install(ctx, r.options(f))
	}
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// complete checks that the final name holds the whole install and that nothing else is left but what belongs there.
func (r *rig) complete(t *testing.T, f *memFS) {
	t.Helper()
	sameTree(t, r.want, f.files(t, memOutput))
	for name := range f.files(t, "/m") {
		top, _, _ := strings.Cut(name, "/")
		switch strings.TrimPrefix(top, "tiny.gturbo") {
		case "", ".install.lock", ".ranges.json":
		default:
			t.Errorf("%s is left behind", name)
		}
	}
}

// nothingHalf checks that the final name holds nothing or everything.
func (r *rig) nothingHalf(t *testing.T, f *memFS) {
	t.Helper()
	if got := f.files(t, memOutput); len(got) > 0 {
		sameTree(t, r.want, got)
	}
}

// calls lists the file-system calls that an undisturbed install makes.
func (r *rig) calls(t *testing.T) []string {
	t.Helper()
	f := newMemFS()
	var log []string
	f.log = &log
	if _, err := Install(t.Context(), r.options(f)); err != nil {
		t.Fatal(err)
	}
	return log
}

// thorough makes the fault tests try everything instead of a sample:
// "go test ./gturbo/install -run Every -thorough".
var thorough = flag.Bool("thorough", false, "try every fault at every file-system call")

// every returns how far apart the calls are that a test tries: 1 with -thorough, further with -short.
func every(usual int) int {
	switch {
	case *thorough:
		return 1
	case testing.Short():
		return 7 * usual
	}
	return usual
}

func TestEveryFailedCallIsSurvived(t *testing.T) {
	r := newRig(t)
	calls := r.calls(t)
	for n := 1; n <= len(calls); n += every(1) {
		for i, kind := range []error{syscall.EIO, errPartial} {
			if i == 1 && !strings.HasPrefix(calls[n-1], "write") || i == 0 && n%2 == 0 && !*thorough {
				continue
			}
			f := newMemFS()
			op := ""
			f.before = func(call int, name, target string) error {
				if call != n || name == "close" {
					return nil
				}
				op = name + " " + target
				return kind
			}
			_, err := Install(t.Context(), r.options(f))
			f.before = nil
			r.nothingHalf(t, f)
			if err := r.carryOn(t.Context(), f); err != nil {
				t.Fatalf("%v at call %d (%s) gave %v; carrying on: %v", kind, n, op, err, err)
			}
			r.complete(t, f)
			if t.Failed() {
				t.Fatalf("after %v at call %d (%s), which gave: %v", kind, n, op, err)
			}
		}
	}
}

func TestEveryPowerCutIsSurvived(t *testing.T) {
	r := newRig(t)
	calls := len(r.calls(t))
	for n := 1; n <= calls; n += every(1) {
		for luck := range 4 {
			if luck != n%4 && !*thorough {
				continue
			}
			f := newMemFS()
			op := ""
			f.before = func(call int, name, target string) error {
				if call < n {
					return nil
				}
				if call == n {
					op = name + " " + target
				}
				return errCut
			}
			if _, err := Install(t.Context(), r.options(f)); err == nil && n < calls-2 {
				t.Fatalf("a cut at call %d (%s) went unnoticed", n, op)
			}
			var rng *rand.Rand
			if luck > 0 {
				rng = rand.New(rand.NewPCG(uint64(n), uint64(luck)))
			}
			f = f.afterCut(rng)
			r.nothingHalf(t, f)
			if err := r.carryOn(t.Context(), f); err != nil {
				t.Fatalf("after a cut at call %d (%s), luck %d: %v", n, op, luck, err)
			}
			r.complete(t, f)
			if t.Failed() {
				t.Fatalf("after a cut at call %d (%s), luck %d", n, op, luck)
			}
		}
	}
}

// TestPowerCutsOnResume cuts again and again, wherever the run happens to be, until the install is complete.
func TestPowerCutsOnResume(t *testing.T) {
	r := newRig(t)
	calls := len(r.calls(t))
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := newMemFS()
		for cuts := 0; ; cuts++ {
			left := 10 + rng.IntN(2*calls)
			f.before = func(call int, _, _ string) error {
				if call > left {
					return errCut
				}
				return nil
			}
			if cuts == 100 {
				t.Fatalf("seed %d: no end after %d cuts", seed, cuts)
			}
			if r.carryOn(t.Context(), f) == nil {
				break
			}
			f = f.afterCut(rng)
			r.nothingHalf(t, f)
		}
		f.before = nil
		r.complete(t, f.afterCut(nil))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestLyingSync loses data that the disk had promised to keep. Nothing of it may be counted as good: a resumed run
// fetches it again, and in an install that was already renamed into place a verification finds it.
func TestLyingSync(t *testing.T) {
	r := newRig(t)
	calls := len(r.calls(t))
	for n := 5; n <= calls; n += every(9) {
		f := newMemFS()
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		f.before = func(call int, op, _ string) error {
			f.lying = op == "sync" && rng.IntN(2) == 0
			if call >= n {
				return errCut
			}
			return nil
		}
		_, _ = Install(t.Context(), r.options(f))
		f = f.afterCut(rng)
		if len(f.files(t, memOutput)) > 0 {
			continue // renamed into place: what a verification says is tested with real files
		}
		err := r.carryOn(t.Context(), f)
		if errors.Is(err, ErrStateCorrupt) { // the checkpoint itself was lost
			if err := discard(f, memOutput); err != nil {
				t.Fatal(err)
			}
			err = r.carryOn(t.Context(), f)
		}
		if err != nil {
			t.Fatalf("after a cut at call %d: %v", n, err)
		}
		r.complete(t, f)
		if t.Failed() {
			t.Fatalf("after a cut at call %d", n)
		}
	}
}

func TestFullDiskKeepsWhatIsDone(t *testing.T) {
	r := newRig(t)
	clean := newMemFS()
	if _, err := Install(t.Context(), r.options(clean)); err != nil {
		t.Fatal(err)
	}
	need := clean.root.total()
	for percent := int64(0); percent < 100; percent += 5 {
		f := newMemFS()
		f.capacity = max(1, need*percent/100)
		o := r.options(freeLiar{f})
		if _, err := Install(t.Context(), o); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with %d %% of the room: %v", percent, err)
		}
		if percent == 0 && len(f.files(t, "/m")) > 1 {
			t.Fatalf("nothing was done, and this is left: %v", f.files(t, "/m"))
		}
		r.nothingHalf(t, f)
		f.capacity = 0
		if err := r.carryOn(t.Context(), f); err != nil {
			t.Fatalf("with %d %% of the room, then all: %v", percent, err)
		}
		r.complete(t, f)
	}
}

// freeLiar claims that there is room, as a disk that others fill at the same time does.
type freeLiar struct{ *memFS }

func (freeLiar) Free(string) (int64, error) { return 1 << 50, nil }

func TestTooSmallADiskIsRefusedWithNumbers(t *testing.T) {
	r := newRig(t)
	f := newMemFS()
	f.capacity = 100_000
	_, err := Install(t.Context(), r.options(f))
	var space *SpaceError
	if !errors.As(err, &space) || space.Available != 100_000 || space.Need <= 100_000 {
		t.Fatalf("got %v", err)
	}
	if left := f.files(t, "/m"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestResumeFetchesOnlyWhatIsMissingOrDamaged(t *testing.T) {
	r := newRig(t)
	f := newMemFS()
	ctx, cancel := context.WithCancel(t.Context())
	reads := map[int64]bool{}
	r.source.fail = func(name string, off, n int64) error {
		if strings.HasSuffix(name, ".safetensors") && n > 8 {
			reads[off] = true
			if len(reads) == 8 {
				cancel()
			}
		}
		return nil
	}
	if _, err := Install(ctx, r.options(f)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	u, err := inspect(f, memOutput)
	if err != nil || u == nil || u.DoneBytes == 0 || u.DoneBytes >= u.TotalBytes {
		t.Fatalf("unfinished: %+v, %v", u, err)
	}
	f.find("/m/tiny.gturbo.partial/model_weights.bin").data[gturbo.Align+5] ^= 1 // in the first range
	var fetched int64
	r.source.fail = func(name string, off, n int64) error {
		if strings.HasSuffix(name, ".safetensors") {
			fetched += n
		}
		return nil
	}
	result, err := Resume(t.Context(), r.options(f))
	if err != nil {
		t.Fatal(err)
	}
	r.complete(t, f)
	if result.ReusedBytes == 0 || result.ReusedBytes >= u.DoneBytes {
		t.Errorf("reused %d bytes; %d were done and one range of them damaged", result.ReusedBytes, u.DoneBytes)
	}
	if result.FetchedBytes+result.ReusedBytes != u.TotalBytes || fetched < result.FetchedBytes {
		t.Errorf("fetched %d and reused %d of %d bytes", result.FetchedBytes, result.ReusedBytes, u.TotalBytes)
	}
}

func TestOverwriteKeepsTheOldInstallUntilTheNewOneIsComplete(t *testing.T) {
	for _, noExchange := range []bool{false, true} {
		r := newRig(t)
		base := newMemFS()
		if _, err := Install(t.Context(), r.options(base)); err != nil {
			t.Fatal(err)
		}
		base.find(memOutput + "/model_weights.bin").data[gturbo.Align] ^= 1 // the reason to install again
		base = base.afterCut(nil)
		old := base.files(t, memOutput)
		calls := 0
		for n := 1; n == 1 || n <= calls; n += every(11) {
			f := base.afterCut(nil)
			f.noExchange = noExchange
			f.before = func(call int, _, _ string) error {
				if call >= n && n > 1 {
					return errCut
				}
				return nil
			}
			o := r.options(f)
			o.Overwrite = true
			_, err := Install(t.Context(), o)
			if n == 1 {
				calls = f.calls
				if err != nil {
					t.Fatal(err)
				}
			}
			f = f.afterCut(rand.New(rand.NewPCG(uint64(n), 3)))
			f.noExchange = noExchange
			now := f.files(t, memOutput)
			if now["model_weights.bin"] != old["model_weights.bin"] && (len(now) > 0 || !noExchange) {
				sameTree(t, r.want, now)
			}
			o.FS = f
			if _, err := Resume(t.Context(), o); errors.Is(err, ErrStateMissing) {
				_, err = Install(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatalf("exchange %v, cut at call %d: %v", !noExchange, n, err)
			}
			delete(f.root.children["m"].children, ".tiny.gturbo.use.lock")
			r.complete(t, f)
			if t.Failed() {
				t.Fatalf("exchange %v, cut at call %d", !noExchange, n)
			}
		}
	}
}

func TestStatesAreAdmittedOrRefusedByName(t *testing.T) {
	r := newRig(t)
	interrupted := func() *memFS {
		f := newMemFS()
		ctx, cancel := context.WithCancel(t.Context())
		o := r.options(f)
		o.Progress = func(e Event) {
			if e.Phase == PhaseCopy && e.Done > 0 {
				cancel()
			}
		}
		if _, err := Install(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return f
	}
	finished := func() *memFS {
		f := newMemFS()
		if _, err := Install(t.Context(), r.options(f)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	other := newRig(t)
	other.source.files[indexName] = append(other.source.files[indexName], ' ')
	for _, c := range []struct {
		name   string
		fs     func() *memFS
		run    func(f *memFS) error
		expect error
	}{
		{"a finished install is not overwritten unasked", finished, func(f *memFS) error {
			_, err := Install(t.Context(), r.options(f))
			return err
		}, ErrExists},
		{"nothing to resume", newMemFS, func(f *memFS) error {
			_, err := Resume(t.Context(), r.options(f))
			return err
		}, ErrStateMissing},
		{"nothing to discard", newMemFS, func(f *memFS) error { return discard(f, memOutput) }, ErrStateMissing},
		{"an unfinished install is not started over unasked", interrupted, func(f *memFS) error {
			_, err := Install(t.Context(), r.options(f))
			return err
		}, ErrStateIncompatible},
		{"another checkpoint does not continue it", interrupted, func(f *memFS) error {
			_, err := Resume(t.Context(), other.options(f))
			return err
		}, ErrStateIncompatible},
		{"another range size does not continue it", interrupted, func(f *memFS) error {
			o := r.options(f)
			o.Chunk = 8 << 10
			_, err := Resume(t.Context(), o)
			return err
		}, ErrStateIncompatible},
		{"a checkpoint that does not parse", interrupted, func(f *memFS) error {
			f.find("/m/tiny.gturbo.resume.json").data[0] = '['
			_, err := Resume(t.Context(), r.options(f))
			return err
		}, ErrStateCorrupt},
		{"a checkpoint with a range that the plan does not have", interrupted, func(f *memFS) error {
			n := f.find("/m/tiny.gturbo.resume.json")
			n.data = []byte(strings.Replace(string(n.data), `"id":"range-00000000"`, `"id":"range-99999999"`, 1))
			_, err := Resume(t.Context(), r.options(f))
			return err
		}, ErrStateCorrupt},
		{"a file at the partial name", newMemFS, func(f *memFS) error {
			file, err := f.Create("/m/tiny.gturbo.partial", 0o644)
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
			_, err = Install(t.Context(), r.options(f))
			return err
		}, ErrUnsafePath},
		{"another installer holds the lock", newMemFS, func(f *memFS) error {
			if _, err := f.Lock("/m/tiny.gturbo.install.lock", ""); err != nil {
				t.Fatal(err)
			}
			_, err := Install(t.Context(), r.options(f))
			return err
		}, ErrBusy},
		{"a model in use is not replaced", finished, func(f *memFS) error {
			if _, err := f.Lock("/m/.tiny.gturbo.use.lock", ""); err != nil {
				t.Fatal(err)
			}
			o := r.options(f)
			o.Overwrite = true
			_, err := Install(t.Context(), o)
			return err
		}, ErrBusy},
		{"an unknown checkpoint is not installed unasked", newMemFS, func(f *memFS) error {
			o := r.options(f)
			o.AllowUnknown = false
			_, err := Install(t.Context(), o)
			return err
		}, ErrUnknownSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.fs()
			before := f.files(t, "/m")
			if err := c.run(f); !errors.Is(err, c.expect) {
				t.Fatalf("got %v, want %v", err, c.expect)
			}
			for name, data := range f.files(t, memOutput) {
				if before["tiny.gturbo/"+name] != data {
					t.Errorf("%s changed", name)
				}
			}
		})
	}
}

func TestAFileSystemThatCannotHoldAFileIsRefusedWithNumbers(t *testing.T) {
	r := newRig(t)
	f := newMemFS()
	f.before = func(_ int, op, name string) error {
		if op == "truncate" && strings.Contains(name, "layer_01") {
			return syscall.EFBIG
		}
		return nil
	}
	_, err := Install(t.Context(), r.options(f))
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "reserve 49152 bytes for packed_experts/layer_01.bin") {
		t.Errorf("got %v", err)
	}
	if left := f.files(t, "/m"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDiscardDeletesTheUnfinishedInstallAndNothingElse(t *testing.T) {
	r := newRig(t)
	f := newMemFS()
	f.before = func(_ int, op, name string) error {
		if op == "exchange" || op == "rename" && strings.HasSuffix(name, "-> tiny.gturbo") {
			return syscall.EIO
		}
		return nil
	}
	if _, err := Install(t.Context(), r.options(f)); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	other, err := f.Create("/m/other", 0o644)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if err := discard(f, memOutput); err != nil {
		t.Fatal(err)
	}
	for name := range f.files(t, "/m") {
		if name != "other" && name != "tiny.gturbo.install.lock" && name != "tiny.gturbo.ranges.json" {
			t.Errorf("%s is left", name)
		}
	}
}

// TestSymlinksAreNotFollowed needs a real file system.
func TestSymlinksAreNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating symlinks needs a privilege on Windows")
	}
	r := newRig(t)
	for _, suffix := range []string{"", ".partial", ".resume.json", ".install.lock", ".ranges.json"} {
		t.Run("at the name"+suffix, func(t *testing.T) {
			dir := t.TempDir()
			target := t.TempDir()
			o := r.options(HostFS())
			o.Output = filepath.Join(dir, "tiny.gturbo")
			o.Overwrite = true
			if err := symlink(target, o.Output+suffix); err != nil {
				t.Fatal(err)
			}
			if _, err := Install(t.Context(), o); !errors.Is(err, ErrUnsafePath) {
				t.Fatalf("got %v", err)
			}
			entries, err := readDirNames(target)
			if err != nil || len(entries) > 0 {
				t.Fatalf("written through the link: %v, %v", entries, err)
			}
		})
	}
}

func ExampleSpaceError() {
	fmt.Println((&SpaceError{Dir: "/models", Need: 15_432_772_572, Available: 9_000_000_000}).Error())
	// Output: not enough disk space in /models: 15432772572 bytes needed, 9000000000 available, 6432772572 short
}

var _ fs.FileInfo = memInfo{}
