//go:build race

package mtl_test

const raceEnabled = true
