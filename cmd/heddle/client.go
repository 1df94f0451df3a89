package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/configs"
)

// serviceClient asks a running service.
type serviceClient struct {
	url     string
	timeout time.Duration
}

func (r *serviceClient) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.url, "url", "http://"+configs.DefaultListenAddress, "the `URL` of the running service")
	cmd.Flags().DurationVar(&r.timeout, "timeout", 10*time.Second, "how long to wait for the answer")
}

// problem is an error answer (RFC 9457).
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// maxAnswer bounds the size of an answer in bytes.
const maxAnswer = 64 << 20

// get fetches path, decodes the JSON body into answer and returns it.
func (r *serviceClient) get(ctx context.Context, path string, answer any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	at := strings.TrimRight(r.url, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, exit.NewUsageError(fmt.Errorf("--url %q: %w", r.url, err))
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the service at %s: %w; is 'heddle serve' running there?", r.url, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", at, err)
	}
	if resp.StatusCode != http.StatusOK {
		var p problem
		if json.Unmarshal(body, &p) == nil && p.Title != "" {
			return nil, errors.New(strings.TrimSuffix(p.Title+": "+p.Detail, ": "))
		}
		return nil, fmt.Errorf("ask %s: status %s", at, resp.Status)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", r.url, err)
	}
	return body, nil
}

// appPath returns the REST path of an application, followed by rest.
func appPath(id, rest string) string { return "/v1/applications/" + url.PathEscape(id) + rest }
