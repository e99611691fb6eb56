package standin

import (
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
)

const doubling = `#include <metal_stdlib>
using namespace metal;
constant uint FACTOR [[function_constant(0)]];
kernel void scale(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]], constant uint &add [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    threadgroup uint t[4];
    t[i & 3] = in[i];
    out[i] = t[i & 3] * FACTOR + add;
}
`

func TestSmoke(t *testing.T) {
	d := ForTest(t, Options{})
	t.Logf("%+v", d.Info())
	l, err := d.NewLibrary(doubling, driver.LibraryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Pipeline("scale", driver.Uint(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(l.Functions(), p.MaxThreads(), p.ThreadgroupMemory())
	in, _ := d.NewBuffer(400)
	out, _ := d.NewBuffer(400)
	q, _ := d.NewQueue()
	for i := range 100 {
		in.Bytes()[4*i] = byte(i)
	}
	b, _ := q.CommandBuffer("test")
	e := b.Compute(driver.Serial)
	e.SetPipeline(p)
	e.SetBuffer(0, in, 0)
	e.SetBuffer(1, out, 0)
	e.SetBytes(2, []byte{1, 0, 0, 0})
	e.Dispatch(driver.D1(100), driver.D1(32))
	e.End()
	b.Commit()
	if err := b.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Log(out.Bytes()[:20])
	t.Log(b.Times())
	b.Free()
	q.Free()
	in.Free()
	out.Free()
	p.Free()
	l.Free()
	t.Log(Live(""))
}
