package cpu

import "math"

// plainGEGLU replaces gate by gelu(gate)*up, gelu in its tanh form:
//
//	gelu(t) = 0.5*t*(1 + tanh(sqrt(2/pi)*(t + 0.044715*t^3)))
func plainGEGLU(gate, up []float32) {
	for i, g := range gate {
		t := float64(g)
		u := math.Sqrt(2/math.Pi) * (t + 0.044715*t*t*t)
		gate[i] = float32(0.5*t*(1+math.Tanh(u))) * up[i]
	}
}
