package vision

import (
	"crypto/sha256"
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/visionpack"
)

// towerConfig puts the pack's dimensions in the backend's terms.
func towerConfig(t *visionpack.Tower) core.TowerConfig {
	return core.TowerConfig{
		Hidden: t.Hidden, Layers: t.Layers, Heads: t.Heads, HeadDim: t.HeadDim, Width: t.Width,
		PatchDim: t.PatchDim(), PositionRows: t.PositionRows, Pool: t.Pool,
		RopeTheta: t.RopeTheta, RMSNormEps: float32(t.RMSNormEps), TextHidden: t.TextHidden,
	}
}

func bindEmbedding(r *visionpack.Region) core.TowerEmbedding {
	return core.TowerEmbedding{
		Patch:    r.Tensor(visionpack.PatchProjection),
		Position: r.Tensor(visionpack.PositionTable),
	}
}

func bindLayer(r *visionpack.Region, layer int) core.TowerLayer {
	t := func(name string) core.Vector { return r.Tensor(visionpack.LayerPrefix(layer) + name + ".weight") }
	return core.TowerLayer{
		Query: t("self_attn.q_proj.linear"), Key: t("self_attn.k_proj.linear"), Value: t("self_attn.v_proj.linear"),
		Output:    t("self_attn.o_proj.linear"),
		QueryNorm: t("self_attn.q_norm"), KeyNorm: t("self_attn.k_norm"),
		Gate: t("mlp.gate_proj.linear"), Up: t("mlp.up_proj.linear"), Down: t("mlp.down_proj.linear"),
		InputNorm:         t("input_layernorm"),
		PostAttentionNorm: t("post_attention_layernorm"),
		PreFFNNorm:        t("pre_feedforward_layernorm"),
		PostFFNNorm:       t("post_feedforward_layernorm"),
	}
}

func bindPooling(r *visionpack.Region) core.TowerPooling {
	return core.TowerPooling{Bias: r.Tensor(visionpack.StandardBias), Scale: r.Tensor(visionpack.StandardScale)}
}

func bindProjector(r *visionpack.Region, cfg *core.TowerConfig) core.Affine {
	return core.Affine{
		Codes: r.Tensor(visionpack.Projector), Scales: r.Tensor(visionpack.ProjectorScales),
		Biases: r.Tensor(visionpack.ProjectorBiases),
		Out:    cfg.TextHidden, In: cfg.Hidden, Bits: visionpack.Packed.WeightBits,
	}
}

// identity is what makes two pictures equal for a session: the file, the way it is prepared, the tower's weights.
func (x *Extension) identity(p *Plan) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%x by %s", p.Digest, x.pack.ManifestSHA256()))
}
