//go:build linux

package standin

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// residentPages is how much memory of this process is resident.
func residentPages(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// liveReaches waits for the number of living objects of a class: a queue's thread lets go of a command buffer a moment
// after it is over.
func liveReaches(t *testing.T, class string, want int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for Live(class) != want && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := Live(class); got != want {
		t.Errorf("%d objects of class %q live, want %d", got, class, want)
	}
}

func TestTenThousandCommandBuffersLeakNothing(t *testing.T) {
	s := sceneForTest(t, Options{})
	p := s.pipeline("add", driver.Uint(0, 1))
	defer p.Free()
	run := func(n int) {
		for range n {
			c := s.command("one of many")
			e := c.Compute(driver.Serial)
			e.SetPipeline(p)
			e.SetBuffer(0, s.left, 0)
			e.SetBuffer(1, s.right, 0)
			e.SetBytes(2, []byte{1, 0, 0, 0})
			e.Dispatch(driver.D1(64), driver.D1(32))
			e.End()
			blit := c.Blit()
			blit.Fill(s.other, 0, 256, 1)
			blit.End()
			c.Commit()
			s.check(c.Wait())
			c.Free()
		}
	}
	run(9000) // as many released objects as the stand-in remembers
	liveReaches(t, "MTLCommandBuffer", 0)
	before, pages := Live(""), residentPages(t)
	run(10_000)
	liveReaches(t, "", before)
	if grown := residentPages(t) - pages; grown > 2048 {
		t.Errorf("memory grew by %d pages", grown)
	}
}

func TestClosingLeavesNoObject(t *testing.T) {
	ForTest(t, Options{})
	before := Live("")
	s := newScene(Options{})
	if _, err := s.run("once"); err != nil {
		t.Fatal(err)
	}
	s.close()
	liveReaches(t, "", before)
}
