package residency

// Memory is what the machine has and what this process may take of it, in bytes.
type Memory struct {
	Total     int64 // of the machine
	Available int64 // that programs could take without pushing others out
	// Limit is the tightest limit set on this process (cgroup), 0 if none; LimitSpare is what is left under it.
	Limit, LimitSpare int64
}

// keptBack is the share of the machine's memory that a plan leaves to others.
const keptBack = 1.0 / 16

// Spare is what this process may plan with: what is available less a sixteenth of the machine, and no more than is left
// under the limit.
func (m Memory) Spare() int64 {
	spare := max(0, m.Available-int64(keptBack*float64(m.Total)))
	if m.Limit > 0 {
		spare = min(spare, m.LimitSpare)
	}
	return spare
}
