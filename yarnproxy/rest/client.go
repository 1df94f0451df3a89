// Package rest fetches from Hadoop's HTTP services: with a timeout, a limit on
// the size of an answer, a budget of requests and bytes per second, SPNEGO or
// simple authentication, and no redirect that was not allowed. It is shared by
// the adapters that read Hadoop over HTTP and knows none of their resources.
//
// A failed fetch returns one of the package's error types; FromError turns any
// of them into the model.PollResult it stands for.
package rest

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"heddle/core/model"
)

const (
	defaultTimeout  = 10 * time.Second
	defaultMaxBytes = 64 << 20
	maxHops         = 3        // redirects followed for one fetch
	errorBodyBytes  = 64 << 10 // read of an answer that carries no data
)

// Options configure a Client. The zero value of each field means its default.
type Options struct {
	Timeout  time.Duration     // of one request, headers to last byte; default 10 s
	MaxBytes int64             // largest answer accepted, after decompression; default 64 MiB
	User     string            // user.name of simple authentication; empty sends none
	Auth     Authenticator     // SPNEGO; nil sends none
	Budget   *Budget           // shared by every request of the client; nil is unlimited
	Allowed  func(string) bool // whether a redirect to this host:port may be followed; nil follows none
	Base     http.RoundTripper // default: a transport of the client's own
}

// Authenticator adds credentials to a request (SPNEGO).
type Authenticator interface {
	Authenticate(req *http.Request) error
}

// Client fetches from one service. It is safe for concurrent use.
type Client struct {
	opts     Options
	http     *http.Client
	requests atomic.Int64
	bytes    atomic.Int64
}

// New builds a client.
func New(opts Options) *Client {
	opts.Timeout = cmp.Or(max(opts.Timeout, 0), defaultTimeout)
	opts.MaxBytes = cmp.Or(max(opts.MaxBytes, 0), defaultMaxBytes)
	if opts.Base == nil {
		opts.Base = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: opts.Timeout, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    4,
			MaxIdleConns:           16,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    opts.Timeout,
			MaxResponseHeaderBytes: 256 << 10,
			DisableCompression:     true, // done here, so that received bytes are counted
		}
	}
	return &Client{opts: opts, http: &http.Client{
		Transport: opts.Base,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Usage is what a client has cost its service so far.
type Usage struct {
	Requests int64
	Bytes    model.Bytes // received, as they came over the wire
}

// Usage returns the totals since the client was made.
func (c *Client) Usage() Usage {
	return Usage{Requests: c.requests.Load(), Bytes: model.Bytes(c.bytes.Load())}
}

// Get fetches url and returns the body. The answer's media type must be accept
// (such as "application/json"), which is also sent as Accept; an empty accept
// allows any. At most three redirects are followed, and only to a host that
// Options.Allowed names; credentials for one host are never sent to another.
func (c *Client) Get(ctx context.Context, url, accept string) ([]byte, error) {
	at := url
	for hop := 0; ; hop++ {
		body, location, err := c.once(ctx, at, accept, sameHost(url, at))
		if err != nil || location == "" {
			return body, err
		}
		if hop == maxHops {
			return nil, &InvalidError{URL: url, Err: fmt.Errorf("more than %d redirects, the last to %s", maxHops, location)}
		}
		at = location
	}
}

// GetDecoded fetches JSON from url and decodes it. An error of decode becomes an
// InvalidError, beside the value that decode returned with it.
func GetDecoded[T any](ctx context.Context, c *Client, url string, decode func([]byte) (T, error)) (value T, err error) {
	body, err := c.Get(ctx, url, "application/json")
	if err != nil {
		return value, err
	}
	if value, err = decode(body); err != nil {
		err = &InvalidError{URL: url, Err: err}
	}
	return value, err
}

// once sends one request. It returns a body, or the place of an allowed
// redirect, or an error.
func (c *Client) once(ctx context.Context, at, accept string, first bool) ([]byte, string, error) {
	if err := c.opts.Budget.Wait(ctx); err != nil {
		return nil, "", fmt.Errorf("GET %s: %w", at, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req, err := c.request(ctx, at, accept, first)
	if err != nil {
		return nil, "", err
	}
	c.requests.Add(1)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, "", c.unreachable(ctx, at, err)
	}
	counter := &countingReader{from: resp.Body}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{counter, resp.Body}
	defer func() {
		_ = resp.Body.Close() // read to its end, or of no more use
		c.bytes.Add(counter.n)
		c.opts.Budget.Charge(counter.n)
	}()
	return c.answer(ctx, at, accept, resp)
}

// request builds a request with the credentials that belong to its host.
func (c *Client) request(ctx context.Context, at, accept string, first bool) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, &InvalidError{URL: at, Err: err}
	}
	req.Header.Set("Accept", cmp.Or(accept, "*/*"))
	req.Header.Set("Accept-Encoding", "gzip")
	if c.opts.User != "" && first {
		if q := req.URL.Query(); !q.Has("user.name") {
			// Appended, because re-encoding would touch commas that Hadoop reads.
			req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&", "&") + "user.name=" + url.QueryEscape(c.opts.User)
		}
	}
	if c.opts.Auth != nil {
		// A ticket is made for one host, so another host gets another ticket.
		if err := c.opts.Auth.Authenticate(req); err != nil {
			return nil, &AuthError{URL: at, Err: err}
		}
	}
	return req, nil
}

// answer sorts an answer into a body, a redirect to follow, or an error.
func (c *Client) answer(ctx context.Context, at, accept string, resp *http.Response) ([]byte, string, error) {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		location, err := c.redirect(ctx, at, resp)
		return nil, location, err
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		body, _ := c.read(ctx, at, resp, errorBodyBytes) // what there is of a reason
		return nil, "", statusError(at, resp, body)
	}
	got := resp.Header.Get("Content-Type")
	if !matches(got, accept) {
		head, _ := c.read(ctx, at, resp, errorBodyBytes)
		if standbyText(head) || resp.Header.Get("Refresh") != "" {
			return nil, "", fmt.Errorf("GET %s: %w: %s", at, ErrStandby, excerpt(head))
		}
		return nil, "", &InvalidError{URL: at, Err: fmt.Errorf("content type %q, want %s: %s", got, accept, excerpt(head))}
	}
	body, err := c.read(ctx, at, resp, c.opts.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	if !isJSON(got) && standbyText(body) {
		return nil, "", fmt.Errorf("GET %s: %w: %s", at, ErrStandby, excerpt(body))
	}
	return body, "", nil
}

// redirect returns where to go after a 3xx answer.
func (c *Client) redirect(ctx context.Context, at string, resp *http.Response) (string, error) {
	head, _ := c.read(ctx, at, resp, errorBodyBytes)
	standby := standbyText(head)
	location := resp.Header.Get("Location")
	if location == "" {
		if standby || resp.Header.Get("Refresh") != "" {
			return "", fmt.Errorf("GET %s: %w: %s", at, ErrStandby, excerpt(head))
		}
		return "", statusError(at, resp, head)
	}
	target, err := resp.Location()
	if err != nil {
		return "", &InvalidError{URL: at, Err: fmt.Errorf("redirect: %w", err)}
	}
	web := target.Scheme == "http" || target.Scheme == "https"
	downgrade := strings.HasPrefix(at, "https:") && target.Scheme == "http"
	if !web || downgrade || c.opts.Allowed == nil || !c.opts.Allowed(hostPort(target)) {
		refused := &RedirectError{URL: at, Location: target.String()}
		if standby {
			return "", fmt.Errorf("%w: %w", ErrStandby, refused)
		}
		return "", refused
	}
	return target.String(), nil
}

// read reads at most limit bytes of an answer, counted after decompression.
func (c *Client) read(ctx context.Context, at string, resp *http.Response, limit int64) ([]byte, error) {
	var from io.Reader = resp.Body
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		zr, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, c.broken(ctx, at, err)
		}
		from = zr
	}
	body, err := io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], &InvalidError{URL: at, Err: fmt.Errorf("answer larger than %d bytes: raise the limit or ask for less", limit)}
	}
	if err != nil {
		return body, c.broken(ctx, at, err)
	}
	return body, nil
}

// broken is the error of an answer that ended before its end.
func (c *Client) broken(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return c.unreachable(ctx, at, err)
	}
	return &InvalidError{URL: at, Err: fmt.Errorf("answer cut off: %w", err)}
}

// unreachable is the error of a request that no answer came to.
func (c *Client) unreachable(ctx context.Context, at string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // its text repeats method and URL
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("GET %s: no whole answer within %v: %w", at, c.opts.Timeout, context.DeadlineExceeded)
	}
	return fmt.Errorf("GET %s: %w", at, err)
}

// countingReader counts what is read through it.
type countingReader struct {
	from io.Reader
	n    int64
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	return n, err
}

func matches(contentType, accept string) bool {
	if accept == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == accept
}

func isJSON(contentType string) bool { return matches(contentType, "application/json") }

func sameHost(a, b string) bool {
	ua, errA := url.Parse(a)
	ub, errB := url.Parse(b)
	return errA == nil && errB == nil && ua.Scheme == ub.Scheme && hostPort(ua) == hostPort(ub)
}

// hostPort returns a URL's host:port in lower case, with the scheme's port
// where none is written.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

// systemClock is the clock of callers that bring none.
func systemClock() func() time.Time {
	return time.Now //nolint:forbidigo // the one default of the package; tests and replays bring their own
}
