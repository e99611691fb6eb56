package server

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows. Labels hold words of ours only.
type metrics struct {
	serve    echo.HandlerFunc
	requests *prometheus.CounterVec // route, status
	refusals *prometheus.CounterVec // reason
	prefixes *prometheus.CounterVec // end
	tokens   *prometheus.CounterVec // kind
	wait     prometheus.Histogram
	first    prometheus.Histogram
	perToken prometheus.Histogram
}

// secondsBuckets reach from a demo's milliseconds to a long prompt on a slow disk.
var secondsBuckets = []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}

func newMetrics(s *Server) *metrics {
	registry := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fieldfare_" + name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fieldfare_" + name, Help: help, Buckets: buckets})
		registry.MustRegister(h)
		return h
	}
	m := &metrics{
		requests: counter("requests_total", "Requests by route and status.", "route", "status"),
		refusals: counter("refusals_total", "Requests that were not answered, by the error's code.", "reason"),
		prefixes: counter("prefix_total", "Prompts by what ended the reuse of an earlier one.", "end"),
		tokens:   counter("tokens_total", "Tokens: prompt, cached among them, completion, reasoning among them.", "kind"),
		wait:     histogram("queue_wait_seconds", "Time in the queue.", secondsBuckets),
		first:    histogram("time_to_first_token_seconds", "From the request to the first token.", secondsBuckets),
		perToken: histogram("time_per_output_token_seconds", "Mean time of a token after the first.", secondsBuckets),
	}
	registry.MustRegister(&runtimeCollector{s})
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
	m.serve = func(c echo.Context) error {
		handler.ServeHTTP(c.Response(), c.Request())
		return nil
	}
	return m
}

func (m *metrics) request(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

func (m *metrics) refused(p *problem) { m.refusals.WithLabelValues(p.body.Code).Inc() }

func (m *metrics) queued(d time.Duration) { m.wait.Observe(d.Seconds()) }

// answered counts an answer, also one that was broken off.
func (m *metrics) answered(a *account) {
	m.tokens.WithLabelValues("prompt").Add(float64(a.Prefilled.Reuse.Tokens + a.Prefilled.Computed))
	m.tokens.WithLabelValues("cached").Add(float64(a.Prefilled.Reuse.Tokens))
	m.tokens.WithLabelValues("completion").Add(float64(a.Result.Tokens))
	m.tokens.WithLabelValues("reasoning").Add(float64(a.reasoning))
	m.prefixes.WithLabelValues(a.Prefilled.Reuse.End.String()).Inc()
	if a.Result.Tokens > 0 {
		m.first.Observe(a.first.Seconds())
	}
	if n := a.Result.Tokens - 1; n > 0 {
		m.perToken.Observe(a.Result.Decode.Seconds() / float64(n))
	}
}

// A runtimeCollector reads what the runtime counts itself.
type runtimeCollector struct{ s *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("fieldfare_"+name, help, labels, nil)
}

var (
	descRunning  = describe("queue_running", "Answers that are being computed.")
	descWaiting  = describe("queue_waiting", "Requests that wait.")
	descBodies   = describe("request_bytes", "Bytes of the requests in work.")
	descMemory   = describe("memory_bytes", "Memory outside the Go heap, by class.", "class")
	descHits     = describe("expert_fetches_total", "Experts that were wanted: hit, joined or miss.", "result")
	descHitRate  = describe("expert_hit_ratio", "Share of wanted experts that no read had to be started for.")
	descBytes    = describe("expert_read_bytes_total", "Bytes of experts read.")
	descReads    = describe("expert_read_seconds", "Reads of experts; their sum runs side by side.")
	descSlowest  = describe("expert_read_slowest_seconds", "The slowest read of a piece of an expert.")
	descSessions = describe("conversations", "Conversations that are kept.")
	descCaches   = describe("conversation_bytes", "Memory of the conversations that rest.")
)

func (r *runtimeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descRunning, descWaiting, descBodies, descMemory, descHits, descHitRate, descBytes, descReads, descSlowest,
		descSessions, descCaches,
	} {
		ch <- d
	}
}

func (r *runtimeCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	running, waiting := r.s.queue.length()
	gauge(descRunning, float64(running))
	gauge(descWaiting, float64(waiting))
	gauge(descBodies, float64(r.s.bodies.held.Load()))
	m := r.s.model.Load()
	if m == nil || r.s.draining.Load() {
		return
	}
	for class, bytes := range m.rt.Memory() {
		gauge(descMemory, float64(bytes), class)
	}
	e := m.rt.Stats().Experts
	count(descHits, e.Hits, "hit")
	count(descHits, e.Joined, "joined")
	count(descHits, e.Misses, "miss")
	gauge(descHitRate, e.HitRate())
	count(descBytes, e.Bytes)
	ch <- prometheus.MustNewConstSummary(descReads, uint64(e.Reads), e.ReadTime.Seconds(), nil)
	gauge(descSlowest, e.SlowestRead.Seconds())
	n, bytes := m.conversations.size()
	gauge(descSessions, float64(n))
	gauge(descCaches, float64(bytes))
}
