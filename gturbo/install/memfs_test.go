package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// memFS is a file system in memory that knows the difference between what was written and what would be there after
// a power cut. Every call can be counted, failed, logged, or made the last one before the cut.
type memFS struct {
	mu       sync.Mutex
	root     *node
	locks    map[string]bool
	capacity int64 // bytes that files may hold in all; 0: no bound
	used     int64

	calls  int
	before func(call int, op, name string) error // fails the call; errPartial lets half of a write through
	lying  bool                                  // Sync and SyncDir only say that they have
	log    *[]string

	noExchange bool
}

var (
	errCut     = errors.New("power cut")
	errPartial = errors.New("half of the write")
)

// node is a file or a directory with a volatile and a durable state.
type node struct {
	dir      bool
	children map[string]*node // volatile
	saved    map[string]*node // durable

	data    []byte
	holes   []bool // per 4 KiB page: never written
	durable []byte
}

func newDir() *node { return &node{dir: true, children: map[string]*node{}, saved: map[string]*node{}} }

// newMemFS returns a file system with the directory /m.
func newMemFS() *memFS {
	f := &memFS{root: newDir(), locks: map[string]bool{}}
	m := newDir()
	f.root.children["m"], f.root.saved["m"] = m, m
	return f
}

const page = 4096

// enter counts a call and lets the test fail it. Callers hold mu afterwards and unlock.
func (f *memFS) enter(op, name string) error {
	f.mu.Lock()
	f.calls++
	if f.log != nil {
		*f.log = append(*f.log, op+" "+name)
	}
	if f.before != nil {
		return f.before(f.calls, op, name)
	}
	return nil
}

func split(name string) []string {
	name = filepath.ToSlash(name)
	if i := strings.Index(name, ":"); i >= 0 {
		name = name[i+1:]
	}
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

func (f *memFS) find(name string) *node {
	n := f.root
	for _, part := range split(name) {
		if n == nil || !n.dir {
			return nil
		}
		n = n.children[part]
	}
	return n
}

func (f *memFS) parent(name string) (*node, string) {
	parts := split(name)
	return f.find(strings.Join(parts[:len(parts)-1], "/")), parts[len(parts)-1]
}

func notExist(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

func (f *memFS) Create(name string, _ fs.FileMode) (File, error) {
	err := f.enter("create", name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, base := f.parent(name)
	if dir == nil {
		return nil, notExist("create", name)
	}
	if dir.children[base] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &node{}
	dir.children[base] = n
	return &memFile{f, n, name}, nil
}

func (f *memFS) Open(name string) (File, error) { return f.open("open", name) }

func (f *memFS) OpenWrite(name string) (File, error) { return f.open("openwrite", name) }

func (f *memFS) open(op, name string) (File, error) {
	err := f.enter(op, name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil {
		return nil, notExist(op, name)
	}
	if n.dir {
		return nil, unsafePath(name, fs.ModeDir, false)
	}
	return &memFile{f, n, name}, nil
}

type memInfo struct {
	name string
	n    *node
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return int64(len(i.n.data)) }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.n.dir }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.n.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

func (f *memFS) Lstat(name string) (fs.FileInfo, error) {
	err := f.enter("lstat", name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil {
		return nil, notExist("lstat", name)
	}
	return memInfo{filepath.Base(name), n}, nil
}

func (f *memFS) ReadDir(name string, _ int) ([]string, error) {
	err := f.enter("readdir", name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil || !n.dir {
		return nil, notExist("readdir", name)
	}
	return slices.Sorted(maps.Keys(n.children)), nil
}

func (f *memFS) Mkdir(name string, _ fs.FileMode) error {
	err := f.enter("mkdir", name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	dir, base := f.parent(name)
	if dir == nil {
		return notExist("mkdir", name)
	}
	if dir.children[base] != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	dir.children[base] = newDir()
	return nil
}

func (f *memFS) MkdirParents(name string) error { return nil }

func (f *memFS) Physical(name string) (string, error) { return name, nil }

func (f *memFS) Remove(name string) error {
	err := f.enter("remove", name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	dir, base := f.parent(name)
	if dir == nil || dir.children[base] == nil {
		return notExist("remove", name)
	}
	n := dir.children[base]
	if n.dir && len(n.children) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	delete(dir.children, base)
	f.used -= n.allocated()
	return nil
}

func (f *memFS) Rename(from, to string) error {
	err := f.enter("rename", from+" -> "+filepath.Base(to))
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	a, oldName := f.parent(from)
	b, newName := f.parent(to)
	if a == nil || b == nil || a.children[oldName] == nil {
		return notExist("rename", from)
	}
	if old := b.children[newName]; old != nil {
		if old.dir {
			return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		f.used -= old.allocated()
	}
	b.children[newName] = a.children[oldName]
	delete(a.children, oldName)
	return nil
}

func (f *memFS) Exchange(x, y string) error {
	err := f.enter("exchange", x+" <> "+filepath.Base(y))
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if f.noExchange {
		return errors.ErrUnsupported
	}
	a, nameA := f.parent(x)
	b, nameB := f.parent(y)
	if a.children[nameA] == nil || b.children[nameB] == nil {
		return notExist("exchange", x)
	}
	a.children[nameA], b.children[nameB] = b.children[nameB], a.children[nameA]
	return nil
}

func (f *memFS) SyncDir(name string) error {
	err := f.enter("syncdir", name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	n := f.find(name)
	if n == nil || !n.dir {
		return notExist("syncdir", name)
	}
	if !f.lying {
		n.saved = maps.Clone(n.children)
	}
	return nil
}

func (f *memFS) Free(name string) (int64, error) {
	err := f.enter("free", name)
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if f.capacity == 0 {
		return 1 << 50, nil
	}
	return f.capacity - f.used, nil
}

type memLock struct {
	f    *memFS
	name string
}

func (l memLock) Close() error {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	delete(l.f.locks, l.name)
	return nil
}

func (f *memFS) Lock(name, _ string) (io.Closer, error) {
	err := f.enter("lock", name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if f.locks[name] {
		return nil, fmt.Errorf("%w: %s", ErrBusy, name)
	}
	f.locks[name] = true
	dir, base := f.parent(name)
	if dir.children[base] == nil {
		dir.children[base] = &node{}
	}
	return memLock{f, name}, nil
}

type memFile struct {
	f    *memFS
	n    *node
	name string
}

// allocated returns the bytes of pages that have been written.
func (n *node) allocated() int64 {
	var total int64
	for _, hole := range n.holes {
		if !hole {
			total += page
		}
	}
	return total
}

func (n *node) resize(size int64) {
	for int64(len(n.holes))*page < size {
		n.holes = append(n.holes, true)
	}
	if size <= int64(len(n.data)) {
		n.data = n.data[:size]
		return
	}
	n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
}

func (m *memFile) ReadAt(p []byte, off int64) (int, error) {
	err := m.f.enter("read", m.name)
	defer m.f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if off >= int64(len(m.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memFile) WriteAt(p []byte, off int64) (int, error) {
	err := m.f.enter("write", fmt.Sprintf("%s %d+%d", m.name, off, len(p)))
	defer m.f.mu.Unlock()
	if errors.Is(err, errPartial) {
		n, _ := m.write(p[:len(p)/2], off)
		return n, err
	}
	if err != nil {
		return 0, err
	}
	return m.write(p, off)
}

func (m *memFile) write(p []byte, off int64) (int, error) {
	if end := off + int64(len(p)); end > int64(len(m.n.data)) {
		m.n.resize(end)
	}
	for i := off / page; i*page < off+int64(len(p)); i++ {
		if !m.n.holes[i] {
			continue
		}
		if m.f.capacity > 0 && m.f.used+page > m.f.capacity {
			n := max(0, i*page-off)
			copy(m.n.data[off:], p[:n])
			return int(n), &fs.PathError{Op: "write", Path: m.name, Err: syscall.ENOSPC}
		}
		m.n.holes[i] = false
		m.f.used += page
	}
	return copy(m.n.data[off:], p), nil
}

func (m *memFile) Truncate(size int64) error {
	err := m.f.enter("truncate", fmt.Sprintf("%s %d", m.name, size))
	defer m.f.mu.Unlock()
	if err != nil {
		return err
	}
	m.n.resize(size)
	return nil
}

func (m *memFile) Sync() error {
	err := m.f.enter("sync", m.name)
	defer m.f.mu.Unlock()
	if err != nil {
		return err
	}
	if !m.f.lying {
		m.n.durable = slices.Clone(m.n.data)
	}
	return nil
}

func (m *memFile) Size() (int64, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	return int64(len(m.n.data)), nil
}

func (m *memFile) Close() error {
	err := m.f.enter("close", m.name)
	defer m.f.mu.Unlock()
	return err
}

// afterCut returns the file system as it comes back after a power cut. What was synced is there. Of everything else
// luck decides: per directory whether its newest names are, per page of a file whether its newest bytes are. A nil
// rng means no luck at all.
func (f *memFS) afterCut(rng *rand.Rand) *memFS {
	f.mu.Lock()
	defer f.mu.Unlock()
	lucky := func() bool { return rng != nil && rng.IntN(2) == 0 }
	seen := map[*node]*node{}
	var revive func(n *node) *node
	revive = func(n *node) *node {
		if got := seen[n]; got != nil {
			return got
		}
		if !n.dir {
			got := &node{}
			seen[n] = got
			size := int64(len(n.durable))
			if lucky() {
				size = int64(len(n.data))
			}
			got.resize(size)
			copy(got.data, n.durable)
			for at := int64(0); at < min(size, int64(len(n.data))); at += page {
				if lucky() {
					copy(got.data[at:min(at+page, size)], n.data[at:])
				}
			}
			for i := range got.holes {
				got.holes[i] = false
			}
			got.durable = slices.Clone(got.data)
			return got
		}
		got := newDir()
		seen[n] = got
		names := n.saved
		if lucky() {
			names = n.children
		}
		for name, child := range names {
			got.children[name] = revive(child)
		}
		got.saved = maps.Clone(got.children)
		return got
	}
	next := &memFS{root: revive(f.root), locks: map[string]bool{}, noExchange: f.noExchange, capacity: f.capacity}
	next.used = next.root.total()
	return next
}

func (n *node) total() int64 {
	sum := n.allocated()
	for _, child := range n.children {
		sum += child.total()
	}
	return sum
}

// files returns the contents of all files below dir by their path under it.
func (f *memFS) files(t testing.TB, dir string) map[string]string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	files := map[string]string{}
	var walk func(n *node, prefix string)
	walk = func(n *node, prefix string) {
		for name, child := range n.children {
			if child.dir {
				walk(child, prefix+name+"/")
			} else {
				files[prefix+name] = string(child.data)
			}
		}
	}
	if n := f.find(dir); n != nil {
		walk(n, "")
	}
	return files
}
