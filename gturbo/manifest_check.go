package gturbo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check holds m to the rules of the document; the first broken one is returned. It does not ask whether this program
// can run the model: CheckRunnable does.
func (m *Manifest) Check() error {
	if m.Magic != Magic {
		return fmt.Errorf("magic %q, want %q: %w", m.Magic, Magic, ErrNotGTurbo)
	}
	if m.VersionMajor != VersionMajor || m.VersionMinor < 0 {
		return fmt.Errorf("version %d.%d, want %d.x: %w", m.VersionMajor, m.VersionMinor, VersionMajor, ErrVersion)
	}
	for _, flag := range slices.Sorted(maps.Keys(m.Flags)) {
		if flag != FlagStreaming && flag != FlagTurboQuantKV && flag != FlagANESharedExpert {
			return fmt.Errorf("flags: %q: %w", flag, ErrFlag)
		}
	}
	if m.ExpertStride%Align != 0 {
		return fmt.Errorf("expertStride %d, want a multiple of %d: %w", m.ExpertStride, Align, ErrStride)
	}
	if err := m.checkTop(); err != nil {
		return err
	}
	if err := m.Arch.check(); err != nil {
		return fmt.Errorf("arch: %w", err)
	}
	if m.Quant != nil {
		if err := m.Quant.check(); err != nil {
			return fmt.Errorf("quant: %w", err)
		}
	}
	if err := checkFiles(m.Files); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return nil
}

func (m *Manifest) checkTop() error {
	switch {
	case m.ModelID == "":
		return fmt.Errorf("modelID: %w", ErrModelID)
	case m.ExpertStride == 0:
		return fmt.Errorf("expertStride: %w", ErrStrideZero)
	case m.NumLayers <= 0 || m.NumLayers != m.Arch.NumLayers:
		return fmt.Errorf("numLayers %d, arch.numLayers %d: %w", m.NumLayers, m.Arch.NumLayers, ErrLayerCount)
	case m.ExpertsPerLayer <= 0 || m.ExpertsPerLayer != m.Arch.NumExperts:
		return fmt.Errorf("expertsPerLayer %d, arch.numExperts %d: %w",
			m.ExpertsPerLayer, m.Arch.NumExperts, ErrExpertCount)
	}
	return nil
}

// CheckRunnable holds m to what the runtime needs beyond Check: no quantized KV cache (ErrTurboQuantKV), a known
// quantization (ErrQuantMissing, ErrQuantScheme) and the files that every install has (ErrMissingFile).
func (m *Manifest) CheckRunnable() error {
	if m.Flags[FlagTurboQuantKV] {
		return fmt.Errorf("%s: flags: %s: %w", ManifestFile, FlagTurboQuantKV, ErrTurboQuantKV)
	}
	if m.Quant == nil {
		return fmt.Errorf("%s: quant: %w", ManifestFile, ErrQuantMissing)
	}
	if err := m.Quant.checkRunnable(); err != nil {
		return fmt.Errorf("%s: quant: %w", ManifestFile, err)
	}
	for _, name := range []string{WeightsFile, LayoutFile} {
		if _, ok := m.Files[name]; !ok {
			return fmt.Errorf("%s: files: %s is not listed: %w", ManifestFile, name, ErrMissingFile)
		}
	}
	return nil
}

// checkFiles holds the keys and digests of a files object to the rules: every path plain, none reserved, none the
// same file as another or a directory of it.
func checkFiles(files map[string]FileRecord) error {
	byKey := make(map[string]string, len(files))
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		if err := CheckPath(path); err != nil {
			return err
		}
		key := PathKey(path)
		if reservedKey(key) {
			return fmt.Errorf("path %q: %w", path, ErrPathReserved)
		}
		if other, ok := byKey[key]; ok {
			return fmt.Errorf("paths %q and %q: %w", other, path, ErrPathDuplicate)
		}
		byKey[key] = path
		if !ValidSHA256(files[path].SHA256) {
			return fmt.Errorf("path %q: sha256 %q: %w", path, files[path].SHA256, ErrDigest)
		}
	}
	for _, path := range paths {
		key := PathKey(path)
		for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
			if dir, ok := byKey[key[:i]]; ok {
				return fmt.Errorf("paths %q and %q: %w", dir, path, ErrPathPrefix)
			}
		}
	}
	return nil
}

func reservedKey(key string) bool {
	switch key {
	case TokenizerDir, ManifestFile, ReceiptFile:
		return true
	}
	return strings.HasPrefix(key, ManifestFile+"/") || strings.HasPrefix(key, ReceiptFile+"/")
}
