package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarnproxy/rest"
)

// pair is a set of daemons by host:port, each in one mode at a time.
type pair struct {
	mu    sync.Mutex
	mode  map[string]string
	asked []string
}

func (p *pair) set(host, mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode[host] = mode
}

func (p *pair) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Host)
	resp := &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}}}
	body := fmt.Sprintf(`{"host":%q}`, r.URL.Host)
	switch p.mode[r.URL.Host] {
	case "down":
		return nil, errors.New("connect: connection refused")
	case "standby":
		resp.StatusCode, resp.Header = 307, http.Header{"Refresh": {"5;url=x"}}
		body = "Can not find any active RM. Will retry in next 5 seconds.\n"
	case "broken":
		body = `{"host":`
	case "missing":
		resp.StatusCode = 404
	case "hangs":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// takeAsked returns the hosts asked since the last call.
func (p *pair) takeAsked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.asked, " ")
	p.asked = nil
	return out
}

func newGroup(t *testing.T, p *pair, bases ...string) *rest.Group {
	t.Helper()
	c := rest.New(rest.Options{Base: p, Timeout: time.Second})
	g, err := rest.NewGroup(c, bases)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func getJSON(ctx context.Context, g *rest.Group, path string, v any) error {
	return g.Get(ctx, path, "application/json", func(base string, body []byte) error {
		if err := rest.Decode(body, v); err != nil {
			return &rest.InvalidError{URL: base + path, Err: err}
		}
		return nil
	})
}

func TestGroupFindsTheActiveOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{mode: map[string]string{"rm1:8088": "standby"}}
		g := newGroup(t, p, "http://rm1:8088/", "http://rm2:8088", "http://rm3:8088")
		get := func() (string, error) {
			var v struct{ Host string }
			err := getJSON(t.Context(), g, "/ws/v1/cluster/apps", &v)
			return v.Host, err
		}
		expect := func(wantHost, wantAsked string) {
			t.Helper()
			host, err := get()
			if err != nil || host != wantHost {
				t.Errorf("answer of %q, error %v, want %s", host, err, wantHost)
			}
			if asked := p.takeAsked(); asked != wantAsked {
				t.Errorf("asked %q, want %q", asked, wantAsked)
			}
			if want := "http://" + wantHost; g.Active() != want {
				t.Errorf("active %q, want %q", g.Active(), want)
			}
		}
		if g.Active() != "" {
			t.Errorf("active %q before any answer", g.Active())
		}
		expect("rm2:8088", "rm1:8088 rm2:8088")
		expect("rm2:8088", "rm2:8088") // remembered
		p.set("rm2:8088", "down")
		expect("rm3:8088", "rm2:8088 rm3:8088")
		p.set("rm3:8088", "hangs")
		p.set("rm1:8088", "")
		expect("rm1:8088", "rm3:8088 rm1:8088") // after the timeout of one request

		// An answer of the active one is an answer, also a bad one.
		for mode, target := range map[string]any{"missing": new(*rest.StatusError), "broken": new(*rest.InvalidError)} {
			p.set("rm1:8088", mode)
			if _, err := get(); !errors.As(err, target) {
				t.Errorf("%s: error %v", mode, err)
			}
			if asked := p.takeAsked(); asked != "rm1:8088" {
				t.Errorf("%s: asked %q", mode, asked)
			}
		}
	})
}

// TestGroupNoneAnswers: each daemon is asked once, and the error is all of theirs.
func TestGroupNoneAnswers(t *testing.T) {
	t.Parallel()
	p := &pair{mode: map[string]string{"rm1:8088": "standby", "rm2:8088": "down"}}
	g := newGroup(t, p, "http://rm1:8088", "http://rm2:8088")
	var v any
	for range 2 {
		err := getJSON(t.Context(), g, "/x", &v)
		if !errors.Is(err, rest.ErrStandby) || !strings.Contains(err.Error(), "connection refused") {
			t.Fatalf("error %v, want both daemons' in it", err)
		}
		if asked := p.takeAsked(); asked != "rm1:8088 rm2:8088" {
			t.Errorf("asked %q", asked)
		}
	}
	p.set("rm1:8088", "")
	if err := getJSON(t.Context(), g, "/x", &v); err != nil {
		t.Fatalf("error %v after the daemon came back", err)
	}
}

func TestGroupCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{mode: map[string]string{"rm1:8088": "hangs"}}
		g := newGroup(t, p, "http://rm1:8088", "http://rm2:8088")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		var v any
		if err := getJSON(ctx, g, "/x", &v); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := getJSON(short, g, "/x", &v); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		if err := getJSON(short, g, "/x", &v); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rest.ErrBudget) {
			t.Errorf("error %v with a context that has ended", err)
		}
		if asked := p.takeAsked(); asked != "rm1:8088 rm1:8088" {
			t.Errorf("asked %q after the caller gave up", asked)
		}
		p.set("rm1:8088", "")
		if err := getJSON(t.Context(), g, "/x", &v); err != nil {
			t.Fatalf("error %v: a caller that gave up says nothing of the daemon", err)
		}
		if asked := p.takeAsked(); asked != "rm1:8088" {
			t.Errorf("asked %q", asked)
		}
	})
}

// TestGroupUse: the caller can find out that a daemon is not the active one
// from an answer that every daemon gives.
func TestGroupUse(t *testing.T) {
	t.Parallel()
	p := &pair{mode: map[string]string{}}
	g := newGroup(t, p, "http://rm1:8088", "http://rm2:8088")
	err := g.Get(t.Context(), "/info", "application/json", func(base string, _ []byte) error {
		if base == "http://rm1:8088" {
			return fmt.Errorf("%s: %w", base, rest.ErrStandby)
		}
		return nil
	})
	if err != nil || g.Active() != "http://rm2:8088" {
		t.Errorf("active %q, error %v", g.Active(), err)
	}
}

func TestNewGroupRefuses(t *testing.T) {
	t.Parallel()
	c := rest.New(rest.Options{})
	for _, bases := range [][]string{nil, {"rm1:8088"}, {"http://"}, {"ftp://rm1"}, {"http://rm1?x=1"}, {"http://rm1", "::"}} {
		if _, err := rest.NewGroup(c, bases); err == nil {
			t.Errorf("%q was taken", bases)
		}
	}
}

func TestAllowBases(t *testing.T) {
	t.Parallel()
	allowed := rest.AllowBases([]string{"http://RM1:8088", "https://rm2", "http://[::1]:80"})
	for host, want := range map[string]bool{"rm1:8088": true, "rm2:443": true, "[::1]:80": true, "rm2:80": false, "rm3:8088": false, "": false} {
		if allowed(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
