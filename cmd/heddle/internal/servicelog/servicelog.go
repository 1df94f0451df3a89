// Package servicelog is the log of a service, whose level and form may change while it runs.
package servicelog

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"

	"heddle/configs"
)

// Log is a log whose level and form can change while it is used. Its sink prints; the
// logger's own output is discarded.
type Log struct {
	hclog.InterceptLogger
	to   io.Writer
	sink hclog.SinkAdapter // in use
}

// New returns the log the configuration wants.
func New(w io.Writer, c *configs.LogConfig) *Log {
	l := &Log{to: w, InterceptLogger: hclog.NewInterceptLogger(&hclog.LoggerOptions{
		Name: "heddle", Level: hclog.LevelFromString(string(c.Level)), Output: io.Discard,
	})}
	l.replaceSink(c)
	return l
}

// Reconfigure changes the level and the form. Only one goroutine at a time may call it.
func (l *Log) Reconfigure(c *configs.LogConfig) {
	l.SetLevel(hclog.LevelFromString(string(c.Level)))
	l.replaceSink(c)
}

func (l *Log) replaceSink(c *configs.LogConfig) {
	before := l.sink
	l.sink = hclog.NewSinkAdapter(&hclog.LoggerOptions{
		Level: hclog.LevelFromString(string(c.Level)), JSONFormat: c.Format == configs.LogJSON, Output: l.to,
	})
	l.RegisterSink(l.sink)
	if before != nil {
		l.DeregisterSink(before)
	}
}

// Slog returns a slog logger that writes to log, for libraries.
func Slog(log hclog.Logger) *slog.Logger { return slog.New(slogHandler{log: log}) }

type slogHandler struct {
	log   hclog.Logger
	attrs []any
}

func (h slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level > slog.LevelInfo || h.log.IsDebug() // a library's info lines are logged as debug
}

func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	args := append([]any(nil), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, a.Value.String())
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		h.log.Error(r.Message, args...)
	case r.Level >= slog.LevelWarn:
		h.log.Warn(r.Message, args...)
	default:
		h.log.Debug(r.Message, args...)
	}
	return nil
}

func (h slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.attrs = append(slices.Clip(h.attrs), a.Key, a.Value.String())
	}
	return h
}

func (h slogHandler) WithGroup(string) slog.Handler { return h }
