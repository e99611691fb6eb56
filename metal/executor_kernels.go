package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
)

// executorKernels are the pipelines of the text stages.
type executorKernels struct {
	embed, norm, normAdd, routerInput, choose, tail *kernel
	affine, split, geglu                            map[int]byRows // by bits
	expertGeglu, expertDown                         byRows
	heads                                           *kernel
	attend, attendSplit, attendJoin                 map[int]*kernel // by head width
	tensor                                          tensorKernels
}

// tensorKernels are what chunks of more than ProductRows rows use in place of the others; empty unless asked for and passed.
type tensorKernels struct {
	affine, geglu           map[int]*kernel // by bits
	expertGeglu, expertDown *kernel
	attend                  map[int]*kernel // by head width
}

// byRows are a product's kernels for one row and for many. Their bits are the same.
type byRows struct{ one, many *kernel }

// loadKernels compiles them.
func (e *executor) loadKernels() error {
	s := kernelSet{b: e.b}
	kv := "f16"
	if e.opts.KV == core.KVFloat32 {
		kv = "f32"
	}
	pair := func(name string) byRows { return byRows{s.get(name + "_r1"), s.get(name + "_r8")} }
	e.k = executorKernels{
		embed: s.get("embed_int4"), norm: s.get("rmsnorm"), normAdd: s.get("rmsnorm_add"),
		routerInput: s.get("router_input"), choose: s.get("choose"), tail: s.get("tail"), heads: s.get("heads_" + kv),
		affine:      map[int]byRows{4: pair("affine_int4"), 8: pair("affine_int8")},
		split:       map[int]byRows{4: pair("affine_split_int4"), 8: pair("affine_split_int8")},
		geglu:       map[int]byRows{4: pair("affine_geglu_int4"), 8: pair("affine_geglu_int8")},
		expertGeglu: pair("expert_geglu_int4"), expertDown: pair("expert_down_int4"),
		attend: map[int]*kernel{}, attendSplit: map[int]*kernel{}, attendJoin: map[int]*kernel{},
	}
	for _, l := range e.w.Config.Layers {
		w := l.HeadDim
		e.k.attend[w] = s.get(fmt.Sprintf("attend_%s_d%d", kv, w))
		e.k.attendSplit[w] = s.get(fmt.Sprintf("attend_split_%s_d%d", kv, w))
		e.k.attendJoin[w] = s.get(fmt.Sprintf("attend_join_d%d", w))
	}
	if _, text := e.b.useTensors(); text {
		e.loadTensorKernels(&s, kv)
	}
	return s.err()
}

func (e *executor) loadTensorKernels(s *kernelSet, kv string) {
	e.k.tensor = tensorKernels{
		affine:      map[int]*kernel{4: s.get("affine_tensor_int4"), 8: s.get("affine_tensor_int8")},
		geglu:       map[int]*kernel{4: s.get("affine_geglu_tensor_int4"), 8: s.get("affine_geglu_tensor_int8")},
		expertGeglu: s.get("expert_geglu_tensor_int4"), expertDown: s.get("expert_down_tensor_int4"),
		attend: map[int]*kernel{},
	}
	for _, l := range e.w.Config.Layers {
		e.k.tensor.attend[l.HeadDim] = s.get(fmt.Sprintf("attend_tensor_%s_d%d", kv, l.HeadDim))
	}
}
