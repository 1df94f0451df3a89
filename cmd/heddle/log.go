package main

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

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
		h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], a.Key, a.Value.String())
	}
	return h
}

func (h slogHandler) WithGroup(string) slog.Handler { return h }
