// Package replay records which experts a model's layers chose, and tries eviction policies on such traces: how often
// would an expert have been in a slot?
//
// It refuses to know files' bytes and time: a policy is judged by its hits alone. Start reading at Run.
package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// ErrTrace: a trace that cannot be read. The message has the line.
var ErrTrace = errors.New("bad trace of experts")

// Header describes the model of a trace.
type Header struct{ Layers, Experts, TopK int }

const magic = "fieldfare-experts 1"

func (h Header) valid() bool {
	return h.Layers >= 1 && h.Layers <= 1<<12 && h.Experts >= 1 && h.Experts <= 1<<12 && h.TopK >= 1 && h.TopK <= h.Experts
}

// A Fetch is what one layer wanted for one chunk: each expert once, in the order of its first choice.
type Fetch struct {
	Layer   gturbo.LayerID
	Rows    int
	Experts []gturbo.ExpertID
}

// A Writer writes a trace: a header, then a line per fetch with layer, rows and experts. It is used by one goroutine.
// The first error stays and comes with Close.
type Writer struct {
	out  *bufio.Writer
	err  error
	seen []bool // [E]
	line []byte
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) *Writer {
	t := &Writer{out: bufio.NewWriter(w), seen: make([]bool, h.Experts)}
	_, t.err = fmt.Fprintf(t.out, "%s layers=%d experts=%d topk=%d\n", magic, h.Layers, h.Experts, h.TopK)
	return t
}

// Add notes the choice of one layer, [rows, K] ids, which may repeat.
func (t *Writer) Add(layer gturbo.LayerID, rows int, chosen []gturbo.ExpertID) {
	if t.err != nil {
		return
	}
	clear(t.seen)
	t.line = strconv.AppendInt(t.line[:0], int64(layer), 10)
	t.line = append(t.line, ' ')
	t.line = strconv.AppendInt(t.line, int64(rows), 10)
	separator := byte(' ')
	for _, e := range chosen {
		if t.seen[e] {
			continue
		}
		t.seen[e] = true
		t.line = append(t.line, separator)
		t.line = strconv.AppendInt(t.line, int64(e), 10)
		separator = ','
	}
	_, t.err = t.out.Write(append(t.line, '\n'))
}

// Close writes what is buffered; the file stays open.
func (t *Writer) Close() error {
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

// Read reads a trace. Errors wrap ErrTrace.
func Read(r io.Reader) (Header, []Fetch, error) {
	lines := bufio.NewScanner(r)
	var h Header
	lines.Scan()
	if n, err := fmt.Sscanf(lines.Text(), magic+" layers=%d experts=%d topk=%d", &h.Layers, &h.Experts, &h.TopK); n != 3 || err != nil || !h.valid() {
		return h, nil, fmt.Errorf("line 1: %.60q is no header: %w", lines.Text(), ErrTrace)
	}
	var all []Fetch
	for n := 2; lines.Scan(); n++ {
		f, err := parse(lines.Text(), h)
		if err != nil {
			return h, nil, fmt.Errorf("line %d: %w: %w", n, err, ErrTrace)
		}
		all = append(all, f)
	}
	if err := lines.Err(); err != nil {
		return h, nil, fmt.Errorf("%w: %w", err, ErrTrace)
	}
	return h, all, nil
}

func parse(line string, h Header) (Fetch, error) {
	words := strings.Split(line, " ")
	if len(words) != 3 {
		return Fetch{}, fmt.Errorf("%d words, want layer, rows and experts", len(words))
	}
	layer, err := number(words[0], 0, h.Layers-1)
	if err != nil {
		return Fetch{}, fmt.Errorf("layer: %w", err)
	}
	rows, err := number(words[1], 1, 1<<20)
	if err != nil {
		return Fetch{}, fmt.Errorf("rows: %w", err)
	}
	f := Fetch{Layer: gturbo.LayerID(layer), Rows: rows}
	seen := make([]bool, h.Experts)
	for word := range strings.SplitSeq(words[2], ",") {
		e, err := number(word, 0, h.Experts-1)
		if err != nil {
			return Fetch{}, fmt.Errorf("expert: %w", err)
		}
		if seen[e] {
			return Fetch{}, fmt.Errorf("expert %d twice", e)
		}
		seen[e] = true
		f.Experts = append(f.Experts, gturbo.ExpertID(e))
	}
	return f, nil
}

func number(word string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%.20q, want %d to %d", word, lo, hi)
	}
	return n, nil
}
