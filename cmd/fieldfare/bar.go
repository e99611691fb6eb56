package main

import (
	"fmt"
	"strings"
	"time"
)

// A bar shows how far long work is: one line that redraws on a terminal; elsewhere nothing, or with lines one line a
// minute, for work that takes hours.
type bar struct {
	app   *app
	on    bool
	lines bool
	shown int // width of what stands there
	last  time.Time
	start time.Time
	what  string
}

const (
	barInterval  = 100 * time.Millisecond
	lineInterval = time.Minute
)

func (a *app) newBar(quiet bool) *bar { return &bar{app: a, on: a.stderrTerminal && !quiet} }

// tokens shows progress counted in tokens or other units.
func (b *bar) units(what, unit string, done, total int) {
	if rate, left, ok := b.due(what, float64(done), float64(total)); ok {
		b.draw(fmt.Sprintf("%s: %d %% (%d of %d %s%s)", what, percent(done, total), done, total, unit,
			pace(rate, func(r float64) string { return fmt.Sprintf("%.0f/s", r) }, left)))
	}
}

// bytes shows progress counted in bytes.
func (b *bar) bytes(what string, done, total int64) {
	if rate, left, ok := b.due(what, float64(done), float64(total)); ok {
		b.draw(fmt.Sprintf("%s: %d %% (%s of %s%s)", what, percent(done, total), size(done), size(total),
			pace(rate, func(r float64) string { return size(int64(r)) + "/s" }, left)))
	}
}

// due decides whether it is time to redraw, and measures the rate since the work of that name began.
func (b *bar) due(what string, done, total float64) (rate float64, left time.Duration, ok bool) {
	now := time.Now()
	if !b.on && !b.lines || total <= 0 {
		return 0, 0, false
	}
	if what != b.what {
		b.what, b.start, b.last = what, now, time.Time{}
		if !b.on {
			b.last = now // short phases get no line
		}
	}
	wait := barInterval
	if !b.on {
		wait = lineInterval
	} else if done >= total {
		wait = 0
	}
	if now.Sub(b.last) < wait {
		return 0, 0, false
	}
	b.last = now
	if spent := now.Sub(b.start).Seconds(); spent > 0.2 && done > 0 {
		rate = done / spent
		left = time.Duration((total - done) / rate * float64(time.Second))
	}
	return rate, left, true
}

func pace(rate float64, format func(float64) string, left time.Duration) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(", %s, %s left", format(rate), left.Round(time.Second))
}

func (b *bar) draw(text string) {
	if !b.on {
		fmt.Fprintln(b.app.stderr, text)
		return
	}
	fmt.Fprintf(b.app.stderr, "\r%s%s", text, strings.Repeat(" ", max(0, b.shown-len(text))))
	b.shown = len(text)
}

// clear takes the line away, so that other text can stand there.
func (b *bar) clear() {
	if b.shown > 0 {
		fmt.Fprintf(b.app.stderr, "\r%s\r", strings.Repeat(" ", b.shown))
		b.shown, b.what = 0, ""
	}
}

func percent[T int | int64](done, total T) int { return int(100 * float64(done) / float64(total)) }

// size writes bytes in the unit people think in, powers of ten as disks and downloads are sold.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
