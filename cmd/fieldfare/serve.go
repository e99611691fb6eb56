package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/server/page"
)

type serveFlags struct {
	model     modelFlags
	options   server.Options
	keyFile   string
	keepAlive string
	cacheMiB  int64
	cacheSet  bool // by the user
	grace     time.Duration
	logFormat string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve an OpenAI-compatible API and a chat page",
		Long: `serve answers the OpenAI API on this machine: point a client's base URL at http://127.0.0.1:8080/v1.

Its chat page is at http://127.0.0.1:8080.

It listens on loopback only. Another --address needs an API key. Web pages of other origins are refused unless
--allowed-origin names them. Ctrl-C lets running answers end, a second one does not.`,
		Example: `  fieldfare serve
  fieldfare serve --address 0.0.0.0:8080 --api-key-file key.txt --allowed-host mac.local
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"Hi"}]}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.cacheSet = cmd.Flags().Changed("conversation-memory")
			return a.serve(cmd.Context(), &f)
		},
	}
	f.model.add(cmd)
	f.model.images.add(cmd)
	f.model.images.addServe(cmd)
	o, flags := &f.options, cmd.Flags()
	flags.StringVar(&o.Address, "address", "127.0.0.1:8080", "IP address or localhost, and port; port 0 takes a free one")
	flags.StringVar(&o.APIKey, "api-key", "", "clients must send this key")
	flags.StringVar(&f.keyFile, "api-key-file", "", "read the key from a file")
	flags.StringArrayVar(&o.AllowedHosts, "allowed-host", nil, "a name that clients may know this machine by (repeatable)")
	flags.StringArrayVar(&o.AllowedOrigins, "allowed-origin", nil,
		"an origin whose web pages may call, e.g. http://localhost:3000 (repeatable)")
	flags.StringArrayVar(&o.Names, "model-name", nil,
		"what requests call the model (repeatable; default: the folder's name)")
	flags.IntVar(&o.QueueLength, "queue", 16, "requests that may wait while one is answered")
	flags.Int64Var(&f.cacheMiB, "conversation-memory", 1024,
		"MiB for the KV caches of kept conversations, at most an eighth of --memory unless given")
	flags.StringVar(&f.keepAlive, "keep-alive", "comment",
		"what a stream sends while it waits: comment, delta or progress")
	flags.DurationVar(&o.KeepAliveEvery, "keep-alive-every", time.Second, "how long a stream is silent at most")
	flags.DurationVar(&f.grace, "shutdown-timeout", 30*time.Second, "how long running answers may take after Ctrl-C")
	flags.StringVar(&f.logFormat, "log", "text", "text, json or off; to standard error")
	return cmd
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	if err := f.complete(a); err != nil {
		return err
	}
	s, err := server.New(f.options)
	if err != nil {
		return serveError(err)
	}
	if err := s.Listen(); err != nil {
		return serveError(err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from the first signal on, the next one has its usual effect
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()

	rt, err := a.loadTelling(ctx, &f.model, s.SetLoading)
	if err == nil {
		defer rt.Close()
		s.SetModel(rt)
		a.announce(f, s)
		select {
		case <-ctx.Done():
		case err = <-ended:
			return err
		}
	}
	late, cancel := context.WithTimeout(context.Background(), f.grace)
	defer cancel()
	if e := s.Shutdown(late); errors.Is(e, context.DeadlineExceeded) {
		e = fmt.Errorf("answers were broken off after %v", f.grace)
		err = errors.Join(err, e)
	}
	return err
}

// complete turns the flags that are no field of the options into some.
func (f *serveFlags) complete(a *app) error {
	o := &f.options
	if f.keyFile != "" {
		if o.APIKey != "" {
			return misuse("--api-key and --api-key-file exclude each other")
		}
		key, err := os.ReadFile(f.keyFile)
		if err != nil {
			return fmt.Errorf("read the API key: %w", err)
		}
		if o.APIKey = strings.TrimSpace(string(key)); o.APIKey == "" {
			return misuse("%s holds no key", f.keyFile)
		}
	}
	o.Page = page.Serve
	o.Sampling = core.DefaultSampling()
	if err := f.model.images.serve(o); err != nil {
		return err
	}
	o.KeepAlive = server.KeepAlive(f.keepAlive)
	o.ConversationBytes = f.cacheMiB << 20
	if err := f.model.memory.parse(); err != nil {
		return err
	}
	if budget := f.model.memory.budget; budget > 0 && !f.cacheSet {
		o.ConversationBytes = min(o.ConversationBytes, budget/8)
	}
	f.model.memory.conversations = o.ConversationBytes
	switch f.logFormat {
	case "text":
		o.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
	case "json":
		o.Log = slog.New(slog.NewJSONHandler(a.stderr, nil))
	case "off":
	default:
		return misuse("--log is text, json or off, not %q", f.logFormat)
	}
	return nil
}

// announce says where the server is and who can reach it.
func (a *app) announce(f *serveFlags, s *server.Server) {
	if f.model.quiet {
		return
	}
	fmt.Fprintf(a.stderr, "fieldfare: serving %s/v1\n", s.URL())
	if f.options.APIKey != "" {
		fmt.Fprintln(a.stderr, "fieldfare: clients need the API key; it travels unencrypted: "+
			"use it in networks that you trust")
	}
}

func serveError(err error) error {
	switch {
	case errors.Is(err, server.ErrExposed):
		return withHint(&misuseError{err}, "give --api-key or --api-key-file, or serve on 127.0.0.1")
	case errors.Is(err, server.ErrOptions):
		return &misuseError{err}
	case errors.Is(err, syscall.EADDRINUSE):
		return withHint(err, "another program has this port: choose one with --address")
	}
	return err
}
