package visionpack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/lease"
)

// leaseWait is how long Open waits for an installer to finish.
const leaseWait = 5 * time.Second

// A Pack is an open image pack. It holds the shared use lease, so that no installer changes it, until Close. Methods
// may be called from any goroutine, Close last.
type Pack struct {
	root           *gturbo.Root
	lease          *lease.Lease
	weights        *os.File
	manifest       *Manifest
	manifestSHA256 string
	processor      *Processor
	tower          *Tower
	groups         []int // number of tensors of each
}

// Find reports whether a pack stands at path: nil, ErrNotFound, or ErrNoManifest. It leaves no lock file behind.
func Find(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, ErrNotFound)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("open %s: %w", path, gturbo.ErrNotDirectory)
	}
	if _, err := os.Lstat(filepath.Join(path, ManifestFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", path, ErrNoManifest)
		}
		return err
	}
	return nil
}

// Open opens the pack at path for the text model. Structure, binding, receipt and sizes are checked and the processor
// file is hashed; the weights are not, the receipt stands for them. Nothing is mapped yet, see Map.
//
// Every refusal has its own sentinel in errors.go; one leaves nothing open. A finished context is returned as it is.
func Open(ctx context.Context, path string, text *TextModel) (*Pack, error) {
	if text.SnapshotHash == "" {
		return nil, fmt.Errorf("%s: %w", text.Path, ErrUnbound)
	}
	if err := Find(path); err != nil {
		return nil, err
	}
	lock, err := lease.UsePath(path)
	if err != nil {
		return nil, err
	}
	held, err := lease.Shared(ctx, lock, leaseWait)
	if errors.Is(err, lease.ErrBusy) {
		return nil, fmt.Errorf("the image pack at %s is being modified: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	p := &Pack{lease: held}
	if err := p.load(path, text); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Pack) load(path string, text *TextModel) (err error) {
	if p.root, err = gturbo.OpenRoot(path); err != nil {
		return err
	}
	manifest, err := p.readManifest(text)
	if err != nil {
		return err
	}
	receipt, err := readReceipt(p.root)
	if err != nil {
		return err
	}
	if err := receipt.CheckBinding(p.manifest, manifest, path); err != nil {
		return err
	}
	if err := checkEntries(p.root, fourNames); err != nil {
		return err
	}
	if p.weights, err = openSized(p.root, WeightsFile, p.manifest.Files[WeightsFile]); err != nil {
		return err
	}
	p.processor, err = readProcessor(p.root, p.manifest, p.tower)
	return err
}

// readManifest reads the manifest and holds it to the text model and its tower. It returns the manifest's bytes.
func (p *Pack) readManifest(text *TextModel) (data []byte, err error) {
	if p.manifest, data, err = readManifest(p.root); err != nil {
		return nil, err
	}
	if err := p.manifest.checkText(text); err != nil {
		return nil, err
	}
	p.manifestSHA256, p.tower = gturbo.SHA256(data), text.Tower
	p.groups, err = p.tower.fit(p.manifest.Tensors)
	return data, err
}

func readManifest(root *gturbo.Root) (*Manifest, []byte, error) {
	data, err := root.ReadFile(ManifestFile, MaxManifestSize)
	if errors.Is(err, gturbo.ErrMetadataCap) {
		return nil, nil, fmt.Errorf("%w: %w", ErrCap, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w", root.Path(), ErrNoManifest)
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := DecodeManifest(data)
	return m, data, err
}

func readReceipt(root *gturbo.Root) (*Receipt, error) {
	data, err := root.ReadFile(ReceiptFile, MaxReceiptSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s/%s: %w", root.Path(), ReceiptFile, ErrReceiptMissing)
	case errors.Is(err, gturbo.ErrMetadataCap):
		return nil, fmt.Errorf("%w: %w", ErrReceiptSyntax, err)
	case err != nil:
		return nil, err
	}
	return DecodeReceipt(data)
}

// readProcessor hashes the processor file against both digests of the manifest and reads it.
func readProcessor(root *gturbo.Root, m *Manifest, t *Tower) (*Processor, error) {
	record := m.Files[ProcessorFile]
	if !gturbo.EqualSHA256(m.ProcessorConfigSHA256, record.SHA256) {
		return nil, fmt.Errorf("%s: processorConfigSha256 %s, files say %s: %w",
			ManifestFile, m.ProcessorConfigSHA256, record.SHA256, ErrProcessorDigest)
	}
	f, err := openSized(root, ProcessorFile, record)
	if err != nil {
		return nil, err
	}
	f.Close()
	data, err := root.ReadFile(ProcessorFile, MaxProcessorSize)
	if errors.Is(err, gturbo.ErrMetadataCap) {
		return nil, fmt.Errorf("%w: %w", ErrCap, err)
	}
	if err != nil {
		return nil, err
	}
	if got := gturbo.SHA256(data); !gturbo.EqualSHA256(got, record.SHA256) {
		return nil, fmt.Errorf("%s: SHA-256 %s, the manifest says %s: %w", ProcessorFile, got, record.SHA256, ErrChecksum)
	}
	return ParseProcessor(data, t)
}

// openSized opens a file of the pack and compares its size with the manifest.
func openSized(root *gturbo.Root, name string, want gturbo.FileRecord) (*os.File, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (info.Size() < 0 || uint64(info.Size()) != want.Size) {
		err = fmt.Errorf("%s: %d bytes, the manifest says %d: %w", name, info.Size(), want.Size, ErrSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// maxEntries bounds how much of a strange directory is listed.
const maxEntries = 64

var fourNames = []string{ManifestFile, ProcessorFile, ReceiptFile, WeightsFile}

// checkEntries compares what lies in the directory with the names in want, sidecars of operating systems aside.
func checkEntries(root *gturbo.Root, want []string) error {
	names, err := root.Names(maxEntries)
	if err != nil {
		return fmt.Errorf("list %s: %w: %w", root.Path(), ErrEntries, err)
	}
	var missing, unexpected []string
	for _, name := range want {
		if !slices.Contains(names, name) {
			missing = append(missing, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(want, name) && !sidecar(name) {
			unexpected = append(unexpected, name)
		}
	}
	if len(missing)+len(unexpected) == 0 {
		return nil
	}
	return fmt.Errorf("%s: missing [%s], unexpected [%s]: %w",
		root.Path(), strings.Join(missing, " "), strings.Join(unexpected, " "), ErrEntries)
}

// Manifest returns the manifest; read-only.
func (p *Pack) Manifest() *Manifest { return p.manifest }

// ManifestSHA256 returns the digest of manifest.json as it lies on disk, in lowercase hex.
func (p *Pack) ManifestSHA256() string { return p.manifestSHA256 }

// Path returns the standardised path that the pack was opened by.
func (p *Pack) Path() string { return p.root.Path() }

// Processor returns what the processor file says.
func (p *Pack) Processor() Processor { return *p.processor }

// Tower returns the dimensions that the tensors fit; read-only.
func (p *Pack) Tower() *Tower { return p.tower }

// Close closes the files and gives the lease back. Regions stay mapped until they are closed themselves, but from
// here on an installer may replace the pack.
func (p *Pack) Close() error {
	var problems []error
	if p.weights != nil {
		problems = append(problems, p.weights.Close())
	}
	if p.root != nil {
		problems = append(problems, p.root.Close())
	}
	return errors.Join(append(problems, p.lease.Close())...)
}
