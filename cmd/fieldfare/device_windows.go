package main

import (
	"os"
	"path/filepath"
)

// deviceOf names the volume that holds a file.
func deviceOf(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(full); err != nil {
		return "", err
	}
	return filepath.VolumeName(full), nil
}
