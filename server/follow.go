package server

import (
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
)

// follow turns the runtime's progress into the API's.
func (j *job) follow(v voice) func(core.Progress) {
	total := len(j.prompt.Tokens)
	start, cache := time.Now(), -1
	return func(p core.Progress) {
		out := openai.Progress{Phase: p.Phase.String(), Total: total, Millis: time.Since(start).Milliseconds()}
		var seconds float64
		known := false
		switch p.Phase {
		case core.PhaseEncode:
			out.Percent = percent(p.Done, p.Total)
			left := float64(j.encodedTokens(0)) * (1 - out.Percent/100)
			seconds, known = j.server.pace.prompt(total, int(left))
		case core.PhasePrefill:
			if cache < 0 {
				start, cache = time.Now(), p.Done
			}
			out.Cache, out.Processed, out.Percent = cache, p.Done, percent(p.Done, total)
			if done := p.Done - cache; done > 0 {
				seconds, known = time.Since(start).Seconds()/float64(done)*float64(total-p.Done), true
			} else {
				seconds, known = j.server.pace.prompt(total-p.Done, 0)
			}
		}
		if known {
			out.Remaining = &seconds
		}
		v.progress(out)
	}
}

func percent(done, total int) float64 {
	if total == 0 {
		return 0
	}
	return 100 * float64(done) / float64(total)
}
