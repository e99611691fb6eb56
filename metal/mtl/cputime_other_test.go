//go:build !linux

package mtl_test

import "time"

var started = time.Now()

func threadTime() time.Duration { return time.Since(started) }
