package core

import "slices"

// selectTop fills dst with the n ids of the largest values of x, largest first, lower id first among equals, and
// returns it. It keeps a heap of n ids while it walks x once, so that the few dozen tokens a sampler looks at cost
// little more than reading the logits. dst is reused when its capacity allows.
func selectTop(dst []int32, x []float32, n int) []int32 {
	n = min(n, len(x))
	dst = dst[:0]
	for i := range n {
		dst = append(dst, int32(i))
	}
	if n < len(x) && n > 0 {
		for i := n/2 - 1; i >= 0; i-- {
			siftDown(dst, x, i)
		}
		for i := n; i < len(x); i++ {
			if x[i] > x[dst[0]] { // an equal value loses to the lower ids before it
				dst[0] = int32(i)
				siftDown(dst, x, 0)
			}
		}
	}
	slices.SortFunc(dst, func(a, b int32) int {
		switch {
		case before(x, a, b):
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	return dst
}

// before reports whether id a comes before id b in the order of selectTop.
func before(x []float32, a, b int32) bool { return x[a] > x[b] || x[a] == x[b] && a < b }

// siftDown restores the heap whose root is the id that comes last in the order.
func siftDown(heap []int32, x []float32, i int) {
	for {
		last := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
			if before(x, heap[last], heap[c]) {
				last = c
			}
		}
		if last == i {
			return
		}
		heap[i], heap[last] = heap[last], heap[i]
		i = last
	}
}

// argmax returns the id of the largest value, the lowest on a tie.
func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}
