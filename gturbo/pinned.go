package gturbo

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
)

// pinnedSnapshot is the sourceSnapshotHash of installs made from mlx-community/gemma-4-26b-a4b-it-4bit at revision
// 0d77464eeb233a2da68ebf9d7dc4edaac7db956d.
const pinnedSnapshot = "sha256:bf198c9f5ea6462addca1966e5dd669c407537a876e82cf06db9084c5c850b13"

// pinnedConfig holds that checkpoint's configuration, as far as this program reads it. The original installer loses
// tokenizer/config.json when it resumes over damaged outputs; such installs are sound otherwise.
//
//go:embed pinned_config.json
var pinnedConfig []byte

// ReadSource reads the checkpoint's configuration from an install whose manifest is m.
func ReadSource(root *Root, m *Manifest) (*SourceConfig, error) {
	data, err := readTokenizerFile(root, ConfigFile)
	if errors.Is(err, fs.ErrNotExist) && m.SourceSnapshotHash == pinnedSnapshot {
		data, err = pinnedConfig, nil
	}
	if err != nil {
		return nil, err
	}
	source, err := ParseSourceConfig(data)
	if err != nil {
		return nil, err
	}
	if err := m.Arch.CheckEqual(&source.Arch); err != nil {
		return nil, fmt.Errorf("%s/%s against %s: %w", TokenizerDir, ConfigFile, ManifestFile, err)
	}
	return source, nil
}
