package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
)

// A Server answers requests over HTTP. It may serve before it has a model: requests that need one are told to come
// again.
type Server struct {
	opts     Options
	echo     *echo.Echo
	http     *http.Server
	listener net.Listener
	base     context.Context // ends all work when Shutdown runs out of time
	end      context.CancelFunc

	model    atomic.Pointer[model]
	loading  atomic.Pointer[loading]
	draining atomic.Bool
	queue    queue
	bodies   bodyLimit
	pace     pace
	metrics  *metrics
}

// loading says how far the model is before it is there.
type loading struct {
	done, total int64
	failed      error
}

// New checks o and makes a Server that listens nowhere yet.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Server{opts: o, echo: echo.New(), queue: queue{most: o.QueueLength}, bodies: bodyLimit{most: 2 * o.MaxBody}}
	s.base, s.end = context.WithCancel(context.Background())
	s.loading.Store(&loading{})
	s.metrics = newMetrics(s)
	s.echo.HTTPErrorHandler = s.handleError
	s.echo.Use(s.observe, s.limitBody, harden, s.checkHost, s.checkOrigin, s.checkKey)
	s.routes()
	s.http = &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: o.HeaderTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return s.base },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

func (s *Server) routes() {
	e := s.echo
	e.POST("/v1/chat/completions", s.chat)
	e.POST("/v1/chat/completions/input_tokens", s.inputTokens)
	e.POST("/v1/completions", s.complete)
	e.GET("/v1/models", s.models)
	e.GET("/v1/models/:id", s.modelByID)
	e.POST("/tokenize", s.tokenize)
	e.POST("/detokenize", s.detokenize)
	e.POST("/apply-template", s.applyTemplate)
	e.GET("/health", s.health)
	e.GET("/livez", s.livez)
	e.GET("/readyz", s.readyz)
	e.GET("/metrics", s.metrics.serve)
	if s.opts.Page != nil {
		e.GET("/*", s.page)
	}
}

// Listen opens Options.Address. Serve does it when it has not been done.
func (s *Server) Listen() error {
	l, err := net.Listen("tcp", s.opts.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && s.opts.APIKey == "" {
		l.Close()
		return fmt.Errorf("%w: %s is %s", ErrExposed, s.opts.Address, l.Addr())
	}
	s.listener = l
	return nil
}

// URL is where the server listens; empty before Listen.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

func (s *Server) onLoopback() bool {
	host, _, _ := net.SplitHostPort(s.opts.Address)
	return loopback(host)
}

// Serve answers requests until Shutdown.
func (s *Server) Serve() error {
	if s.listener == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Shutdown takes no new request, sends away those that wait, and lets the running ones end. When ctx ends first, they
// are broken off. After Shutdown nothing uses the model any more.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.queue.close()
	err := s.http.Shutdown(ctx)
	if err == nil {
		s.end()
		return nil
	}
	s.end()
	const lastWords = 5 * time.Second // handlers end within a layer and tell their clients
	late, stop := context.WithTimeout(context.Background(), lastWords)
	defer stop()
	if s.http.Shutdown(late) != nil {
		return errors.Join(err, s.http.Close())
	}
	return err
}

// SetLoading says how far loading is: bytes checked of all bytes.
func (s *Server) SetLoading(done, total int64) { s.loading.Store(&loading{done: done, total: total}) }

// SetFailed says that there will be no model.
func (s *Server) SetFailed(err error) { s.loading.Store(&loading{failed: err}) }

// SetModel starts answering with rt, which stays open until Shutdown has returned.
func (s *Server) SetModel(rt *core.Runtime) { s.model.Store(s.newModel(rt)) }

// ready returns the model, or the error that says why there is none.
func (s *Server) ready() (*model, error) {
	if s.draining.Load() {
		return nil, ErrShutdown
	}
	if m := s.model.Load(); m != nil {
		return m, nil
	}
	l := s.loading.Load()
	switch {
	case l.failed != nil:
		return nil, fmt.Errorf("%w: %v", ErrNoModel, l.failed)
	case l.total > 0:
		return nil, fmt.Errorf("%w: %d %% checked", ErrLoading, 100*l.done/l.total)
	}
	return nil, ErrLoading
}
