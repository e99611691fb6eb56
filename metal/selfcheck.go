package metal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldfare/fieldfare/shaders"
)

// SelfCheckOptions says what a result is kept for.
type SelfCheckOptions struct {
	// File keeps the last result; "" keeps none.
	File string
	// System and Build name the operating system's version and the program: a result counts for one of each.
	System, Build string
	// Again checks even when the file has a result.
	Again bool
}

// A SelfCheck is what is known about the kernels on this device.
type SelfCheck struct {
	Device, System, Build string
	// Kept tells that the result was read from the file.
	Kept bool `json:"-"`
	// Lines describe every kernel, Failed those that are wrong, joined by semicolons.
	Lines  []string
	Failed string
	// TensorsOff says why tensor operations are not used: the device has none, or their kernels do not compile or are
	// wrong, which costs nothing else. "" when they passed.
	TensorsOff string
}

// Err is nil when all kernels computed what they should, else an error that wraps ErrKernel and names those that did not.
func (s *SelfCheck) Err() error {
	if s.Failed == "" {
		return nil
	}
	return fmt.Errorf("metal: %w: %s", ErrKernel, s.Failed)
}

// SelfCheck runs Check at the small size, or returns what it found earlier on the same device, system and build. A file
// that cannot be read or written costs a check, no error: an error is ctx's.
func (b *Backend) SelfCheck(ctx context.Context, o SelfCheckOptions) (*SelfCheck, error) {
	s := &SelfCheck{Device: b.info.Name, System: o.System, Build: o.Build}
	key := s.key()
	if kept := readSelfCheck(o.File); kept != nil && !o.Again && kept.key() == key {
		kept.Kept = true
		b.allowTensors(kept.TensorsOff == "")
		return kept, nil
	}
	results, err := b.Check(ctx, CheckSmall)
	if err != nil {
		return nil, err
	}
	s.note(results)
	if err := b.Tensors(); err != nil {
		s.TensorsOff = err.Error()
	}
	b.allowTensors(s.TensorsOff == "")
	writeSelfCheck(o.File, s)
	return s, nil
}

// note sorts what a check found.
func (s *SelfCheck) note(results []CheckResult) {
	var failed, off []string
	for _, r := range results {
		s.Lines = append(s.Lines, r.String())
		switch {
		case r.OK():
		case r.Optional:
			off = append(off, r.String())
		default:
			failed = append(failed, r.String())
		}
	}
	s.Failed, s.TensorsOff = strings.Join(failed, "; "), strings.Join(off, "; ")
}

// key names device, system, build and the kernels' text.
func (s *SelfCheck) key() string {
	h := sha256.New()
	for _, part := range []string{s.Device, s.System, s.Build} {
		fmt.Fprintf(h, "%q\n", part)
	}
	for _, l := range shaders.Libraries {
		h.Write([]byte(l.Source()))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A keptCheck is the file's content.
type keptCheck struct {
	Key string
	SelfCheck
}

func readSelfCheck(file string) *SelfCheck {
	data, err := os.ReadFile(file)
	var kept keptCheck
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Key != kept.key() {
		return nil
	}
	return &kept.SelfCheck
}

// writeSelfCheck puts the file in place complete or not at all.
func writeSelfCheck(file string, s *SelfCheck) {
	if file == "" {
		return
	}
	data, err := json.MarshalIndent(keptCheck{s.key(), *s}, "", "  ")
	if err != nil {
		return
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	tmp, err := os.CreateTemp(dir, "check-")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		_ = os.Rename(tmp.Name(), file) // without it the next start checks again
	}
}
