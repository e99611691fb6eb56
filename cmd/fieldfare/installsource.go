package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/install"
)

// sourceFlags say where the bytes of a checkpoint come from.
type sourceFlags struct{ dir, endpoint string }

func (f *sourceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "from", "", "take the bytes from this checkpoint directory; nothing is fetched")
	cmd.Flags().StringVar(&f.endpoint, "endpoint", "", "fetch from this mirror of "+install.DefaultEndpoint)
}

// source opens what the flags name.
func (a *app) source(f *sourceFlags, show *showFlags) (install.Source, error) {
	if f.dir != "" && f.endpoint != "" {
		return nil, misuse("--from and --endpoint are mutually exclusive")
	}
	if f.dir != "" {
		return install.NewDirSource(f.dir), nil
	}
	return install.NewHubSource(install.HubOptions{
		Endpoint: f.endpoint,
		Token:    os.Getenv("HF_TOKEN"),
		Proxy:    http.ProxyFromEnvironment,
		Notify: func(r install.Retry) {
			if !show.quiet && !show.asJSON {
				fmt.Fprintf(a.stderr, "\nfieldfare: %s: %v; attempt %d of %d in %s\n",
					r.File, r.Err, r.Attempt+1, r.Of, r.Wait.Round(time.Second/10))
			}
		},
	})
}

// showFlags say how work on an install shows itself.
type showFlags struct{ asJSON, quiet bool }

func (f *showFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write progress and result as one JSON object a line to standard output")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "show no progress")
}

// A show shows the events of an install: in place on a terminal, a line a minute in a pipe, objects for programs.
type show struct {
	bar     *bar
	encoder *json.Encoder
	last    time.Time
	phase   install.Phase
}

func (a *app) newShow(f *showFlags) *show {
	s := &show{bar: a.newBar(f.quiet || f.asJSON)}
	s.bar.lines = !f.quiet && !f.asJSON
	if f.asJSON {
		s.encoder = json.NewEncoder(a.stdout)
	}
	return s
}

func (s *show) event(e install.Event) {
	if s.encoder == nil {
		s.bar.bytes(string(e.Phase), e.Done, e.Total)
		return
	}
	// A program wants every phase and a steady pulse, not every buffer.
	if now := time.Now(); e.Phase != s.phase || now.Sub(s.last) >= time.Second {
		s.phase, s.last = e.Phase, now
		s.encoder.Encode(map[string]any{
			"type": "progress", "phase": e.Phase, "file": e.File, "done": e.Done, "total": e.Total, "reused": e.Reused,
			"bytes_per_second": e.Rate, "remaining_seconds": e.Remaining.Seconds(),
		})
	}
}
