package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/hashicorp/go-hclog"

	"heddle/configs"
)

// serviceLog is a log whose form can change while it is used: the logger
// itself prints nowhere, a sink does.
type serviceLog struct {
	hclog.InterceptLogger
	to   io.Writer
	sink hclog.SinkAdapter // in use
}

// newLogger builds the log the configuration wants, to standard error.
func newLogger(c *configs.LogConfig) hclog.Logger { return logTo(os.Stderr, c) }

func logTo(w io.Writer, c *configs.LogConfig) *serviceLog {
	l := &serviceLog{to: w, InterceptLogger: hclog.NewInterceptLogger(&hclog.LoggerOptions{
		Name: "heddle", Level: hclog.LevelFromString(string(c.Level)), Output: io.Discard,
	})}
	l.print(c)
	return l
}

// print makes the log print as the configuration says from now on. One
// goroutine at a time may call it.
func (l *serviceLog) print(c *configs.LogConfig) {
	before := l.sink
	l.sink = hclog.NewSinkAdapter(&hclog.LoggerOptions{
		Level: hclog.LevelFromString(string(c.Level)), JSONFormat: c.Format == configs.LogJSON, Output: l.to,
	})
	l.RegisterSink(l.sink)
	if before != nil {
		l.DeregisterSink(before)
	}
}

// slogTo passes what a library logs with slog on to the service's log.
func slogTo(log hclog.Logger) *slog.Logger { return slog.New(slogHandler{log: log}) }

type slogHandler struct {
	log   hclog.Logger
	attrs []any
}

func (h slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level > slog.LevelInfo || h.log.IsDebug() // what libraries say of themselves is detail here
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
