//go:build !race

package mtl_test

const raceEnabled = false
