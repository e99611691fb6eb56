package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Verify checks an install as [gturbo.Verify] does, a fresh receipt included, and narrows what it finds: where the
// checksums that the installer left beside the install fit its manifest, a damaged file is reported as the blocks of
// at most 1 MiB that are wrong, one [gturbo.Damage] each, instead of as a whole.
func Verify(ctx context.Context, path string, o gturbo.VerifyOptions) (*gturbo.VerifyReport, error) {
	report, err := gturbo.Verify(ctx, path, o)
	var damage *gturbo.DamageError
	if !errors.As(err, &damage) {
		return report, err
	}
	narrowed, narrowErr := Narrow(ctx, HostFS(), path, report.ManifestSHA256, damage.Damages)
	if narrowErr != nil {
		return report, narrowErr
	}
	report.Damages = narrowed
	return report, &gturbo.DamageError{Install: damage.Install, Damages: narrowed}
}

// Narrow replaces each damage that is a wrong digest by the blocks that are wrong, as far as the checksums beside the
// install tell. manifestSHA256 is the hash of the install's manifest; checksums made for another one are ignored.
func Narrow(
	ctx context.Context, fsys FS, path, manifestSHA256 string, damages []gturbo.Damage,
) ([]gturbo.Damage, error) {
	physical, err := fsys.Physical(path) // the path itself may be a symlink, and the checksums lie beside its target
	if err != nil {
		return nil, err
	}
	p, err := resolvePaths(fsys, physical, false)
	if err != nil {
		return nil, err
	}
	sums, err := loadChecksums(fsys, p.ranges, manifestSHA256)
	if err != nil || sums == nil {
		return damages, err
	}
	var narrowed []gturbo.Damage
	for _, d := range damages {
		blocks := sums[d.File]
		if !errors.Is(d.Kind, gturbo.ErrChecksum) || blocks == nil {
			narrowed = append(narrowed, d)
			continue
		}
		found, err := wrongBlocks(ctx, fsys, filepath.Join(p.final, filepath.FromSlash(d.File)), d, blocks)
		if err != nil {
			return nil, fmt.Errorf("locate the damage in %s: %w", d.File, err)
		}
		narrowed = append(narrowed, found...)
	}
	return narrowed, nil
}

// wrongBlocks reads a file again and returns d once per run of wrong blocks, or d as it is when every block agrees.
func wrongBlocks(ctx context.Context, fsys FS, name string, d gturbo.Damage, blocks []block) ([]gturbo.Damage, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size := blocks[len(blocks)-1]; uint64(size.to+size.size) != d.Want.Size {
		return []gturbo.Damage{d}, nil
	}
	var found []gturbo.Damage
	note := func(b *block, crc uint32) {
		if crc == b.crc {
			return
		}
		if n := len(found); n > 0 && found[n-1].Hi == b.to {
			found[n-1].Hi = b.to + b.size
			return
		}
		wrong := d
		wrong.Lo, wrong.Hi = b.to, b.to+b.size
		found = append(found, wrong)
	}
	c := cursor{blocks: blocks}
	buf := make([]byte, tileBytes)
	for at := int64(0); at < int64(d.Want.Size); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tile := buf[:min(int64(len(buf)), int64(d.Want.Size)-at)]
		if err := readExactly(f, tile, at); err != nil {
			return nil, err
		}
		c.take(tile, note)
		at += int64(len(tile))
	}
	if found == nil {
		return []gturbo.Damage{d}, nil
	}
	return found, nil
}
