package cpu

import (
	"fmt"
	"unsafe"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// arenaAlign keeps vectors of different parts off each other's cache lines.
const arenaAlign = 64

// An arena lays out scratch in one region outside the Go heap: parts are asked for first, then allocated at once.
type arena struct {
	size   int
	parts  []arenaPart
	region *pages.Region
}

type arenaPart struct {
	dst    *[]float32
	offset int
	count  int
}

// floats asks for count zeroed elements, which *dst names after alloc.
func (a *arena) floats(dst *[]float32, count int) {
	a.parts = append(a.parts, arenaPart{dst, a.size, count})
	a.size += (4*count + arenaAlign - 1) &^ (arenaAlign - 1)
}

func (a *arena) alloc(class string) error {
	region, err := pages.Alloc(class, a.size)
	if err != nil {
		return fmt.Errorf("cpu: %s of %d bytes: %w", class, a.size, err)
	}
	a.region = region
	all := floatView(region.Bytes())
	for _, p := range a.parts {
		*p.dst = all[p.offset/4 : p.offset/4+p.count : p.offset/4+p.count]
	}
	a.parts = nil
	return nil
}

// floatView is b as float32 elements. b lies in pages or in a []float32: aligned to 4 bytes.
func floatView(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// byteView is f as bytes.
func byteView(f []float32) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}
