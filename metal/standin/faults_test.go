package standin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
)

func sceneForTest(t *testing.T, o Options) *scene {
	t.Helper()
	ForTest(t, o) // skips where the stand-in cannot run
	s := newScene(o)
	t.Cleanup(func() {
		ClearFaults()
		s.close()
	})
	return s
}

func (s *scene) close() {
	for _, b := range []driver.Buffer{s.left, s.right, s.other} {
		b.Free()
	}
	s.library.Free()
	s.queue.Free()
	s.check(s.device.Close())
}

// run commits one addition and returns its error and how long it took.
func (s *scene) run(label string) (time.Duration, error) {
	start := time.Now()
	c := s.command(label)
	defer c.Free()
	e := c.Compute(driver.Serial)
	p := s.pipeline("add", driver.Uint(0, 1))
	defer p.Free()
	e.SetPipeline(p)
	e.SetBuffer(0, s.left, 0)
	e.SetBuffer(1, s.right, 0)
	e.SetBytes(2, []byte{1, 0, 0, 0})
	e.Dispatch(driver.D1(64), driver.D1(32))
	e.End()
	c.Commit()
	err := c.Wait()
	return time.Since(start), err
}

func TestFaultsBecomeErrorsOfTheirKind(t *testing.T) {
	s := sceneForTest(t, Options{})
	for code, want := range map[Code]error{
		Timeout: driver.ErrTimeout, PageFault: driver.ErrPageFault, OutOfMemory: driver.ErrOutOfMemory,
		DeviceRemoved: driver.ErrDeviceLost, Internal: driver.ErrExecution,
	} {
		if err := Inject(Fault{Label: "layer 7", Count: 1, Code: code}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.run("layer 6 attend"); err != nil {
			t.Errorf("another label: %v", err)
		}
		_, err := s.run("layer 7 attend")
		if !errors.Is(err, want) || !strings.Contains(err.Error(), `"layer 7 attend"`) {
			t.Errorf("code %d: got %v, want %v", code, err, want)
		}
		if _, err := s.run("layer 7 attend"); err != nil {
			t.Errorf("after the fault: %v", err)
		}
	}
}

func TestFaultsCanBeSkippedDelayedAndRepeated(t *testing.T) {
	s := sceneForTest(t, Options{})
	const delay = 30 * time.Millisecond
	if err := Inject(Fault{Label: "slow", Skip: 1, Delay: delay}); err != nil {
		t.Fatal(err)
	}
	s.left.Bytes()[0] = 41
	if _, err := s.run("slow"); err != nil { // skipped
		t.Fatal(err)
	}
	for range 2 {
		took, err := s.run("slow")
		if err != nil || took < delay {
			t.Errorf("took %v, error %v", took, err)
		}
	}
	if s.right.Bytes()[0] != 42 {
		t.Errorf("the delayed work did not run: %d", s.right.Bytes()[0])
	}
	ClearFaults()
	if err := Inject(Fault{Label: "slow", Code: Timeout}); err != nil {
		t.Fatal(err)
	}
	for range 3 { // count 0: all that follow
		if _, err := s.run("slow"); !errors.Is(err, driver.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAllocationsFailBeyondTheLimit(t *testing.T) {
	s := sceneForTest(t, Options{MemoryLimit: 64 << 10})
	b, err := s.device.NewBuffer(60 << 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.device.NewBuffer(10 << 10); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("beyond the limit: got %v", err)
	}
	b.Free()
	again, err := s.device.NewBuffer(60 << 10)
	if err != nil {
		t.Fatalf("after memory was given back: %v", err)
	}
	again.Free()
}

func TestFamiliesAndLimitsAreThoseAskedFor(t *testing.T) {
	m1 := ForTest(t, Options{AppleFamily: 7, NoMetal3: true, MaxThreads: 512, MaxThreadgroupMemory: 16384}).Info()
	if m1.AppleFamily != 7 || m1.Metal3 || m1.MaxThreads != 512 || m1.MaxThreadgroupMemory != 16384 {
		t.Errorf("%+v", m1)
	}
	m3 := ForTest(t, Options{AppleFamily: 9}).Info()
	if m3.AppleFamily != 9 || !m3.Metal3 || m3.Metal4 || m3.Name != "Stand-in Apple9" {
		t.Errorf("%+v", m3)
	}
	m5 := ForTest(t, Options{AppleFamily: 10, Metal4: true}).Info()
	if m5.AppleFamily != 10 || !m5.Metal3 || !m5.Metal4 {
		t.Errorf("%+v", m5)
	}
	if _, err := Open(Options{AppleFamily: -1}); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("no device: got %v", err)
	}
}
