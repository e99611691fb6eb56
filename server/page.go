package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// pagePolicy lets the page load its own files and talk to this server, nothing else: no inline script, no frame, no
// outside address. Pictures that are being sent are shown from memory.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page serves the files of Options.Page.
func (s *Server) page() echo.HandlerFunc {
	files := http.FileServerFS(s.opts.Page)
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", pagePolicy)
		header.Set("Cache-Control", "no-cache")
		files.ServeHTTP(c.Response(), c.Request())
		return nil
	}
}
