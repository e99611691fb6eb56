package metal

import (
	"math/rand/v2"
	"strings"
)

// checks holds one check per family of kernels. It may dispatch other kernels than c.k to feed it.
var checks = map[string]func(c *checker, variant string){
	"embed_int4": checkEmbed, "rmsnorm": checkNorm, "rmsnorm_add": checkNorm, "router_input": checkRouterInput,
	"tail": checkTail, "choose": checkChoose,
	"affine": checkAffine, "affine_split": checkAffineSplit, "affine_geglu": checkGeglu, "expert_geglu": checkExpertGeglu, "expert_down": checkExpertDown,
	"heads": checkHeads, "attend": checkAttend, "attend_split": checkSplit, "attend_join": checkSplit,
	"pixels": checkPixels, "positions": checkPositions, "tower_heads": checkTowerHeads, "tower_attend": checkTowerAttend,
	"affine_tensor": checkAffineTensor, "affine_geglu_tensor": checkGegluTensor, "dense_tensor": checkDense,
	"expert_geglu_tensor": checkExpertGegluTensor, "expert_down_tensor": checkExpertDownTensor,
	"attend_tensor": checkAttendTensor, "tower_attend_tensor": checkTowerAttend,
	"dense": checkDense, "dense_simd": checkDense, "geglu": checkElementGeglu, "pool": checkPool,
}

// splitName parts a kernel's name into its family and the rest.
func splitName(name string) (family, variant string) {
	for f := range checks {
		if rest, ok := strings.CutPrefix(name, f+"_"); ok && len(f) > len(family) && checks[name] == nil {
			family, variant = f, rest
		}
	}
	if checks[name] != nil {
		return name, ""
	}
	if family == "" {
		panic("BUG: metal: kernel " + name + " has no check")
	}
	return family, variant
}

func seededFor(name string) *rand.Rand {
	var seed uint64 = 14695981039346656037
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, 7))
}
