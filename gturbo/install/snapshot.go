package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo"
)

const (
	configName = "config.json"
	configCap  = 1 << 20
)

// Snapshot is what the small files of a checkpoint say. It holds no payload.
type Snapshot struct {
	Origin      Origin
	IndexSHA256 string               // lowercase hex, over the bytes of the index file
	Config      []byte               // config.json as it is
	Parsed      *gturbo.SourceConfig // what config.json means
	Tensors     map[string]Tensor    // of all shards, by name
	ShardSizes  map[string]int64     // file size by shard name
}

// LoadSnapshot fetches the index, the configuration and the header of every shard. A tensor named in two shards is
// refused. pinned is the commit of an earlier run, or empty.
func LoadSnapshot(ctx context.Context, src Source, pinned string) (*Snapshot, error) {
	origin, err := src.Resolve(ctx, pinned)
	if err != nil {
		return nil, err
	}
	index, err := readFile(ctx, src, indexName, indexCap)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", indexName, err)
	}
	shards, err := ParseIndex(index)
	if err != nil {
		return nil, err
	}
	config, err := readFile(ctx, src, configName, configCap)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", configName, err)
	}
	parsed, err := gturbo.ParseSourceConfig(config)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", configName, err)
	}
	sum := sha256.Sum256(index)
	snap := &Snapshot{
		Origin:      origin,
		IndexSHA256: hex.EncodeToString(sum[:]),
		Config:      config,
		Parsed:      parsed,
		Tensors:     map[string]Tensor{},
		ShardSizes:  map[string]int64{},
	}
	for _, shard := range shards {
		if err := snap.addShard(ctx, src, shard); err != nil {
			return nil, fmt.Errorf("read header of %s: %w", shard, err)
		}
	}
	return snap, nil
}

func (s *Snapshot) addShard(ctx context.Context, src Source, shard string) error {
	size, err := src.Size(ctx, shard)
	if err != nil {
		return err
	}
	if size < headerLengthBytes {
		return fmt.Errorf("%w: a file of %d bytes", ErrHeader, size)
	}
	prefix, err := readRange(ctx, src, shard, 0, headerLengthBytes)
	if err != nil {
		return err
	}
	n, err := headerLength(prefix, size)
	if err != nil {
		return err
	}
	raw, err := readRange(ctx, src, shard, headerLengthBytes, n)
	if err != nil {
		return err
	}
	tensors, err := ParseHeader(shard, raw, size)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		if other, ok := s.Tensors[t.Name]; ok {
			return fmt.Errorf("%w: %s is in %s too", ErrHeader, t.Name, other.Shard)
		}
		s.Tensors[t.Name] = t
	}
	s.ShardSizes[shard] = size
	return nil
}
