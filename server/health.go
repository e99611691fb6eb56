package server

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
)

// healthReport is the answer of /health.
type healthReport struct {
	Status  string         `json:"status"` // ok, loading, failed, shutting_down
	Reason  string         `json:"reason,omitempty"`
	Loading *loadingReport `json:"loading,omitempty"`
	Model   string         `json:"model,omitempty"`
	Backend string         `json:"backend,omitempty"`
	Context int            `json:"context_window,omitempty"`
	Vision  visionReport   `json:"vision"`
	Queue   queueReport    `json:"queue"`
	Live    *liveReport    `json:"live,omitempty"`
}

type loadingReport struct {
	Done    int64   `json:"bytes_checked"`
	Total   int64   `json:"bytes_total"`
	Percent float64 `json:"percent"`
}

type visionReport struct {
	State  VisionState `json:"state"`
	Reason string      `json:"reason,omitempty"`
}

type queueReport struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Most    int `json:"most"`
}

// liveReport is what a page shows while answers run.
type liveReport struct {
	PromptRate    float64          `json:"prompt_tokens_per_second"`
	DecodeRate    float64          `json:"decode_tokens_per_second"`
	HitRate       float64          `json:"expert_hit_rate"`
	BytesRead     int64            `json:"expert_bytes_read"`
	OpenLayers    int              `json:"expert_layers_open"`
	Memory        map[string]int64 `json:"memory_bytes"`
	Conversations int              `json:"conversations"`
}

func (s *Server) health(c echo.Context) error {
	status := http.StatusOK
	h := healthReport{Status: "ok"}
	m, err := s.ready()
	if err != nil {
		status = http.StatusServiceUnavailable
		h.Status, h.Reason = "loading", err.Error()
		switch {
		case errors.Is(err, ErrNoModel):
			h.Status = "failed"
		case errors.Is(err, ErrShutdown):
			h.Status = "shutting_down"
		default:
			h.Loading = s.loadingReport()
		}
	}
	h.Vision.State, h.Vision.Reason = s.vision()
	h.Queue.Running, h.Queue.Waiting = s.queue.length()
	h.Queue.Most = s.opts.QueueLength
	if m != nil {
		h.Model, h.Backend, h.Context = m.id(), m.rt.Backend().Name(), m.rt.MaxContext()
		h.Live = s.live(m, m.rt.Stats())
	}
	return c.JSON(status, h)
}

func (s *Server) loadingReport() *loadingReport {
	l := s.loading.Load()
	r := &loadingReport{Done: l.done, Total: l.total}
	if l.total > 0 {
		r.Percent = 100 * float64(l.done) / float64(l.total)
	}
	return r
}

func (s *Server) live(m *model, stats core.Stats) *liveReport {
	r := &liveReport{
		HitRate: stats.Experts.HitRate(), BytesRead: stats.Experts.Bytes, OpenLayers: stats.Experts.OpenLayers,
		Memory: m.rt.Memory(),
	}
	r.PromptRate, r.DecodeRate = s.pace.rates()
	r.Conversations, _ = m.conversations.size()
	return r
}

// livez says that the process answers.
func (s *Server) livez(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether requests are answered now; before, how far loading is.
func (s *Server) readyz(c echo.Context) error {
	if _, err := s.ready(); err != nil {
		c.Response().Header().Set("Retry-After", "1")
		if errors.Is(err, ErrNoModel) {
			err = ErrNoModel // the reason may name files: /health has it
		}
		return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
	}
	return c.String(http.StatusOK, "ok\n")
}
