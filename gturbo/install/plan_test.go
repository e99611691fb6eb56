package install

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestPlanRefusesCopiesThatDoNotFit(t *testing.T) {
	files := []Output{{Path: "a", Size: 100, Head: make([]byte, 10)}, {Path: "b", Size: 50}}
	for name, copies := range map[string][]copyOf{
		"into the head":             {{shard: "s", file: 0, to: 9, size: 5}},
		"past the end":              {{shard: "s", file: 1, to: 46, size: 5}},
		"a size that overflows":     {{shard: "s", file: 1, to: 1, size: math.MaxInt64}},
		"a negative size":           {{shard: "s", file: 1, size: -1}},
		"a negative source offset":  {{shard: "s", file: 1, from: -1, size: 1}},
		"a huge source offset":      {{shard: "s", file: 1, from: math.MaxInt64, size: 1}},
		"overlap by one byte":       {{shard: "s", file: 1, to: 0, size: 11}, {shard: "r", file: 1, to: 10, size: 5}},
		"the same destination":      {{shard: "s", file: 1, to: 3, size: 5}, {shard: "r", file: 1, to: 3, size: 5}},
		"a copy inside another one": {{shard: "s", file: 1, to: 0, size: 30}, {shard: "r", file: 1, to: 3, size: 5}},
	} {
		if _, err := buildPlan(files, copies, 4096); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, chunk := range []int64{0, -1, DefaultChunk + 1} {
		if _, err := buildPlan(files, nil, chunk); !errors.Is(err, ErrPlan) {
			t.Errorf("chunk %d: %v", chunk, err)
		}
	}
}

func TestPlanMergesNeighboursUpToTheChunk(t *testing.T) {
	files := []Output{{Path: "a", Size: 1000}}
	copies := []copyOf{
		{shard: "s2", from: 0, to: 0, size: 10},
		{shard: "s1", from: 300, to: 10, size: 250}, // longer than a chunk
		{shard: "s1", from: 0, to: 400, size: 40},
		{shard: "s1", from: 60, to: 500, size: 40}, // a gap of 20, ends exactly at the chunk
		{shard: "s1", from: 101, to: 600, size: 5},
		{shard: "s1", from: 290, to: 700, size: 0},
	}
	plan, err := buildPlan(files, copies, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range plan.Ranges {
		got = append(got, fmt.Sprintf("%s %s %d+%d keeps %d", r.ID, r.Shard, r.Offset, r.Size, r.kept()))
	}
	want := []string{
		"range-00000000 s1 0+100 keeps 80", "range-00000001 s1 101+5 keeps 5", "range-00000002 s1 300+100 keeps 100",
		"range-00000003 s1 400+100 keeps 100", "range-00000004 s1 500+50 keeps 50", "range-00000005 s2 0+10 keeps 10",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestPlanCopiesWhatWasAsked executes random plans byte by byte and compares with copying directly.
func TestPlanCopiesWhatWasAsked(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		shards := map[string][]byte{}
		for _, name := range []string{"s0", "s1"} {
			data := make([]byte, 3000)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			shards[name] = data
		}
		want := [][]byte{make([]byte, 2000), make([]byte, 2000)}
		var copies []copyOf
		for file := range want {
			for at := int64(rng.IntN(50)); ; {
				size := int64(rng.IntN(300))
				if at+size > 2000 {
					break
				}
				c := copyOf{shard: fmt.Sprintf("s%d", rng.IntN(2)), from: rng.Int64N(3000 - size), file: file, to: at, size: size}
				copies = append(copies, c)
				copy(want[file][at:at+size], shards[c.shard][c.from:])
				at += size + int64(rng.IntN(40))
			}
		}
		rng.Shuffle(len(copies), func(i, j int) { copies[i], copies[j] = copies[j], copies[i] })
		chunk := int64(1 + rng.IntN(700))
		plan, err := buildPlan([]Output{{Path: "a", Size: 2000}, {Path: "b", Size: 2000}}, copies, chunk)
		if err != nil {
			t.Fatal(err)
		}
		got := [][]byte{make([]byte, 2000), make([]byte, 2000)}
		for _, r := range plan.Ranges {
			if r.Size > chunk || r.Size <= 0 {
				t.Errorf("seed %d: %s has %d bytes, chunk %d", seed, r.ID, r.Size, chunk)
			}
			body := shards[r.Shard][r.Offset : r.Offset+r.Size]
			for _, p := range r.Parts {
				copy(got[p.File][p.To:p.To+p.Size], body[p.From:])
			}
		}
		for file := range want {
			if string(got[file]) != string(want[file]) {
				t.Fatalf("seed %d: file %d differs", seed, file)
			}
		}
	}
}
