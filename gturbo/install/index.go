package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// indexName is the file that lists a checkpoint's shards; indexCap bounds it, inclusive.
const (
	indexName = "model.safetensors.index.json"
	indexCap  = 4 << 20
)

// ParseIndex returns the shards that a checkpoint index names: distinct file names in the order met when tensors are
// walked by name. Which tensor lives where is not taken from the index but from the shards' own headers. Errors wrap
// ErrIndex.
func ParseIndex(raw []byte) ([]string, error) {
	if len(raw) > indexCap {
		return nil, fmt.Errorf("%w: %d bytes exceed the cap of %d", ErrIndex, len(raw), indexCap)
	}
	weightMap := map[string]string{}
	err := strictjson.Parse(raw, func(r *strictjson.Reader) error {
		return r.Object(strictjson.Keys{Required: []string{"weight_map"}}, func(string) error {
			return r.Map(func(tensor string) error {
				var shard string
				if err := r.String(&shard); err != nil {
					return err
				}
				if !validFileName(shard) {
					return fmt.Errorf("%q is not a shard file name", shard)
				}
				weightMap[tensor] = shard
				return nil
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIndex, err)
	}
	if len(weightMap) == 0 {
		return nil, fmt.Errorf("%w: an empty weight_map", ErrIndex)
	}
	return shardOrder(weightMap), nil
}

func shardOrder(weightMap map[string]string) []string {
	tensors := make([]string, 0, len(weightMap))
	for name := range weightMap {
		tensors = append(tensors, name)
	}
	slices.Sort(tensors)
	var shards []string
	seen := map[string]bool{}
	for _, name := range tensors {
		if shard := weightMap[name]; !seen[shard] {
			seen[shard] = true
			shards = append(shards, shard)
		}
	}
	return shards
}

// validFileName holds the names of a source's files to one path component that means the same in a URL and in every
// file system (printable ASCII, which also makes Unicode normalisation a non-question).
func validFileName(name string) bool {
	if name == "" || strings.Contains(name, "..") || name[0] == '.' {
		return false
	}
	for _, r := range name {
		if r < 0x20 || r > 0x7e || strings.ContainsRune(`/\?#:%*"<>|`, r) {
			return false
		}
	}
	return true
}
