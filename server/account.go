package server

import (
	"encoding/hex"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
)

func (j *job) usage(a *account) *openai.Usage {
	n := len(j.prompt.Tokens)
	return &openai.Usage{
		PromptTokens: n, CompletionTokens: a.Result.Tokens, TotalTokens: n + a.Result.Tokens,
		PromptDetails: openai.PromptDetails{CachedTokens: a.Prefilled.Reuse.Tokens, ImageTokens: j.encodedTokens(0)},
		OutputDetails: openai.CompletionDetails{ReasoningTokens: a.reasoning},
	}
}

func (j *job) extension(a *account, malformed []openai.MalformedCall) *openai.Extension {
	p, r := a.Prefilled, a.Result
	reuse := openai.Reuse{
		Tokens: p.Reuse.Tokens, Common: p.Reuse.Common, End: p.Reuse.End.String(), Position: p.Reuse.Position,
	}
	return &openai.Extension{
		Seed: j.opts.Generate.Sampling.Seed, Reuse: reuse, Images: receipts(j.prompt, p.Reuse.Tokens),
		Timings: openai.Timings{
			Queue: a.queued.Seconds(), Encode: p.Encode.Seconds(), Prefill: (p.Duration - p.Encode).Seconds(),
			First: a.first.Seconds(), Decode: r.Decode.Seconds(),
			PromptRate: rate(p.Computed, p.Duration-p.Encode), DecodeRate: rate(r.Tokens-1, r.Decode),
		},
		Experts:    openai.Experts{BytesRead: a.stats.Experts.Bytes, HitRate: a.stats.Experts.HitRate()},
		StopString: a.StopString, ContextFull: r.Finish == core.FinishContext,
		Malformed: malformed, Notes: j.notes,
	}
}

func rate(n int, d time.Duration) float64 {
	if n < 1 || d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// receipts describes the pictures of p when its first reused tokens are not computed.
func receipts(p *core.Prompt, reused int) []openai.ImageReceipt {
	var out []openai.ImageReceipt
	for _, span := range p.Spans {
		r := openai.ImageReceipt{
			Name: p.Media[span.Media].Name, SoftTokens: span.Hi - span.Lo,
			Digest: hex.EncodeToString(span.Digest[:]), Cached: span.Hi <= reused,
		}
		if span.Media < len(p.Reports) {
			r.Receipt = p.Reports[span.Media]
		}
		out = append(out, r)
	}
	return out
}
