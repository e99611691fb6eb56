package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// roleVariable makes a started test binary hold a lock until it is killed.
const roleVariable = "FIELDFARE_LEASE_TEST"

func TestMain(m *testing.M) {
	if path := os.Getenv(roleVariable); path != "" {
		if _, err := Exclusive(path, "a test process"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("held")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

func lockPath(t *testing.T) string { return filepath.Join(t.TempDir(), "x.lock") }

func mustExclusive(t *testing.T, path, note string) *Lease {
	t.Helper()
	l, err := Exclusive(path, note)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustShared(t *testing.T, path string) *Lease {
	t.Helper()
	l, err := Shared(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReadersShareAndKeepWritersOut(t *testing.T) {
	path := lockPath(t)
	first, second := mustShared(t, path), mustShared(t, path)
	if _, err := Exclusive(path, "install"); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "unload it") {
		t.Fatalf("a writer beside two readers: %v", err)
	}
	first.Close()
	if _, err := Exclusive(path, "install"); !errors.Is(err, ErrBusy) {
		t.Fatalf("a writer beside one reader: %v", err)
	}
	second.Close()
	mustExclusive(t, path, "install").Close()
}

func TestAWriterExcludesAndSaysWhoItIs(t *testing.T) {
	path := lockPath(t)
	held := mustExclusive(t, path, "install by process 7")
	for name, take := range map[string]func() (*Lease, error){
		"writer": func() (*Lease, error) { return Exclusive(path, "other") },
		"reader": func() (*Lease, error) { return Shared(t.Context(), path, 0) },
	} {
		if _, err := take(); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "install by process 7") {
			t.Errorf("a %s beside it: %v", name, err)
		}
	}
	held.Close()
	reader := mustShared(t, path)
	defer reader.Close()
	if _, err := Exclusive(path, ""); err == nil || strings.Contains(err.Error(), "process 7") {
		t.Errorf("the note outlived its holder: %v", err)
	}
}

func TestAReaderWaitsForAWriter(t *testing.T) {
	path := lockPath(t)
	writer := mustExclusive(t, path, "repair")
	time.AfterFunc(60*time.Millisecond, func() { writer.Close() })
	l, err := Shared(t.Context(), path, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()

	held := mustExclusive(t, path, "")
	defer held.Close()
	if _, err := Shared(t.Context(), path, 50*time.Millisecond); !errors.Is(err, ErrBusy) ||
		!strings.Contains(err.Error(), "being modified") {
		t.Errorf("after waiting in vain: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Shared(ctx, path, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestADeadHolderHoldsNothing(t *testing.T) {
	path := lockPath(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := Exclusive(path, ""); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "a test process") {
		t.Fatalf("beside a living holder: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	mustExclusive(t, path, "").Close()
}

func TestUnsafeNamesAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating symlinks needs a privilege on Windows")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Exclusive(link, "x"); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a symlink: %v", err)
	}
	if _, err := Shared(t.Context(), link, 0); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a symlink, shared: %v", err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "keep" {
		t.Errorf("the target holds %q, %v", data, err)
	}
	if _, err := Exclusive(dir, "x"); err == nil {
		t.Error("a directory was locked")
	}
}

func TestAReplacedLockFileIsNotTrusted(t *testing.T) {
	path := lockPath(t)
	f, err := openLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Skipf("this system does not rename an open file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lockAndCheck(f, path, true); !errors.Is(err, ErrUnsafe) {
		t.Errorf("got %v", err)
	}
}

func TestReadersDoWithAnUnwritableLockFile(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is unwritable for root, and mode bits mean little on Windows")
	}
	path := lockPath(t)
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	mustShared(t, path).Close()
}

func TestUseKeepsAnInstallFromBeingChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m.gturbo")
	held, err := Use(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := UsePath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Exclusive(path, "repair"); !errors.Is(err, ErrBusy) {
		t.Errorf("a repair beside a model: %v", err)
	}
	held.Close()
	mustExclusive(t, path, "repair").Close()
}

func TestUseDoesWithoutALockItMayNotCreate(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is unwritable for root, and mode bits mean little on Windows")
	}
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o500); err != nil {
		t.Fatal(err)
	}
	held, err := Use(t.Context(), filepath.Join(parent, "m.gturbo"))
	if err != nil {
		t.Fatal(err)
	}
	held.Close()
}

func TestAliasesOfAParentMeetAtOneLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating symlinks needs a privilege on Windows")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	a, errA := UsePath(filepath.Join(dir, "real", "m.gturbo"))
	b, errB := UsePath(filepath.Join(dir, "alias", "m.gturbo") + "/")
	if errA != nil || errB != nil || a != b || filepath.Base(a) != ".m.gturbo.use.lock" {
		t.Errorf("%q, %v and %q, %v", a, errA, b, errB)
	}
}
