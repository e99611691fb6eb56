package server

import "github.com/labstack/echo/v4"

// page asks Options.Page. It brings headers of its own, its policy among them.
func (s *Server) page(c echo.Context) error {
	if !s.opts.Page(c.Response(), c.Request()) {
		return echo.ErrNotFound
	}
	return nil
}
