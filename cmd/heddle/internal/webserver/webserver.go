// Package webserver serves HTTP as Prometheus' exporters do: TLS and authentication come from a web-config file.
package webserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/exporter-toolkit/web"

	"heddle/cmd/heddle/internal/servicelog"
)

// Listen opens the address that --web.listen-address chooses.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another with --web.listen-address", address, err)
	}
	return l, nil
}

// Server serves a handler: Serve until Stop.
type Server struct {
	http      *http.Server
	webConfig string // the web-config file, "" for plain HTTP
	log       hclog.Logger
}

// New returns a server that does not serve yet.
func New(h http.Handler, webConfig string, log hclog.Logger) *Server {
	return &Server{&http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}, webConfig, log}
}

// Serve serves what connects to l until Stop.
func (s *Server) Serve(l net.Listener) error {
	none := false
	err := web.ServeMultiple([]net.Listener{l}, s.http, &web.FlagConfig{
		WebListenAddresses: &[]string{}, WebSystemdSocket: &none, WebConfigFile: &s.webConfig,
	}, servicelog.Slog(s.log))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Stop ends Serve, and waits up to five seconds for requests under way. It works after ctx has ended.
func (s *Server) Stop(ctx context.Context) {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = s.http.Shutdown(stop) // requests that take longer end with the process
}
