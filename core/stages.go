package core

import (
	"fmt"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A Stage is a named step of the forward program.
type Stage int

// The stages in the order of a forward pass: embed once, the next five in every layer, head once. ReadWait is no
// step of its own but the part of routed in which nothing could be done for want of an expert's bytes; it is timed
// apart so that the stages add up to the whole.
const (
	StageEmbed Stage = iota
	StageAttend
	StageRoute
	StageShared
	StageRouted
	StageTail
	StageHead
	StageReadWait
	stageCount
)

var stageNames = [stageCount]string{"embed", "attend", "route", "shared", "routed", "tail", "head", "read wait"}

func (s Stage) String() string { return stageNames[s] }

// StageTimes holds the wall time spent in each stage. A backend that queues work lets a stage's time show up in the
// next stage that waits: route, head or read wait.
type StageTimes [stageCount]time.Duration

// Total is the time of all stages.
func (t *StageTimes) Total() time.Duration {
	sum := time.Duration(0)
	for _, d := range t {
		sum += d
	}
	return sum
}

// Sub returns t minus earlier, for the time between two readings.
func (t StageTimes) Sub(earlier StageTimes) StageTimes {
	for i := range t {
		t[i] -= earlier[i]
	}
	return t
}

// layerStages is the order of the forward program within a layer, written once: prefill and decode both walk it.
var layerStages = []struct {
	stage Stage
	run   func(*program, gturbo.LayerID, *pass) error
}{
	{StageAttend, (*program).attend},
	{StageRoute, (*program).route},
	{StageShared, (*program).shared},
	{StageRouted, (*program).routed},
	{StageTail, (*program).tail},
}

// A StageError says where a forward pass failed.
type StageError struct {
	Stage Stage
	Layer gturbo.LayerID // -1 outside the layers
	Pos   int            // position of the chunk's first row
	Err   error
}

func (e *StageError) Error() string {
	if e.Layer < 0 {
		return fmt.Sprintf("%s at position %d: %v", e.Stage, e.Pos, e.Err)
	}
	return fmt.Sprintf("layer %d: %s at position %d: %v", e.Layer, e.Stage, e.Pos, e.Err)
}

func (e *StageError) Unwrap() error { return e.Err }
