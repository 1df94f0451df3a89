// Package rest fetches from Hadoop's HTTP services: with a timeout, a limit on
// the size of an answer, a budget of requests and bytes per second, SPNEGO or
// simple authentication, and no redirect that was not allowed. It is shared by
// the adapters that read Hadoop over HTTP and knows none of their resources.
//
// A failed fetch returns one of the package's error types; FromError turns any
// of them into the model.PollResult it stands for.
package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"heddle/core/model"
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
	Now      func() time.Time  // default time.Now
}

// Authenticator adds credentials to a request (SPNEGO).
type Authenticator interface {
	Authenticate(req *http.Request) error
}

// ErrStandby is returned when a daemon says it is not the active one, in any
// of the forms of users.md 5.2.
var ErrStandby = errors.New("not the active one")

// ErrBudget is returned when the request or byte budget does not admit another
// request before the context ends.
var ErrBudget = errors.New("request or byte budget spent")

// StatusError is an answer with a status other than 2xx.
type StatusError struct {
	URL       string
	Status    int
	Exception string // of Hadoop's RemoteException, "" if the body held none
	Message   string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Exception != "" {
		return fmt.Sprintf("GET %s: status %d: %s: %s", e.URL, e.Status, e.Exception, e.Message)
	}
	return fmt.Sprintf("GET %s: status %d %s", e.URL, e.Status, e.Message)
}

// InvalidError is an answer that cannot be used: too large, cut off, of the
// wrong content type, or not the JSON that was expected.
type InvalidError struct {
	URL string
	Err error
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("GET %s: %v", e.URL, e.Err) }

// Unwrap implements errors' unwrapping.
func (e *InvalidError) Unwrap() error { return e.Err }

// RedirectError is a redirect that was not followed.
type RedirectError struct {
	URL      string
	Location string
}

// Error implements error.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("GET %s: redirects to %s, which is not allowed", e.URL, e.Location)
}

// FromError returns the poll result an error of this package stands for.
func FromError(err error) model.PollResult {
	var status *StatusError
	var invalid *InvalidError
	var redirect *RedirectError
	switch {
	case err == nil:
		return model.PollOK
	case errors.Is(err, ErrStandby):
		return model.PollStandby
	case errors.Is(err, ErrBudget):
		return model.PollBudget
	case errors.As(err, &status):
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			return model.PollDenied
		}
		return model.PollError
	case errors.As(err, &invalid), errors.As(err, &redirect):
		return model.PollInvalid
	}
	return model.PollUnreachable
}

// Client fetches from one service. It is safe for concurrent use.
type Client struct {
	opts Options
	http *http.Client
}

// New builds a client.
func New(opts Options) *Client { panic("being written") }

// Get fetches url and returns the body. The answer's content type must start
// with accept (such as "application/json"), which is also sent as Accept.
func (c *Client) Get(ctx context.Context, url, accept string) ([]byte, error) { panic("being written") }

// GetJSON fetches url and decodes the JSON answer into v.
func (c *Client) GetJSON(ctx context.Context, url string, v any) error { panic("being written") }

// Usage is what a client has cost its service so far.
type Usage struct {
	Requests int64
	Bytes    model.Bytes // received
}

// Usage returns the totals since the client was made.
func (c *Client) Usage() Usage { panic("being written") }

// Budget limits requests and received bytes per second (I10). Each is a token
// bucket that holds at most a few seconds of its rate. Bytes are charged after
// an answer arrives; a debt delays the next request.
type Budget struct{}

// NewBudget builds a budget; a rate of 0 or below is unlimited.
func NewBudget(requestsPerSecond float64, bytesPerSecond model.Bytes) *Budget { panic("being written") }

// Group finds the active one of several equal daemons: it remembers the base
// URL that answered last, tries the others after ErrStandby or a connection
// failure, and backs off with jitter when none answers. Safe for concurrent use.
type Group struct{}

// NewGroup builds a group over base URLs such as "http://rm1:8088".
func NewGroup(client *Client, bases []string) (*Group, error) { panic("being written") }

// GetJSON fetches path (which starts with "/") from the active daemon.
func (g *Group) GetJSON(ctx context.Context, path string, v any) error { panic("being written") }

// Active returns the base URL that answered last, or "" before any did.
func (g *Group) Active() string { panic("being written") }

// Number is a JSON number that may come as a number, as a string of digits, as
// "NaN" or "Infinity", or not at all.
type Number float64

// UnmarshalJSON implements json.Unmarshaler: null, "" and NaN become 0.
func (n *Number) UnmarshalJSON(data []byte) error { panic("being written") }

// List is a JSON list that may be an array, a single element in place of a
// list of one, {}, "" or null.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[T]) UnmarshalJSON(data []byte) error { panic("being written") }
