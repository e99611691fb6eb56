package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/residency"
)

// A machine is what was measured of the disk that holds a model and of the cores that compute it. Each part is measured
// once for a device and kept in the user's cache folder; the zero value of a part means that it was not.
type machine struct {
	Disk  diskRates
	Cores coreRates
}

type diskRates struct {
	Measured time.Time            `json:"measured"`
	Best     residency.ProbeRow   `json:"best"`
	Rows     []residency.ProbeRow `json:"rows"`
	Refused  string               `json:"uncached_refused,omitempty"`
}

type coreRates struct {
	Measured time.Time `json:"measured"`
	core.Rates
	// Memory is how fast the cores read from memory and do nothing with it.
	Memory residency.MemoryRates `json:"memory_bytes_per_second"`
}

// rates is what the planner takes of it.
func (m *machine) rates() residency.Machine {
	return residency.Machine{Disk: m.Disk.Best.Rate, Memory: m.Cores.Weights, Compute: m.Cores.Rows, Spread: m.Cores.Spread}
}

// A probeFile is everything that was measured so far. Keys name the host, because folders move between machines.
type probeFile struct {
	Version int                  `json:"version"`
	Disks   map[string]diskRates `json:"disks"`
	Cores   map[string]coreRates `json:"cores"`
}

const (
	probeVersion = 2
	// probeAge is when a measurement is taken again: disks fill up, drivers change.
	probeAge = 90 * 24 * time.Hour
	// probeWorth is the size of all experts from which on a load measures first.
	probeWorth = 1 << 30

	diskProbeTime   = 5 * time.Second
	memoryProbeTime = time.Second
)

// A probing says which parts a command wants measured.
type probing int

const (
	probeKept    probing = iota // what the cache folder holds
	probeMissing                // and what it lacks, if the model is large enough for it to matter
	probeAll                    // everything, now
)

// measured returns what is known of the machine, after measuring what the command wants.
func (a *app) measured(ctx context.Context, f *modelFlags, how probing, b core.Backend, s *core.Size) (machine, error) {
	if how == probeMissing && s.Experts < probeWorth {
		how = probeKept
	}
	path, kept := readProbes()
	diskKey, coreKey, err := probeKeys(b, s)
	if err != nil {
		return machine{}, err
	}
	m := machine{Disk: kept.Disks[diskKey], Cores: kept.Cores[coreKey]}
	disk := how == probeAll || how == probeMissing && time.Since(m.Disk.Measured) > probeAge
	cores := how == probeAll || how == probeMissing && time.Since(m.Cores.Measured) > probeAge
	if !disk && !cores {
		return m, nil
	}
	if !f.quiet {
		fmt.Fprintln(a.stderr, "fieldfare: measuring this machine's disk and cores, once, for about ten seconds")
	}
	if disk {
		if m.Disk, err = measureDisk(ctx, s); err != nil {
			return m, err
		}
		kept.Disks[diskKey] = m.Disk
	}
	if cores {
		if m.Cores, err = measureCores(ctx, b, s); err != nil {
			return m, err
		}
		kept.Cores[coreKey] = m.Cores
	}
	if err := kept.write(path); err != nil && !f.quiet {
		fmt.Fprintf(a.stderr, "fieldfare: the measurement is not kept: %v\n", err)
	}
	return m, nil
}

func measureDisk(ctx context.Context, s *core.Size) (diskRates, error) {
	open := func() (*os.File, error) { return os.Open(s.LayerFile) }
	r, err := residency.Probe(ctx, open, residency.ProbeOptions{Block: s.Memory.Stride, Budget: diskProbeTime})
	if err != nil {
		return diskRates{}, err
	}
	d := diskRates{Measured: time.Now().UTC(), Best: r.Best, Rows: r.Rows}
	if r.Refused != nil {
		d.Refused = r.Refused.Error()
	}
	return d, nil
}

func measureCores(ctx context.Context, b core.Backend, s *core.Size) (coreRates, error) {
	r, err := core.MeasureRates(ctx, b, s)
	if err != nil {
		return coreRates{}, err
	}
	bandwidth, err := residency.ProbeMemory(threadsOf(b), memoryProbeTime)
	return coreRates{Measured: time.Now().UTC(), Rates: r, Memory: bandwidth}, err
}

// probeKeys names the device that holds the model with the size of its experts, and the cores with what they compute.
func probeKeys(b core.Backend, s *core.Size) (disk, cores string, err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	device, err := deviceOf(s.LayerFile)
	if err != nil {
		return "", "", fmt.Errorf("which disk holds the model: %w", err)
	}
	c := &s.Config
	disk = fmt.Sprintf("%s device %s blocks of %d", host, device, s.Memory.Stride)
	cores = fmt.Sprintf("%s %d threads %s %s width %d experts %dx%d layers %d", host, threadsOf(b), b.Name(),
		version(), c.Hidden, c.Experts, c.ExpertWidth, len(c.Layers))
	return disk, cores, nil
}

// threadsOf is the number of threads that compute on b, or could.
func threadsOf(b core.Backend) int {
	if c, ok := b.(*cpu.Backend); ok {
		return c.Threads()
	}
	return cores
}

// readProbes reads the cache. A file that is not there or not ours counts as empty: measuring again is cheap.
func readProbes() (path string, p probeFile) {
	p = probeFile{Version: probeVersion, Disks: map[string]diskRates{}, Cores: map[string]coreRates{}}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", p
	}
	path = filepath.Join(dir, "fieldfare", "machine.json")
	data, err := os.ReadFile(path)
	var kept probeFile
	if err == nil && json.Unmarshal(data, &kept) == nil && kept.Version == probeVersion && kept.Disks != nil && kept.Cores != nil {
		return path, kept
	}
	return path, p
}

func (p *probeFile) write(path string) error {
	if path == "" {
		return errors.New("there is no cache folder")
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "machine-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
