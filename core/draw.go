package core

// draw returns u in [0, 1) for the index-th generated token: a pure function, so that replay, retry and
// verification of guessed tokens give the same text. Scheme of gemma4-text 8.4: splitmix64 of seed+index seeds a
// xorshift64* whose second output's top 24 bits count.
func draw(seed, index uint64) float64 {
	z := splitmix64(seed + index)
	if z == 0 {
		z = 0x9E3779B97F4A7C15
	}
	z, _ = xorshift64star(z)
	_, out := xorshift64star(z)
	return float64(out>>40) / (1 << 24)
}

func splitmix64(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// xorshift64star steps the state and gives this step's output.
func xorshift64star(state uint64) (next, out uint64) {
	state ^= state << 13
	state ^= state >> 7
	state ^= state << 17
	return state, state * 2685821657736338717
}
