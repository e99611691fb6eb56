package main

import (
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/residency"
)

// Without a word from the user, guesses are read where that costs hardly any processor time: on the CPU backend, past
// the page cache.
func TestLookaheadFollowsTheWayOfReading(t *testing.T) {
	onCPU, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type another struct{ core.Backend }
	for name, c := range map[string]struct {
		flag             string
		backend          core.Backend
		uncached, cached bool
		want             bool
	}{
		"past the page cache":                   {lookaheadAuto, onCPU, true, false, true},
		"the page cache holds all":              {lookaheadAuto, onCPU, true, true, false},
		"through the page cache":                {lookaheadAuto, onCPU, false, false, false},
		"another backend":                       {lookaheadAuto, another{}, true, false, false},
		"asked for":                             {lookaheadOn, another{}, false, true, true},
		"refused":                               {lookaheadOff, onCPU, true, false, false},
		"nothing known of the disk, asked for":  {lookaheadOn, onCPU, false, false, true},
		"nothing known of the disk, not a word": {lookaheadAuto, onCPU, false, false, false},
	} {
		p := planned{plan: &residency.Plan{Slots: 8}, cached: c.cached}
		p.machine.Disk.Best = residency.ProbeRow{Uncached: c.uncached, Reads: 2}
		o := core.Options{Backend: c.backend}
		p.apply(&o, &modelFlags{lookahead: c.flag})
		if o.Lookahead != c.want {
			t.Errorf("%s: lookahead %v, want %v", name, o.Lookahead, c.want)
		}
	}
}
