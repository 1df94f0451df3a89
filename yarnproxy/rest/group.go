package rest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Group finds the active one of several equal daemons: it remembers the base
// URL that answered last, and tries the others after ErrStandby or a connection
// failure. Its caller backs off when none answers. Safe for concurrent use.
type Group struct {
	client *Client
	bases  []string

	mu     sync.Mutex
	active int // index of the base that answered last, -1 before any did
}

// NewGroup builds a group over base URLs such as "http://rm1:8088".
func NewGroup(client *Client, bases []string) (*Group, error) {
	if len(bases) == 0 {
		return nil, errors.New("no base URL: name at least one daemon as http://host:port")
	}
	clean := make([]string, len(bases))
	for i, base := range bases {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" {
			return nil, fmt.Errorf("base URL %q: want http://host:port or https://host:port", base)
		}
		clean[i] = strings.TrimRight(base, "/")
	}
	return &Group{client: client, bases: clean, active: -1}, nil
}

// AllowBases returns an Options.Allowed that admits the hosts of base URLs.
func AllowBases(bases []string) func(hostPort string) bool {
	hosts := make([]string, 0, len(bases))
	for _, base := range bases {
		if u, err := url.Parse(base); err == nil {
			hosts = append(hosts, hostPort(u))
		}
	}
	return func(host string) bool { return slices.Contains(hosts, host) }
}

// Get fetches path from the active daemon and calls use with the answer and its base
// URL. If use returns ErrStandby, Get tries the next daemon; it returns any other
// error. If no daemon answers, it returns the errors of all.
func (g *Group) Get(ctx context.Context, path, accept string, use func(base string, body []byte) error) error {
	first := g.first()
	var failed []error
	for i := range g.bases {
		at := (first + i) % len(g.bases)
		body, err := g.client.Get(ctx, g.bases[at]+path, accept)
		if err == nil {
			err = use(g.bases[at], body)
		}
		if !elsewhere(err) {
			g.answered(at, err)
			return err
		}
		if ctx.Err() != nil {
			return err // the caller gave up: that says nothing of the daemon
		}
		failed = append(failed, err)
	}
	return joined(failed)
}

// Active returns the base URL that answered last, or "" before any did.
func (g *Group) Active() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active < 0 {
		return ""
	}
	return g.bases[g.active]
}

// Bases returns the base URLs of the group, in the order they are tried.
func (g *Group) Bases() []string { return slices.Clone(g.bases) }

// first returns the index of the base to ask first.
func (g *Group) first() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.active, 0)
}

func (g *Group) answered(at int, err error) {
	if errors.Is(err, ErrBudget) || errors.Is(err, context.Canceled) {
		return // nothing was sent, or nobody waited
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active = at
}

// joined are the errors of several daemons, on one line.
type joined []error

// Error implements error.
func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap implements errors' unwrapping.
func (j joined) Unwrap() []error { return j }

// elsewhere reports whether another daemon of the group may answer what this
// one did not: it is not the active one, or no answer came at all.
func elsewhere(err error) bool {
	var status *StatusError
	var invalid *InvalidError
	var redirect *RedirectError
	var auth *AuthError
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrStandby):
		return true
	case errors.Is(err, ErrBudget), errors.Is(err, context.Canceled),
		errors.As(err, &status), errors.As(err, &invalid), errors.As(err, &redirect), errors.As(err, &auth):
		return false
	}
	return true
}
