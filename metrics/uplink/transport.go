package uplink

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// errTooLarge is met when an answer is longer than the limit.
var errTooLarge = errors.New("answer too large")

// errDenied is returned when Prometheus, or a proxy before it, refuses a request.
var errDenied = errors.New("denied")

// transport counts requests and bytes, ends answers that are too large, and
// turns refusals into errDenied.
type transport struct {
	next     http.RoundTripper
	limit    int64
	requests atomic.Int64
	bytes    atomic.Int64
}

// usage returns what Prometheus was asked so far.
func (t *transport) usage() rest.Usage {
	return rest.Usage{Requests: t.requests.Load(), Bytes: model.Bytes(t.bytes.Load())}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// A POST that is forbidden is sent again as a GET by the client.
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden && r.Method == http.MethodGet {
		_ = resp.Body.Close() // its error would say nothing more
		return nil, fmt.Errorf("status %d: %w", resp.StatusCode, errDenied)
	}
	resp.Body = &limitedBody{from: resp.Body, left: t.limit, t: t}
	return resp, nil
}

// limitedBody reads at most left bytes and then fails.
type limitedBody struct {
	from io.ReadCloser
	left int64
	t    *transport
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, b.t.limit)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	b.t.bytes.Add(int64(n))
	if b.left < 0 {
		return n, fmt.Errorf("%w: more than %d bytes", errTooLarge, b.t.limit)
	}
	return n, err
}

// Close implements io.Closer.
func (b *limitedBody) Close() error { return b.from.Close() }
