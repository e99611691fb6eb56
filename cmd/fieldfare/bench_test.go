package main

import (
	"math"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
)

// The stages, the wait for reads and what is outside them are the whole time of a row.
func TestStagesAddUpToTheWhole(t *testing.T) {
	b := &benchRun{about: []cell{{"host", "here"}}}
	s := stretch{phase: "decode", prompt: 128, tokens: 31, took: 3 * time.Second}
	for stage := core.StageEmbed; stage <= core.StageReadWait; stage++ {
		s.stats.Stages[stage] = time.Duration(stage+1) * 50 * time.Millisecond
	}
	s.stats.Chosen, s.stats.Foretold = 8, 2
	b.add(s)
	sum, values := 0.0, map[string]any{}
	inside := false
	for _, c := range b.rows[0] {
		values[c.Name] = c.Value
		inside = inside || c.Name == core.StageEmbed.String()
		if c.Name == "bytes_read" {
			break
		}
		if inside {
			sum += c.Value.(float64)
		}
	}
	if math.Abs(sum-3) > 1e-9 {
		t.Errorf("the parts add up to %v s of 3 s: %v", sum, values)
	}
	if last := b.rows[0][len(b.rows[0])-1]; last != b.about[0] {
		t.Errorf("the last cell is %v, want what the row was measured on", last)
	}
}
