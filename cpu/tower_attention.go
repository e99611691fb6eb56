package cpu

import "github.com/fieldfare/fieldfare/core"

// queryTile is the number of queries that share each pass over the keys.
const queryTile = 32

// A towerAttendJob is attention of every patch to every patch: one task per head and tile of queries, which walks the
// keys block by block and keeps only running sums. The P by P matrix never exists.
type towerAttendJob struct {
	t     *tower
	tiles int
}

// attendAll replaces the queries by the attention's output.
func (t *tower) attendAll() {
	t.attend = towerAttendJob{t: t, tiles: (t.patches + queryTile - 1) / queryTile}
	t.pool.run(&t.attend, t.cfg.Heads*t.attend.tiles)
}

func towerAttendScratch(dh int) int { return attendJobScratch(queryTile, dh) }

func (j *towerAttendJob) task(worker, index int) {
	t, dh := j.t, j.t.cfg.HeadDim
	head, first := index/j.tiles, index%j.tiles*queryTile
	nq := min(queryTile, t.patches-first)
	plane := head * t.patches * dh
	layer := kvLayer{
		k: byteView(t.key[plane:][:t.patches*dh]), v: byteView(t.value[plane:][:t.patches*dh]),
		rows: t.patches, stride: 4 * dh,
	}
	q := t.query[plane+first*dh:][:nq*dh]
	scratch := t.worker[worker]
	total := partialAt(scratch, nq, dh)
	t.k.attendRange(total, q, dh, 0, t.patches, keySource{layer: &layer, typ: core.KVFloat32},
		scratch[partialLen(nq, dh):])
	t.k.finish(q, total, dh)
}
