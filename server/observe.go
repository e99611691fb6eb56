package server

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// keyStatus holds the status that a request ended with, where it is not the one that was sent: a stream's, for
// instance, is 200 whatever happens later.
const keyStatus = "status"

// observe numbers, counts and logs requests, and gives clients their time to take the answer. The log holds no text of
// theirs, nor their path: routes are ours.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		id := "req_" + s.opts.NewID()
		c.Response().Header().Set("X-Request-Id", id)
		c.Response().Before(func() {
			control := http.NewResponseController(c.Response().Writer)
			_ = control.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // tests with recorders have no deadlines
		})
		err := next(c)
		if err != nil {
			c.Error(err) // answers, and sets keyStatus
		}
		status := c.Response().Status
		if failed, ok := c.Get(keyStatus).(int); ok {
			status = failed
		}
		route := c.Path()
		if route == "" {
			route = "none"
		}
		s.metrics.request(route, status)
		s.opts.Log.Info("request", "request", id, "method", method(c.Request().Method), "route", route,
			"status", status, "dur", time.Since(start))
		return nil
	}
}

// method keeps what a client made up out of the log.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "other"
}
