package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wide are the shapes of the pinned checkpoint with two layers and a small vocabulary: 1 GB in few, large tensors.
func wide() dims {
	d := pinned26B()
	d.full, d.vocab, d.shards, d.vision = []bool{false, true}, 32768, 2, false
	return d
}

// servePattern serves the wide checkpoint in the hub's manner. Its weights are one block over and over, so that
// serving costs next to nothing.
func servePattern(string) error {
	c := newCheckpointFiles(wide())
	block := payload(Tensor{Name: "block", Size: 1 << 20})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		size, small := c.sizes[name], c.small[name]
		if size == 0 {
			size = int64(len(small))
		}
		if size == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", testCommit)
		first, last := int64(0), size-1
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, size))
		}
		w.Header().Set("Content-Length", fmt.Sprint(last+1-first))
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusPartialContent)
		}
		if r.Method == http.MethodHead {
			return
		}
		for at := first; at <= last; {
			from := block[at%int64(len(block)):]
			if head := c.headers[name]; at < int64(len(head)) {
				from = head[at:]
			} else if small != nil {
				from = small[at:]
			}
			n, err := w.Write(from[:min(int64(len(from)), last+1-at)])
			if err != nil {
				return
			}
			at += int64(n)
		}
	}))
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkInstallAgainstPlainDownload installs a checkpoint of 1 GB from loopback, and downloads the same bytes to the
// same disk in the plainest way: file after file on one connection, then a sync, then a hash. It reports how much
// faster installing is, although it hashes twice and reads back; of each side the best run counts, because whatever
// else the machine does only makes runs slower. Set TMPDIR to choose the disk.
//
//	go test ./gturbo/install -run '^$' -bench PlainDownload -benchtime 5x
func BenchmarkInstallAgainstPlainDownload(b *testing.B) {
	address := startRole(b, "pattern", "")
	plain, ours := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	var bytes int64
	dir := b.TempDir()
	for b.Loop() {
		began := time.Now()
		bytes = plainDownload(b, address, dir)
		plain = min(plain, time.Since(began))

		began = time.Now()
		source, err := NewHubSource(HubOptions{Endpoint: address, RepoID: testRepo, Revision: testCommit})
		if err != nil {
			b.Fatal(err)
		}
		output := filepath.Join(dir, "wide.gturbo")
		_, err = Install(b.Context(), Options{Source: source, Output: output, AllowUnknown: true, Reserve: 1})
		if err != nil {
			b.Fatal(err)
		}
		ours = min(ours, time.Since(began))
		if err := os.RemoveAll(output); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(bytes) / 1e6
	b.ReportMetric(n/plain.Seconds(), "plain-MB/s")
	b.ReportMetric(n/ours.Seconds(), "install-MB/s")
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
}

// plainDownload is what curl and sha256sum would do.
func plainDownload(b *testing.B, address, dir string) (total int64) {
	c := newCheckpointFiles(wide())
	for shard := range c.sizes {
		name := filepath.Join(dir, shard)
		resp, err := http.Get(address + "/" + testRepo + "/resolve/" + testCommit + "/" + shard)
		if err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(f, resp.Body)
		resp.Body.Close()
		if err := errors.Join(err, f.Sync()); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(sha256.New(), struct{ io.Reader }{f}, make([]byte, tileBytes)); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := os.Remove(name); err != nil {
			b.Fatal(err)
		}
		total += n
	}
	return total
}

// watchHeap samples the live and dead bytes of the heap until the returned function is called, which gives the most.
func watchHeap() (peak func() uint64) {
	var most atomic.Uint64
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	runtime.GC()
	go func() {
		defer close(done)
		var m runtime.MemStats
		for ctx.Err() == nil {
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return func() uint64 {
		cancel()
		<-done
		return most.Load()
	}
}

// TestHeapStaysSmall installs a checkpoint of 1 GB whose bytes come from memory to a file system that keeps none.
func TestHeapStaysSmallWhateverTheSize(t *testing.T) {
	const limit = 64 << 20
	art, _ := planPinned(t)
	peak := watchHeap()
	blocks := newBlockMap(art.Plan)
	e := &engine{art: art, blocks: blocks}
	for i := range art.Plan.Ranges {
		newScatter(e, &art.Plan.Ranges[i])
	}
	for i := range art.Documents {
		if _, err := art.Documents[i].Encode(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(encodeChecksums(strings.Repeat("0", 64), art.Plan, blocks)); n > checksumsCap/8 {
		t.Errorf("checksums of %d bytes", n)
	}
	if got := peak(); got > limit {
		t.Errorf("planning and documents of the pinned model take %d bytes of heap, the bound is %d", got, limit)
	}
}
