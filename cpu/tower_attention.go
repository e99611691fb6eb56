package cpu

import "github.com/fieldfare/fieldfare/core"

// queryTile is the number of queries that share each pass over the keys.
const queryTile = 32

// A towerAttendJob is attention of every patch to every patch: one task per head and tile of queries, which walks the
// keys block by block and keeps only running sums. The P by P matrix never exists.
type towerAttendJob struct {
	t     *tower
	tile  int // queries of a task
	tiles int
}

// attendAll replaces the queries by the attention's output.
func (t *tower) attendAll() {
	tile := queryTile
	if t.k.outer != nil {
		tile = panelQueries
	}
	t.attend = towerAttendJob{t: t, tile: tile, tiles: (t.patches + tile - 1) / tile}
	t.pool.run(&t.attend, t.cfg.Heads*t.attend.tiles)
}

func towerAttendScratch(dh int) int {
	return max(attendJobScratch(queryTile, dh), panelAttendScratch(dh))
}

func (j *towerAttendJob) task(worker, index int) {
	t, dh := j.t, j.t.cfg.HeadDim
	head, first := index/j.tiles, index%j.tiles*j.tile
	nq := min(j.tile, t.patches-first)
	q := t.query[(head*t.patches+first)*dh:][:nq*dh]
	if t.k.outer != nil {
		t.attendPanels(head, q, t.worker[worker])
		return
	}
	t.attendRows(head, q, t.worker[worker])
}

// file keeps the key and the value of a patch for the attention.
func (t *tower) file(head, patch int, key, value []float32) {
	if t.k.outer != nil {
		t.filePanel(head, patch, key, value)
		return
	}
	t.fileRow(head, patch, key, value)
}

// fileRow keeps the key and the value of a patch in rows.
func (t *tower) fileRow(head, patch int, key, value []float32) {
	at := (head*t.patches + patch) * t.cfg.HeadDim
	copy(t.key[at:], key)
	copy(t.value[at:], value)
}

// attendRows replaces queries q of a head by their attention over keys and values in rows.
func (t *tower) attendRows(head int, q, scratch []float32) {
	dh := t.cfg.HeadDim
	plane, nq := head*t.patches*dh, len(q)/dh
	layer := kvLayer{
		k: byteView(t.key[plane:][:t.patches*dh]), v: byteView(t.value[plane:][:t.patches*dh]),
		rows: t.patches, stride: 4 * dh,
	}
	total := partialAt(scratch, nq, dh)
	t.k.attendRange(total, q, dh, 0, t.patches, keySource{layer: &layer, typ: core.KVFloat32},
		scratch[partialLen(nq, dh):])
	t.k.finish(q, total, dh)
}
