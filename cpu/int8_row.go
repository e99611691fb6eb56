//go:build amd64 && !noasm

package cpu

import "unsafe"

// A packed row of activations of 8 bits, as the int8 sets have it, is a record of int8GroupBytes for each group of 64:
//
//	64 int8     xq_i = round(x_i/step) within 127: the even elements, then the odd ones
//	float32     step = max|x_i|/127
//	float32     rest = 8*(sum x_i - step*sum xq_i)
//	float32     sum x_i
//	4 bytes     nothing
//
// With w_i = scale*q_i + bias, a group adds two terms to an output, in this order:
//
//	y += scale*(step*sum(q_i*xq_i) + rest)
//	y += bias*sum(x_i)
//
// That is scale*(q_i-8) times the rounded and scale*8+bias times the exact activations: weights lie about the middle of
// the codes, so what rounding loses meets numbers between -8 and 7 instead of 0 and 15, and their mean is nearly 0. It
// makes the loss a seventh (docs/experiments.md, E3). The sum of q_i*xq_i is exact in 32 bits, and so are pairs of 16
// bits (u8 times s8, at most 15*127) up to eight of them.
const int8GroupBytes = groupSize + 16

// int8GroupAt is where group g of a packed row begins.
func int8GroupAt(row []float32, g int) *byte {
	return (*byte)(unsafe.Pointer(&row[int8GroupBytes/4*g]))
}
