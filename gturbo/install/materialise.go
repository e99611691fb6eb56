package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/visionpack"
)

// lockPoll is how often Materialise looks whether another process has finished.
const lockPoll = 50 * time.Millisecond

// Materialise writes an install that ships inside the program, without a receipt, to dest. It is idempotent and may
// be called by many processes at once: one writes, the others wait for it. Every byte is checked against the manifest
// on its way, and the directory appears complete, with a receipt of its own, or not at all. An install at dest that
// is not this one, or not whole, is replaced.
func Materialise(ctx context.Context, src fs.FS, dest string) error {
	return materialise(ctx, src, dest, func(m *materialiser) error {
		decoded, err := gturbo.DecodeManifest(m.manifest)
		if err != nil {
			return err
		}
		m.files = decoded.Files
		m.done = func() bool { return m.textDone(decoded) }
		m.receipt = func() ([]byte, error) {
			return gturbo.NewReceipt(decoded, m.manifest, m.paths.requested, toolVersion, time.Now()).Encode()
		}
		return nil
	})
}

// MaterialisePack does for an image pack what [Materialise] does for a text model.
func MaterialisePack(ctx context.Context, src fs.FS, dest string) error {
	return materialise(ctx, src, dest, func(m *materialiser) error {
		decoded, err := visionpack.DecodeManifest(m.manifest)
		if err != nil {
			return err
		}
		m.files = decoded.Files
		m.done = func() bool { return visionpack.Unpacked(m.paths.final, m.manifest) }
		m.receipt = func() ([]byte, error) {
			return visionpack.NewReceipt(decoded, m.manifest, m.paths.final, toolVersion).Encode()
		}
		return nil
	})
}

func materialise(ctx context.Context, src fs.FS, dest string, artifact func(*materialiser) error) error {
	m := &materialiser{fs: HostFS(), src: src}
	if err := m.run(ctx, dest, artifact); err != nil {
		return fmt.Errorf("materialise %s: %w", dest, err)
	}
	return nil
}

type materialiser struct {
	fs    FS
	src   fs.FS
	paths paths

	manifest []byte
	files    map[string]gturbo.FileRecord // what the manifest lists
	receipt  func() ([]byte, error)
	// done reports whether the output holds this very artifact: same manifest, a receipt that vouches for it at this
	// path, and every file at its size. Contents are hashed when the model is loaded.
	done func() bool
}

func (m *materialiser) run(ctx context.Context, dest string, artifact func(*materialiser) error) error {
	var err error
	if m.manifest, err = fs.ReadFile(m.src, manifestName); err != nil {
		return err
	}
	if err := artifact(m); err != nil {
		return err
	}
	if m.paths, err = resolvePaths(m.fs, dest, true); err != nil {
		return err
	}
	if m.done() {
		return nil
	}
	release, err := m.waitForLock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if m.done() {
		return nil
	}
	if err := m.write(ctx); err != nil {
		_ = removeTree(m.fs, m.paths.partial) // the next call clears it too
		return err
	}
	return m.paths.promote(m.fs)
}

func (m *materialiser) textDone(decoded *gturbo.Manifest) bool {
	if manifestHash(m.fs, m.paths.final) != gturbo.SHA256(m.manifest) {
		return false
	}
	raw, err := readSmall(m.fs, filepath.Join(m.paths.final, receiptName), gturbo.MaxReceiptSize)
	if err != nil {
		return false
	}
	receipt, err := gturbo.DecodeReceipt(raw)
	if err != nil || receipt.CheckBinding(gturbo.SHA256(m.manifest), m.paths.requested) != nil {
		return false
	}
	for path, record := range decoded.Files {
		info, err := m.fs.Lstat(filepath.Join(m.paths.final, filepath.FromSlash(path)))
		if err != nil || !info.Mode().IsRegular() || uint64(info.Size()) != record.Size {
			return false
		}
	}
	return true
}

// waitForLock takes the install lock, or waits until the process that holds it has let go.
func (m *materialiser) waitForLock(ctx context.Context) (release func(), err error) {
	for {
		release, err := m.paths.takeLock(m.fs, "unpacking")
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

func (m *materialiser) write(ctx context.Context) error {
	if err := removeTree(m.fs, m.paths.partial); err != nil {
		return err
	}
	dirs := []string{"."}
	if err := m.fs.Mkdir(m.paths.partial, 0o755); err != nil {
		return err
	}
	buf := make([]byte, tileBytes)
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		if dir := filepath.Dir(filepath.FromSlash(path)); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
			if err := m.fs.Mkdir(filepath.Join(m.paths.partial, dir), 0o755); err != nil {
				return err
			}
		}
		if err := m.copy(ctx, path, buf); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	receipt, err := m.receipt()
	if err != nil {
		return err
	}
	for _, doc := range []struct {
		name string
		data []byte
	}{{manifestName, m.manifest}, {receiptName, receipt}} {
		if err := writeDurably(m.fs, filepath.Join(m.paths.partial, doc.name), doc.data, 0o644); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(dirs) {
		if err := m.fs.SyncDir(filepath.Join(m.paths.partial, dir)); err != nil {
			return err
		}
	}
	return m.fs.SyncDir(m.paths.parent)
}

// copy writes one file and holds it to its record.
func (m *materialiser) copy(ctx context.Context, path string, buf []byte) (err error) {
	in, err := m.src.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := m.fs.Create(filepath.Join(m.paths.partial, filepath.FromSlash(path)), 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	size := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(in, buf)
		if _, err := out.WriteAt(buf[:n], size); err != nil {
			return err
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	sum, err := gturbo.SHA256At(ctx, out, size, nil)
	if err != nil {
		return err
	}
	if found, want := (gturbo.FileRecord{Size: uint64(size), SHA256: sum}), m.files[path]; !found.Equal(want) {
		return fmt.Errorf("%w: %d bytes %s, the manifest says %d bytes %s", ErrDamaged, size, sum, want.Size, want.SHA256)
	}
	return out.Sync()
}
