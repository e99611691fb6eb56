package install_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/synth"
)

var fullSize = flag.Bool("fullsize", false, "install 14.3 GB of generated weights from loopback")

func init() { install.Roles["synthetic"] = serveSynthetic }

// serveSynthetic serves the synthetic 26B checkpoint in the hub's manner. Its weights are computed as they are asked
// for and stored nowhere.
func serveSynthetic(tokenizer string) error {
	src, err := synth.New(synth.Options{Tokenizer: os.DirFS(tokenizer)})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r, src); err != nil {
			fmt.Fprintln(os.Stderr, r.URL.Path, err)
			panic(http.ErrAbortHandler)
		}
	}))
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func answer(w http.ResponseWriter, r *http.Request, src install.Source) error {
	name := path.Base(r.URL.Path)
	size, err := src.Size(r.Context(), name)
	if err != nil {
		http.NotFound(w, r)
		return nil
	}
	first, last := int64(0), size-1
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err == nil {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, size))
	}
	w.Header().Set("X-Repo-Commit", install.Pinned.Revision)
	w.Header().Set("Content-Length", strconv.FormatInt(last+1-first, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	w.WriteHeader(http.StatusPartialContent)
	body, err := src.Open(r.Context(), name, first, last+1-first)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.CopyBuffer(w, struct{ io.Reader }{body}, make([]byte, 512<<10))
	return err
}

// BenchmarkFullSizeInstall installs the synthetic 26B over HTTP and reports what it took. It needs 15 GB in TMPDIR.
//
//	go test ./gturbo/install -run '^$' -bench FullSize -benchtime 1x -timeout 60m -fullsize
func BenchmarkFullSizeInstall(b *testing.B) {
	if !*fullSize {
		b.Skip("writes 14.3 GB; ask for it with -fullsize")
	}
	address := install.StartRole(b, "synthetic", "../../testdata/checkpoint")
	for b.Loop() {
		source, err := install.NewHubSource(install.HubOptions{Endpoint: address})
		if err != nil {
			b.Fatal(err)
		}
		output := filepath.Join(b.TempDir(), "synthetic.gturbo")
		peak := install.WatchHeap()
		result, err := install.Install(context.Background(), install.Options{
			Source: source, Output: output, AllowUnknown: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		heap := peak()
		if heap > 64<<20 {
			b.Errorf("the heap grew to %d bytes, the bound is 64 MiB", heap)
		}
		checkFullSize(b, output)
		stats := source.Stats()
		b.ReportMetric(float64(stats.Bytes)/1e9, "GB")
		b.ReportMetric(float64(stats.Requests), "requests")
		b.ReportMetric(float64(heap)/(1<<20), "peak-heap-MiB")
		b.ReportMetric(peakResident(b)/(1<<20), "peak-resident-MiB")
		b.ReportMetric(float64(stats.Bytes)/1e6/result.Elapsed.Seconds(), "MB/s")
		b.ReportMetric(result.Elapsed.Seconds(), "s")
		if err := os.RemoveAll(output); err != nil {
			b.Fatal(err)
		}
	}
}

// checkFullSize compares the install's documents with what the format's description derives for these shapes.
func checkFullSize(b *testing.B, dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, gturbo.ManifestFile))
	if err != nil {
		b.Fatal(err)
	}
	m, err := gturbo.DecodeManifest(raw)
	if err != nil {
		b.Fatal(err)
	}
	layout := m.Files[gturbo.LayoutFile]
	if layout.SHA256 != "1fc209dfda8c3f50e26ff8add469aa50fff497a41ba4dca19960e60a60d31593" {
		b.Errorf("layout.json has SHA-256 %s", layout.SHA256)
	}
	if m.Files[gturbo.WeightsFile].Size != 1_353_771_068 {
		b.Errorf("%s has %d bytes", gturbo.WeightsFile, m.Files[gturbo.WeightsFile].Size)
	}
}

// peakResident returns the process's largest resident size in bytes where the system tells, else 0.
func peakResident(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib * 1024
}
