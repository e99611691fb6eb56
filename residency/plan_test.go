package residency

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// gemma is the 26B model with about what the CPU backend takes for itself.
var gemma = Model{
	Dims: Dims{Layers: 30, Experts: 128, Stride: 3_358_720}, TopK: 8,
	Resident: 1_353_689_148, KVPosition: 5 * 2 * 2 * 512 * 2, KVRow: 25 * 2 * 8 * 256 * 2, Window: 1024,
	Scratch: 8 << 20, ScratchRow: 120 << 10, Program: 40 << 20, MaxContext: 262_144,
}

const giB = 1 << 30

// pictures is gemma with an image tower on demand.
func pictures() Model {
	m := gemma
	m.TowerEncoding = 350 << 20
	return m
}

func mustPlan(t *testing.T, m Model, w Wish) *Plan {
	t.Helper()
	p, err := MakePlan(m, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheDefaultPlanIsSixteenSlotsInAboutThreeGiB(t *testing.T) {
	for name, w := range map[string]Wish{"machine unknown": {}, "plenty to spare": {Spare: 20 * giB}} {
		p := mustPlan(t, gemma, w)
		if p.Slots != 16 || p.Chunk != 128 || p.Context != 4096 || p.Mapped {
			t.Errorf("%s: %d slots, chunk %d, context %d, mapped %v", name, p.Slots, p.Chunk, p.Context, p.Mapped)
		}
		total, foot := float64(p.Total())/giB, float64(p.Footprint())/giB
		if math.Abs(total-3.13) > 0.1 || math.Abs(foot-1.87) > 0.1 {
			t.Errorf("%s: %.2f GiB, %.2f without clean weights; want about 3.1 and 1.9", name, total, foot)
		}
		if p.Budget != p.Peak() {
			t.Errorf("%s: budget %d, peak %d", name, p.Budget, p.Peak())
		}
	}
	if p := mustPlan(t, gemma, Wish{Spare: 5 * giB / 2}); p.Peak() > 5*giB/2 || p.Slots >= 16 {
		t.Errorf("with 2.5 GiB to spare the default plan takes %d bytes", p.Peak())
	}
}

func TestMoreMemoryIsNeverExpectedToBeSlowerAndNeverExceeded(t *testing.T) {
	for name, m := range map[string]Model{"text": gemma, "with pictures": pictures()} {
		for rate, machine := range map[string]Machine{
			"laptop": {}, "slow disk": {Disk: 2e8, Memory: 5e10, Compute: 60},
			"fast disk": {Disk: 7e9, Memory: 1e11, Compute: 200},
		} {
			slowest := math.Inf(1)
			for budget := int64(2 * giB); budget < 18*giB; budget += giB / 2 {
				p := mustPlan(t, m, Wish{Budget: budget, Machine: machine})
				if p.Peak() > budget {
					t.Fatalf("%s, %s, %s: peak %s", name, rate, gib(budget), gib(p.Peak()))
				}
				if p.Speed.turn > slowest {
					t.Errorf("%s, %s, %s: a turn takes %.1f s, with less memory %.1f s",
						name, rate, gib(budget), p.Speed.turn, slowest)
				}
				slowest = p.Speed.turn
			}
		}
	}
}

func TestBudgetsOfTheRealModel(t *testing.T) {
	for _, c := range []struct {
		gib         float64
		least, most int // slots
		mapped      bool
	}{
		{2, 2, 4, false}, {3, 10, 16, false}, {4, 20, 26, false}, {6, 38, 46, false}, {8, 60, 67, false},
		{16, 0, 128, true}, {20, 0, 128, true},
	} {
		p := mustPlan(t, gemma, Wish{Budget: int64(c.gib * giB)})
		if p.Mapped != c.mapped || p.Slots < c.least || p.Slots > c.most {
			t.Errorf("%v GiB: %d slots, mapped %v; want %d to %d, %v",
				c.gib, p.Slots, p.Mapped, c.least, c.most, c.mapped)
		}
	}
}

func TestWhatTheUserAsksForStands(t *testing.T) {
	p := mustPlan(t, gemma, Wish{Budget: 4 * giB, Slots: 9, Chunk: 77, Context: 10_000})
	if p.Slots != 9 || p.Chunk != 77 || p.Context != 10_000 || p.Ring != 1023+77 {
		t.Errorf("%+v", p)
	}
	p = mustPlan(t, gemma, Wish{Slots: 32, Context: 512})
	if p.Slots != 32 || p.Context != 512 || p.Ring != 512 {
		t.Errorf("%+v", p)
	}
}

func TestAContextNobodyAskedForShrinksBeforeAPlanIsRefused(t *testing.T) {
	tight := gemma.lay(2, 128, 4096, false, Machine{}).Peak() - 1<<20
	if p := mustPlan(t, gemma, Wish{Budget: tight}); p.Context != 2048 {
		t.Errorf("context %d, want 2048", p.Context)
	}
	if _, err := MakePlan(gemma, Wish{Budget: tight, Context: 4096}); !errors.Is(err, ErrBudget) {
		t.Errorf("a context asked for: %v, want ErrBudget", err)
	}
}

func TestRefusalsHaveTheNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		w    Wish
		want []string
	}{
		"too small a budget":  {Wish{Budget: giB}, []string{"memory budget: 1.00 GiB", "1024 positions", "shared weights 1.26 GiB"}},
		"too small a machine": {Wish{Budget: 8 * giB, Spare: giB}, []string{"memory to spare: 1.00 GiB"}},
		"too many slots":      {Wish{Budget: 3 * giB, Slots: 64}, []string{"expert slots 6.01 GiB"}},
	} {
		_, err := MakePlan(gemma, c.w)
		if !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %v, want ErrBudget", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", name, err, want)
			}
		}
	}
	m := pictures()
	m.TowerEncoding = 3 * giB
	_, err := MakePlan(m, Wish{Budget: 3 * giB})
	if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "encoding a picture") {
		t.Errorf("pictures that do not fit: %v", err)
	}
	_, err = MakePlan(gemma, Wish{Budget: -1, Slots: 1, Chunk: 1025, Context: 1 << 20})
	if !errors.Is(err, ErrOptions) || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four impossible wishes: %v, want ErrOptions on four lines", err)
	}
	if _, err := MakePlan(Model{}, Wish{}); !errors.Is(err, ErrOptions) {
		t.Errorf("no model: %v, want ErrOptions", err)
	}
}

func TestPicturesTakeTheMemoryOfSlotsWhileTheyAreEncoded(t *testing.T) {
	text, shown := mustPlan(t, gemma, Wish{Budget: 3 * giB}), mustPlan(t, pictures(), Wish{Budget: 3 * giB})
	if text.Slots != shown.Slots {
		t.Errorf("%d slots with pictures on demand, %d without", shown.Slots, text.Slots)
	}
	ready := pictures()
	ready.TowerKept, ready.TowerEncoding = 1_140_925_536, 200<<20
	kept := mustPlan(t, ready, Wish{Budget: 4 * giB})
	if without := mustPlan(t, gemma, Wish{Budget: 4 * giB}); kept.Slots >= without.Slots {
		t.Errorf("%d slots with the tower kept ready, %d without a tower", kept.Slots, without.Slots)
	}
}

func TestThePlanSaysWhatTheMachineCannotSpare(t *testing.T) {
	p := mustPlan(t, gemma, Wish{Budget: 8 * giB, Spare: 5 * giB, Machine: Machine{Disk: 1e9, Memory: 5e10, Compute: 50}})
	if p.Asked != 8*giB || p.Budget != 5*giB || p.Peak() > 5*giB {
		t.Errorf("asked %d, budget %d, peak %d", p.Asked, p.Budget, p.Peak())
	}
	for _, want := range []string{"can spare of the 8.00 GiB", "without clean mapped weights", "by the measured disk"} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("plan lacks %q:\n%s", want, p)
		}
	}
}

func TestSpansAndSavedRowsAreInTheSum(t *testing.T) {
	m := gemma
	m.Span = 280
	plain, spans := mustPlan(t, gemma, Wish{}), mustPlan(t, m, Wish{})
	if spans.Ring != 1023+280 || spans.Total() <= plain.Total() {
		t.Errorf("ring of %d rows, %d bytes; without spans %d", spans.Ring, spans.Total(), plain.Total())
	}
	m.Kept = giB
	if kept := mustPlan(t, m, Wish{}); kept.Total()-spans.Total() < giB {
		t.Errorf("other conversations add %d bytes, want at least 1 GiB", kept.Total()-spans.Total())
	}
	for _, budget := range []int64{2 * giB, 3 * giB, 8 * giB, 20 * giB} {
		p := mustPlan(t, gemma, Wish{Budget: budget})
		if all := int64(p.Ring) * gemma.KVRow; p.Saved < min(all, budget/64) || p.Saved > all {
			t.Errorf("%s: %d bytes for saved rows, the rings hold %d", gib(budget), p.Saved, all)
		}
	}
	if p := mustPlan(t, gemma, Wish{Budget: 20 * giB}); !p.Mapped || p.Context != mostContext {
		t.Errorf("with room for everything: mapped %v, context %d", p.Mapped, p.Context)
	}
}

func TestATowerKeptReadyLeavesTheExperts(t *testing.T) {
	ready := pictures()
	ready.TowerKept = giB
	if p := mustPlan(t, ready, Wish{Budget: 6 * giB}); p.Encoding != p.Total()+ready.TowerEncoding {
		t.Errorf("encoding takes %d bytes, everything else %d", p.Encoding, p.Total())
	}
}

func TestBadMomentsOfTheMachineWidenTheExpectation(t *testing.T) {
	m := Machine{Disk: 1e9, Memory: 2e10, Compute: 50, Spread: 0.25}
	p := mustPlan(t, gemma, Wish{Budget: 24 * giB, Machine: m})
	if !p.Mapped {
		t.Fatal("24 GiB do not map all experts")
	}
	for _, r := range []Range{p.Speed.Decode, p.Speed.Prefill} {
		if ratio := r.High / r.Low; ratio < 1.249 || ratio > 1.251 {
			t.Errorf("%s: the bar is %.3f wide, want 1.25", r, ratio)
		}
	}
}
