package server

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
)

// A model is a loaded runtime under its names.
type model struct {
	rt            *core.Runtime
	names         []string // the first is the id
	fingerprint   string
	created       int64
	conversations conversations
	decode        openai.Options
}

func (s *Server) newModel(rt *core.Runtime) *model {
	m := &model{rt: rt, names: s.opts.Names, fingerprint: "fieldfare", created: s.opts.Now().Unix()}
	if in := rt.Install(); in != nil {
		m.fingerprint = "fieldfare-" + in.ManifestSHA256()[:12]
		if len(m.names) == 0 {
			m.names = []string{strings.TrimSuffix(filepath.Base(in.Path()), ".gturbo")}
		}
	}
	if len(m.names) == 0 {
		m.names = []string{"fieldfare"}
	}
	m.conversations = conversations{rt: rt, budget: s.opts.ConversationBytes}
	m.decode = openai.Options{Sampling: s.opts.Sampling, Vocab: rt.Config().Vocab, Images: openai.Images{
		Most: s.opts.MaxImages, MostBytes: s.opts.MaxImageBytes,
		Low: s.opts.ImageBudgets.Low, High: s.opts.ImageBudgets.High,
	}}
	return m
}

func (m *model) id() string { return m.names[0] }

// check refuses a request for another model. An empty name means the one there is.
func (m *model) check(name string) error {
	if name == "" || slices.Contains(m.names, name) {
		return nil
	}
	return newProblem(http.StatusNotFound, openai.TypeInvalidRequest, "model_not_found",
		"there is no model of this name; %q is loaded", m.id())
}

// vision says whether images are taken, and why not.
func (s *Server) vision() (state VisionState, reason string) {
	m := s.model.Load()
	if m == nil {
		return VisionMissing, "the model is not loaded"
	}
	for _, x := range m.rt.Extensions() {
		if x.Name == "vision" {
			if x.Err != nil {
				reason = x.Err.Error()
			}
			return s.opts.Vision(x.Err), reason
		}
	}
	return VisionMissing, "no image pack is installed"
}

func (s *Server) visionReason() string {
	_, reason := s.vision()
	return reason
}

func (s *Server) models(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, openai.ModelList{Object: "list", Data: []openai.Model{s.describe(m)}})
}

func (s *Server) modelByID(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	if err := m.check(c.Param("id")); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, s.describe(m))
}

func (s *Server) describe(m *model) openai.Model {
	out := openai.Model{
		ID: m.id(), Object: "model", Created: m.created, OwnedBy: "fieldfare",
		ContextWindow: m.rt.MaxContext(), MaxModelLen: m.rt.MaxContext(),
		Modalities:   openai.Modalities{Input: []string{"text"}, Output: []string{"text"}},
		Capabilities: []string{"completion", "chat", "tools", "reasoning"},
	}
	if state, _ := s.vision(); state == VisionReady {
		out.Modalities.Input = append(out.Modalities.Input, "image")
		out.Capabilities = append(out.Capabilities, "vision")
		out.Images = &openai.ImageLimits{
			MostImages: s.opts.MaxImages, MostBytes: s.opts.MaxImageBytes, MostSoftTokens: m.rt.MaxSpan(),
			Detail: map[string]int{"low": s.opts.ImageBudgets.Low, "auto": 0, "high": s.opts.ImageBudgets.High},
		}
	}
	return out
}

// known reports whether err has a meaning of its own, so that it is no word of the image extension.
func known(err error) bool {
	var refused *openai.Error
	var length *core.ContextError
	return errors.As(err, &refused) || errors.As(err, &length) || errors.Is(err, core.ErrNoMedia) ||
		slices.ContainsFunc(requestErrors, func(of error) bool { return errors.Is(err, of) })
}
