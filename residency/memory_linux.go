package residency

import (
	"fmt"
	"os"
)

// ReadMemory asks the system.
func ReadMemory() (Memory, error) {
	root := os.DirFS("/")
	m, err := readMeminfo(root)
	if err != nil {
		return Memory{}, fmt.Errorf("read memory: %w", err)
	}
	m.Limit, m.LimitSpare = readCgroup(root)
	return m, nil
}
