package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// checkHost refuses requests that were sent to a name that is not this server's: a web page whose name was pointed at
// this machine (DNS rebinding) still sends its own name. An address cannot be pointed elsewhere, so addresses pass; on
// a loopback listener only those of loopback.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.hostAllowed(c.Request().Host) {
			return newProblem(http.StatusForbidden, typePermission, "host_not_allowed",
				"the Host header names another server; --allowed-host adds names")
		}
		return next(c)
	}
}

func (s *Server) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().IsLoopback() || !s.onLoopback()
	}
	name = strings.ToLower(name)
	listed := func(h string) bool { return strings.EqualFold(h, name) }
	return name == "localhost" || slices.ContainsFunc(s.opts.AllowedHosts, listed)
}

// checkOrigin refuses pages of other origins and answers preflights. Requests without an Origin do not come from a
// page's script.
func (s *Server) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		rq, header := c.Request(), c.Response().Header()
		header.Add("Vary", "Origin")
		origins := rq.Header.Values("Origin")
		if len(origins) == 0 {
			if rq.Method == http.MethodOptions {
				return routeProblem(echo.ErrMethodNotAllowed)
			}
			return next(c)
		}
		origin := origins[0]
		listed := slices.Contains(s.opts.AllowedOrigins, origin)
		if len(origins) > 1 || !listed && origin != "http://"+rq.Host {
			return newProblem(http.StatusForbidden, typePermission, "origin_not_allowed",
				"pages of this origin may not call the server; --allowed-origin adds origins")
		}
		if listed {
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
		}
		if rq.Method == http.MethodOptions {
			return preflight(c)
		}
		return next(c)
	}
}

func preflight(c echo.Context) error {
	header := c.Response().Header()
	header.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if header.Get("Access-Control-Allow-Origin") != "" {
		header.Set("Access-Control-Allow-Methods", "GET, POST")
		header.Set("Access-Control-Allow-Headers", allowedHeaders(c.Request().Header.Get("Access-Control-Request-Headers")))
		header.Set("Access-Control-Max-Age", "600")
		if c.Request().Header.Get("Access-Control-Request-Private-Network") == "true" {
			header.Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// allowedHeaders are the two that the API reads, and what OpenAI's own client for browsers adds.
func allowedHeaders(asked string) string {
	allowed := []string{"authorization", "content-type"}
	for _, name := range strings.Split(asked, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, "x-stainless-") && !strings.ContainsAny(name, "\r\n") {
			allowed = append(allowed, name)
		}
	}
	return strings.Join(allowed, ", ")
}

// checkKey asks for the API key where one is set. Digests are compared, so that the time tells neither the key nor its
// length.
func (s *Server) checkKey(next echo.HandlerFunc) echo.HandlerFunc {
	want := sha256.Sum256([]byte(s.opts.APIKey))
	return func(c echo.Context) error {
		if s.opts.APIKey == "" || public[c.Path()] {
			return next(c)
		}
		scheme, key, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(key)))
		if !strings.EqualFold(scheme, "bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return newProblem(http.StatusUnauthorized, typeAuthentication, "invalid_api_key",
				"an API key is needed: Authorization: Bearer KEY")
		}
		return next(c)
	}
}

// public are the routes that say nothing worth a key: the page's files, and whether the process lives.
var public = map[string]bool{"/*": true, "/livez": true, "/readyz": true}

// harden sets the headers that every answer carries.
func harden(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		return next(c)
	}
}
