package vision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/gturbo/synth"
	"github.com/fieldfare/fieldfare/residency"
	"github.com/fieldfare/fieldfare/text"
)

// peakRole is the variable that makes the test binary measure one image turn.
const peakRole = "FIELDFARE_TEST_IMAGE_TURN"

func init() { childRoles[peakRole] = imageTurn }

// A peak is what one process measured, in bytes.
type peak struct {
	Slots int64 // of experts, all filled before the picture came
	Tower int64 // mapped at most during the tower, and its scratch
	Base  int64 // resident while there were neither slots nor tower
	Turn  int64 // resident at most during the turn
}

// TestPeakOfAnImageTurnIsTheLargerPhase asks the system. Slots and tower are large enough that their sum and the larger
// of them are far apart; keeping both ready shows that the measurement can tell.
func TestPeakOfAnImageTurnIsTheLargerPhase(t *testing.T) {
	if _, err := os.Stat("/proc/self/clear_refs"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("this kernel does not reset peaks of memory")
	}
	path := heavy(t)
	const slack = 12 << 20
	demand, ready := measureTurn(t, path, OnDemand), measureTurn(t, path, KeepReady)
	t.Logf("on demand: %+v, kept ready: %+v", demand, ready)
	if min(demand.Slots, demand.Tower) < 3*slack {
		t.Fatalf("slots of %d and a tower of %d bytes are too small to tell", demand.Slots, demand.Tower)
	}
	if larger := demand.Base + max(demand.Slots, demand.Tower); demand.Turn > larger+slack {
		t.Errorf("on demand: peak of %d bytes, the larger phase takes %d", demand.Turn, larger)
	}
	if ready.Turn < demand.Turn+min(demand.Slots, demand.Tower)-slack {
		t.Errorf("kept ready: peak of %d bytes, on demand %d: the measurement sees no difference", ready.Turn, demand.Turn)
	}
}

// heavy installs the synthetic model with two wide tower layers and returns its path.
func heavy(t *testing.T) string {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal(synth.Thin(), &config); err != nil {
		t.Fatal(err)
	}
	tower := config["vision_config"].(map[string]any)
	tower["hidden_size"], tower["intermediate_size"], tower["num_hidden_layers"] = 1152, 2048, 2
	tower["num_attention_heads"], tower["num_key_value_heads"] = 16, 16
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return synthetic(t, data)
}

func measureTurn(t *testing.T, path string, policy Residency) (p peak) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peakRole+"="+policy.String()+":"+path, "GOMEMLIMIT=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &p)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// imageTurn is the child's part: fill the slots with text, then take a picture and go on.
func imageTurn(role string) error {
	name, path, _ := strings.Cut(role, ":")
	policy, err := ParseResidency(name)
	if err != nil {
		return err
	}
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	s := &spy{Backend: backend}
	x, err := New(Options{Residency: policy})
	if err != nil {
		return err
	}
	rt, err := core.Load(context.Background(), path, core.Options{
		Backend: s, MaxContext: 512, Experts: residency.Options{Slots: 20}, Extensions: []core.Extension{x},
	})
	if err != nil {
		return err
	}
	if err := rt.Extensions()[0].Err; err != nil {
		return err
	}
	var p peak
	scratch := int64(0)
	s.layer = func([]float32) error {
		scratch = pages.Usage()["tower"]
		return nil
	}
	session, err := rt.NewSession()
	if err != nil {
		return err
	}
	img, err := os.ReadFile("../testdata/goldens/image-multiturn.png")
	if err != nil {
		return err
	}
	turn := func(content text.Content, media ...core.Media) error {
		c := text.Conversation{Messages: []text.Message{{Role: text.RoleUser, Content: content}}}
		prompt, err := rt.Prepare(context.Background(), c, media)
		if err == nil {
			_, err = session.Prefill(context.Background(), prompt, nil)
		}
		return err
	}
	if err := turn(text.Plain(strings.Repeat("What is the capital of Peru? ", 20))); err != nil {
		return err
	}
	p.Slots = pages.Usage()["experts"]
	if err := rt.ReleaseExperts(); err != nil {
		return err
	}
	debug.FreeOSMemory()
	if p.Base, err = resident("VmRSS"); err != nil {
		return err
	}
	if err := turn(text.Plain(strings.Repeat("Where is the capital of Peru? ", 20))); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets VmHWM
		return err
	}
	if err := turn(text.List(text.Part{Image: true}), core.Media{Name: "picture", Data: img}); err != nil {
		return err
	}
	p.Tower = s.mapped + scratch
	if p.Turn, err = resident("VmHWM"); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(p); err != nil {
		return err
	}
	return rt.Close()
}

// resident reads a size of this process.
func resident(key string) (int64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", key)
}
