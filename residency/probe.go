package residency

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// ProbeOptions says how to measure a disk. The zero value of each field but Block means the default.
type ProbeOptions struct {
	// Block is the size of one expert in bytes, a multiple of 16384. It is read in pieces, as a Streamer does.
	Block int
	// Budget is the time of the whole probe, default 2 s.
	Budget time.Duration
	// Depths are the numbers of reads in flight to try, ascending, default 2, 4 and 8: with one the disk stands still
	// whenever the cores are too busy to ask for the next.
	Depths []int
}

// A ProbeRow is what one way of reading achieved.
type ProbeRow struct {
	Uncached bool
	Reads    int     // pieces in flight
	Rate     float64 // bytes per second
	CPU      float64 // processor seconds per second of reading, of the whole process
}

// A ProbeResult holds all rows and the choice made from them.
type ProbeResult struct {
	Rows []ProbeRow
	// Best is the fewest reads in flight within 10 % of the fastest, uncached unless that costs more than 10 %:
	// uncached reads need a tenth of the processor time and leave the page cache to the weights.
	Best ProbeRow
	// Refused is why uncached reads could not be measured, nil if they were.
	Refused error
}

const (
	probeBudget     = 2 * time.Second
	probeUncachedBy = 0.9
	probeDepthBy    = 0.9
	probeRounds     = 4 // in which depths take turns: the rates of shared disks drift
)

// Probe measures how fast blocks at random places of a large file are read, buffered and past the page cache, at
// several numbers of pieces in flight. open is called twice; the probe closes what it returns. Blocks are dropped from
// the page cache before they are read where the system can do that (Linux); elsewhere a file in the page cache makes
// buffered reads look better than the disk is.
func Probe(ctx context.Context, open func() (*os.File, error), opts ProbeOptions) (ProbeResult, error) {
	var result ProbeResult
	if opts.Block < 1 || opts.Block%strideAlign != 0 {
		return result, fmt.Errorf("probe: block of %d bytes, want a multiple of %d: %w", opts.Block, strideAlign, ErrOptions)
	}
	if opts.Budget == 0 {
		opts.Budget = probeBudget
	}
	if opts.Depths == nil {
		opts.Depths = []int{2, 4, 8}
	}
	slice := opts.Budget / time.Duration(2*len(opts.Depths))
	for _, uncached := range []bool{true, false} {
		rows, err := probeMode(ctx, open, opts, uncached, slice)
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if err != nil && uncached {
			result.Refused = err
			continue
		}
		if err != nil {
			return result, err
		}
		result.Rows = append(result.Rows, rows...)
	}
	result.Best = choose(result.Rows)
	return result, nil
}

func probeMode(
	ctx context.Context, open func() (*os.File, error), opts ProbeOptions, uncached bool, slice time.Duration,
) ([]ProbeRow, error) {
	p, err := newProber(open, opts, uncached)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	defer p.close()
	rows := make([]ProbeRow, len(opts.Depths))
	for range probeRounds {
		for i, depth := range opts.Depths {
			row, err := p.run(ctx, depth, slice/probeRounds)
			if err != nil {
				return nil, fmt.Errorf("probe: %w", err)
			}
			row.Rate = rows[i].Rate + row.Rate/probeRounds
			row.CPU = rows[i].CPU + row.CPU/probeRounds
			rows[i] = row
		}
	}
	return rows, nil
}

// choose applies the rule of ProbeResult.Best.
func choose(rows []ProbeRow) ProbeRow {
	var top [2]float64 // fastest buffered, uncached
	for _, r := range rows {
		i := 0
		if r.Uncached {
			i = 1
		}
		top[i] = max(top[i], r.Rate)
	}
	uncached := top[1] > 0 && top[1] >= probeUncachedBy*top[0]
	fastest := top[0]
	if uncached {
		fastest = top[1]
	}
	best := ProbeRow{}
	for _, r := range rows {
		if r.Uncached == uncached && r.Rate >= probeDepthBy*fastest && (best.Reads == 0 || r.Reads < best.Reads) {
			best = r
		}
	}
	return best
}

// prober reads blocks of one descriptor.
type prober struct {
	file     *os.File
	memory   *pages.Region
	block    int
	uncached bool

	mu   sync.Mutex
	left []int // blocks not read in full yet, shuffled
	done int   // bytes of the first of them that were given out
	all  int
}

func newProber(open func() (*os.File, error), opts ProbeOptions, uncached bool) (*prober, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	p := &prober{file: f, block: opts.Block, uncached: uncached}
	err = func() error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if p.all = int(info.Size() / int64(opts.Block)); p.all == 0 {
			return fmt.Errorf("%s has %d bytes, less than one block of %d: %w", f.Name(), info.Size(), opts.Block, ErrOptions)
		}
		if uncached {
			if p.file, err = setUncached(f); err != nil {
				p.file = f
				return fmt.Errorf("%w: %w", ErrUncached, err)
			}
		}
		p.memory, err = pages.Alloc("probe", opts.Block*opts.Depths[len(opts.Depths)-1])
		return err
	}()
	if err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

func (p *prober) close() {
	p.file.Close()
	p.memory.Close()
}

// next returns offset and length of the next piece of a block that has not been read for as long as possible.
func (p *prober) next() (at int64, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		p.left = rand.Perm(p.all)
	}
	at, n = int64(p.left[0])*int64(p.block)+int64(p.done), min(PieceSize(p.block), p.block-p.done)
	if p.done += n; p.done == p.block {
		p.left, p.done = p.left[1:], 0
	}
	return at, n
}

// run keeps depth reads in flight for about the given time.
func (p *prober) run(ctx context.Context, depth int, slice time.Duration) (ProbeRow, error) {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	bytes, errs := make([]int, depth), make([]error, depth)
	from, cpu := time.Now(), processTime()
	var wg sync.WaitGroup
	for i := range depth {
		wg.Go(func() {
			dst := p.memory.Bytes()[i*p.block:][:p.block]
			for ctx.Err() == nil && errs[i] == nil {
				at, n := p.next()
				if !p.uncached {
					dropCached(p.file, at, int64(n))
				}
				if _, err := readFull(p.file, dst[:n], at, p.uncached); err != nil {
					errs[i] = fmt.Errorf("%s: %d bytes at offset %d: %w: %w", p.file.Name(), n, at, ErrRead, err)
				}
				bytes[i] += n
			}
		})
	}
	wg.Wait()
	took := time.Since(from).Seconds()
	row := ProbeRow{Uncached: p.uncached, Reads: depth, CPU: (processTime() - cpu).Seconds() / took}
	for i := range depth {
		if errs[i] != nil {
			return row, errs[i]
		}
		row.Rate += float64(bytes[i]) / took
	}
	if ctx.Err() == context.Canceled {
		return row, ctx.Err()
	}
	return row, nil
}
