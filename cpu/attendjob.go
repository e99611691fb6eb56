package cpu

import "github.com/fieldfare/fieldfare/core"

const (
	// minSegment is the least number of positions of a segment, a multiple of keyBlock.
	minSegment = 512
	// maxSegments bounds the segments of one row, and with it the memory of their partials.
	maxSegments = 33
)

// segmentLen is the length of the segments that a row which sees n positions is split into: a power of two from
// minSegment up, so that there are at most maxSegments of them even when the first and last are cut. Segments begin
// at multiples of their length. They are merged in order, whether one thread or several computed them.
func segmentLen(n int) int {
	length := minSegment
	for n > length*(maxSegments-1) {
		length *= 2
	}
	return length
}

// An attendJob is the attention of the rows of a block. Few rows are split by segment over the threads (partials,
// then mergeJob); many rows are one task per row and KV head. Both give the same bits.
type attendJob struct {
	k          *kernelSet
	q          []float32 // [rows, H*dh]: queries in, attention out
	dh, groups int       // groups G: KV heads
	perGroup   int       // query heads per KV head
	ends       []int     // per row, one past the last visible position
	pos        int       // position of row 0
	window     int       // 0 in full layers
	layer      *kvLayer
	typ        core.KVType
	scratch    [][]float32 // per worker
	partials   []float32   // [rows, G, maxSegments] partials
	split      bool
}

func (j *attendJob) bounds(row int) (lo, hi int) {
	hi = j.ends[row]
	if j.window > 0 {
		lo = max(0, j.pos+row-j.window+1)
	}
	return lo, hi
}

func (j *attendJob) source(group int) keySource {
	return keySource{layer: j.layer, offset: group * j.dh * kvBytes(j.typ), typ: j.typ}
}

func (j *attendJob) queries(row, group int) []float32 {
	n := j.perGroup * j.dh
	return j.q[(row*j.groups+group)*n:][:n]
}

func (j *attendJob) partial(row, group, segment int) partial {
	size := partialLen(j.perGroup, j.dh)
	return partialAt(j.partials[((row*j.groups+group)*maxSegments+segment)*size:], j.perGroup, j.dh)
}

// run attends all rows.
func (j *attendJob) run(p *pool, rows int) {
	need := rows * j.groups * maxSegments * partialLen(j.perGroup, j.dh)
	j.split = need <= len(j.partials)
	if !j.split {
		p.run(j, rows*j.groups)
		return
	}
	segments := 0
	for row := range rows {
		lo, hi := j.bounds(row)
		segments = max(segments, segmentCount(lo, hi))
	}
	p.run(j, rows*j.groups*segments)
	for row := range rows {
		for group := range j.groups {
			j.mergeSegments(row, group)
		}
	}
}

func (j *attendJob) task(worker, index int) {
	if !j.split {
		j.wholeRow(worker, index/j.groups, index%j.groups)
		return
	}
	units := len(j.ends) * j.groups
	segment, unit := index/units, index%units
	row, group := unit/j.groups, unit%j.groups
	lo, hi := j.bounds(row)
	if from, to := segmentBounds(lo, hi, segment); from < to {
		j.k.attendRange(j.partial(row, group, segment), j.queries(row, group), j.dh, from, to, j.source(group),
			j.scratch[worker])
	}
}

// segmentBounds is the n-th segment of [lo, hi); empty when there are fewer.
func segmentBounds(lo, hi, n int) (from, to int) {
	length := segmentLen(hi - lo)
	start := (lo/length + n) * length
	return max(lo, start), min(hi, start+length)
}

// segmentCount is the number of segments of [lo, hi).
func segmentCount(lo, hi int) int {
	length := segmentLen(hi - lo)
	return (hi-1)/length - lo/length + 1
}

func (j *attendJob) mergeSegments(row, group int) {
	lo, hi := j.bounds(row)
	total := j.partial(row, group, 0)
	for n := 1; n < segmentCount(lo, hi); n++ {
		j.k.merge(total, j.partial(row, group, n), j.dh)
	}
	j.k.finish(j.queries(row, group), total, j.dh)
}

// wholeRow computes the segments of one row and group one after the other.
func (j *attendJob) wholeRow(worker, row, group int) {
	size := partialLen(j.perGroup, j.dh)
	scratch := j.scratch[worker]
	total := partialAt(scratch, j.perGroup, j.dh)
	segment := partialAt(scratch[size:], j.perGroup, j.dh)
	scratch = scratch[2*size:]
	lo, hi := j.bounds(row)
	q, src := j.queries(row, group), j.source(group)
	for n := range segmentCount(lo, hi) {
		from, to := segmentBounds(lo, hi, n)
		if n == 0 {
			j.k.attendRange(total, q, j.dh, from, to, src, scratch)
			continue
		}
		j.k.attendRange(segment, q, j.dh, from, to, src, scratch)
		j.k.merge(total, segment, j.dh)
	}
	j.k.finish(q, total, j.dh)
}

// attendJobScratch is what one worker needs.
func attendJobScratch(nq, dh int) int { return 2*partialLen(nq, dh) + attendScratch(nq, dh) }
