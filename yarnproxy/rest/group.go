package rest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// GroupOptions configure the back-off of a Group. The zero value of each field
// means its default.
type GroupOptions struct {
	MinBackoff time.Duration  // before the first attempt after a failure; default 1 s; negative: none, the caller paces itself
	MaxBackoff time.Duration  // the back-off doubles up to this; default 30 s
	Rand       func() float64 // uniform in [0,1), for the jitter; default seeded by the clock
}

// Group finds the active one of several equal daemons: it remembers the base
// URL that answered last, tries the others after ErrStandby or a connection
// failure, and backs off with jitter when none answers. Safe for concurrent use.
type Group struct {
	client *Client
	bases  []string
	opts   GroupOptions

	mu       sync.Mutex
	active   int // index of the base that answered last, -1 before any did
	failures int // rounds in a row in which none answered
	retryAt  time.Time
	last     error // of the round that set retryAt
}

// NewGroup builds a group over base URLs such as "http://rm1:8088".
func NewGroup(client *Client, bases []string) (*Group, error) {
	return NewGroupWith(client, bases, GroupOptions{})
}

// NewGroupWith builds a group with a back-off of the caller's.
func NewGroupWith(client *Client, bases []string, opts GroupOptions) (*Group, error) {
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
	if opts.MinBackoff == 0 {
		opts.MinBackoff = time.Second
	}
	if opts.MaxBackoff <= 0 {
		opts.MaxBackoff = 30 * time.Second
	}
	opts.MaxBackoff = max(opts.MaxBackoff, opts.MinBackoff)
	if opts.Rand == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.Join(clean, ",")))
		opts.Rand = rand.New(rand.NewPCG(uint64(client.opts.Now().UnixNano()), h.Sum64())).Float64
	}
	return &Group{client: client, bases: clean, opts: opts, active: -1}, nil
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

// GetJSON fetches path (which starts with "/") from the active daemon and
// decodes the answer into v.
func (g *Group) GetJSON(ctx context.Context, path string, v any) error {
	return g.Get(ctx, path, "application/json", func(base string, body []byte) error {
		if err := Decode(body, v); err != nil {
			return &InvalidError{URL: base + path, Err: fmt.Errorf("decode the answer: %w", err)}
		}
		return nil
	})
}

// Get fetches path from the active daemon and hands the answer to use, with
// the base URL it came from. An error of use that is ErrStandby makes the next
// daemon be asked; any other is returned. While the group backs off, Get sends
// nothing and returns ErrBackoff together with the error that made it.
func (g *Group) Get(ctx context.Context, path, accept string, use func(base string, body []byte) error) error {
	first, err := g.start()
	if err != nil {
		return err
	}
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
	return g.noneAnswered(joined(failed))
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

func (g *Group) start() (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.retryAt.Sub(g.client.opts.Now()); g.failures > 0 && wait > 0 {
		return 0, fmt.Errorf("%w in %v: %w", ErrBackoff, wait.Round(time.Millisecond), g.last)
	}
	return max(g.active, 0), nil
}

func (g *Group) answered(at int, err error) {
	if errors.Is(err, ErrBudget) || errors.Is(err, context.Canceled) {
		return // nothing was sent, or nobody waited
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active, g.failures, g.last = at, 0, nil
}

func (g *Group) noneAnswered(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures++
	g.last = err
	g.retryAt = g.client.opts.Now().Add(g.backoff())
	return err
}

// backoff returns how long to wait after so many failures: between half and
// all of the doubled minimum.
func (g *Group) backoff() time.Duration {
	if g.opts.MinBackoff < 0 {
		return 0
	}
	d := g.opts.MinBackoff
	for i := 1; i < g.failures && d < g.opts.MaxBackoff; i++ {
		d *= 2
	}
	d = min(d, g.opts.MaxBackoff)
	return d/2 + time.Duration(g.opts.Rand()*float64(d/2))
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
