package relaylink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

const (
	// dialAgainAfter is the time between two tries to reach the relay.
	dialAgainAfter = 250 * time.Millisecond
	// maxPlans is how many applications are planned for at once. Further ones get an answer without plans.
	maxPlans = 256
)

// Loop is the part of the service's loop that a Client calls.
type Loop interface {
	// PlanApp applies what an application asks for, plans for it alone, and
	// hands all its plans to use before it returns, unless ctx ends first.
	PlanApp(ctx context.Context, asked model.Observation, app model.AppID, use func([]*model.Plan)) error
	// Offer queues an observation if there is room.
	Offer(o model.Observation)
}

// ClientOptions configure serve's end.
type ClientOptions struct {
	Path    string // of the relay's Unix socket
	Loop    Loop
	MaxAge  model.Duration                // for which the ResourceManager's state counts as fresh
	Ready   func(*snapshot.Snapshot) bool // whether plans rest on all sources; until then the relay keeps the view it has
	Version string
	Logger  hclog.Logger
}

// Client is serve's end: NewClient, Run. Update is for the loop.
type Client struct {
	opts  ClientOptions
	plans chan struct{} // has an element for each application that is planned for

	mu      sync.Mutex // guards what follows
	session *session   // nil while no relay is linked
	newest  *snapshot.Snapshot
	ready   bool
	asking  map[uint64]chan *model.Relay
	lastID  uint64
	shown   map[model.AppID]model.Time // when the rows were asked for that the relay has of an application, and may find too old
}

// NewClient opens nothing.
func NewClient(o ClientOptions) *Client {
	return &Client{opts: o, plans: make(chan struct{}, maxPlans), asking: map[uint64]chan *model.Relay{}, shown: map[model.AppID]model.Time{}}
}

// Update makes a snapshot the newest, and sends it to the relay. The loop calls it.
func (c *Client) Update(s *snapshot.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = s
	c.ready = c.ready || c.opts.Ready == nil || c.opts.Ready(s)
	if c.session != nil && c.ready {
		c.session.publish(s)
	}
	for app, had := range c.shown { // order-free: each alone
		a := s.App(app)
		if a == nil || a.HeldAt > had {
			delete(c.shown, app)
		}
		if a != nil && a.HeldAt > had && c.session != nil {
			c.session.send(&message{Rows: &outstandingRows{app, a.HeldAt, a.Held}})
		}
	}
}

// Linked reports whether a relay is linked.
func (c *Client) Linked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil
}

// Run links to the relay, again and again, until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	logged := "" // the last failure in the log
	for {
		linked, err := c.linkOnce(ctx)
		if linked {
			logged = ""
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was to end
		}
		if text := err.Error(); text != logged {
			logged = text
			c.opts.Logger.Warn("no relay is linked: nothing is steered; run 'heddle relay' with the same configuration", "socket", c.opts.Path, "error", err)
		}
		select {
		case <-time.After(dialAgainAfter):
		case <-ctx.Done():
		}
	}
}

// linkOnce serves one connection to its end.
func (c *Client) linkOnce(ctx context.Context) (linked bool, _ error) {
	dialer := net.Dialer{Timeout: greetWithin}
	conn, err := dialer.DialContext(ctx, "unix", c.opts.Path)
	if err != nil {
		return false, err
	}
	defer conn.Close() //nolint:errcheck // the session is over
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if unix, ok := conn.(*net.UnixConn); ok {
		if err := checkPeer(unix); err != nil {
			return false, err
		}
	}
	s := newSession(conn)
	s.views.maxAge = c.opts.MaxAge
	if err := errors.Join(s.sendHello(c.opts.Version), s.readHello()); err != nil {
		return false, err
	}
	c.opts.Logger.Info("a relay is linked", "pid", s.peer.PID, "version", s.peer.Version)
	c.join(s)
	defer c.leave()
	err = s.run(ctx, func(m *message) error { return c.use(ctx, s, m) })
	return true, fmt.Errorf("the relay is gone: %w", err)
}

func (c *Client) join(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	clear(c.shown)
	if c.ready {
		s.publish(c.newest)
	}
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	for id, answer := range c.asking { // order-free: each alone
		close(answer)
		delete(c.asking, id)
	}
}

// use takes a message of the relay.
func (c *Client) use(ctx context.Context, s *session, m *message) error {
	switch {
	case m.Asks != nil:
		c.opts.Loop.Offer(observed(m.Asks.App, m.Asks.At, m.Asks.Rows, m.Asks.Relayed))
	case m.PlanRequest != nil:
		select {
		case c.plans <- struct{}{}:
			go c.plan(ctx, s, m.PlanRequest)
		default:
			s.send(&message{Plans: &planAnswer{ID: m.PlanRequest.ID}})
		}
	case m.RowsQuery != nil:
		c.sendRows(s, m.RowsQuery.App)
	case m.Status != nil:
		c.answered(m.Status)
	default:
		return errors.New("a message is not one that a relay sends")
	}
	return nil
}

func observed(app model.AppID, at model.Time, rows []model.AskRow, done model.Relayed) model.Observation {
	return model.Observation{Source: model.SourceRelay, At: at, Fact: model.AsksFact{App: app, Rows: rows, Relayed: done}}
}

// plan has the loop plan for one application. The answer is queued in the loop's goroutine, so that a view with these
// plans follows it.
func (c *Client) plan(ctx context.Context, s *session, p *planRequest) {
	defer func() { <-c.plans }()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Within)*time.Millisecond)
	defer cancel()
	c.mu.Lock()
	ready := c.ready
	c.mu.Unlock()
	answer := func(plans []*model.Plan) {
		a := &planAnswer{ID: p.ID}
		for _, of := range plans {
			if ready && restricts(of) {
				a.Targets = append(a.Targets, targetOf(of))
			}
		}
		s.send(&message{Plans: a})
	}
	if err := c.opts.Loop.PlanApp(ctx, observed(p.App, p.At, p.Rows, model.Relayed{}), p.App, answer); err != nil {
		s.send(&message{Plans: &planAnswer{ID: p.ID}}) // the relay sends the call on as it came
	}
}

// sendRows sends what the ResourceManager last showed of an application. Update sends its next answer, and never an older
// one after it.
func (c *Client) sendRows(s *session, app model.AppID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := &outstandingRows{App: app}
	if c.newest != nil {
		if a := c.newest.App(app); a != nil && a.Held != nil {
			of.Rows, of.At = a.Held, a.HeldAt
		}
		c.shown[app] = of.At
	}
	s.send(&message{Rows: of})
}

// ErrNotLinked is the error of Status while no relay is linked.
var ErrNotLinked = errors.New("no relay is linked: run 'heddle relay' with the same configuration")

// Status asks the relay what it does, with the attempts of an application, of all with "", from an offset on and so many at
// most.
func (c *Client) Status(ctx context.Context, app model.AppID, offset, limit int) (*model.Relay, error) {
	answer := make(chan *model.Relay, 1)
	c.mu.Lock()
	if c.session == nil {
		c.mu.Unlock()
		return nil, ErrNotLinked
	}
	c.lastID++
	id := c.lastID
	c.asking[id] = answer
	sent := c.session.send(&message{StatusQuery: &statusQuery{id, app, offset, limit}})
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, id)
	}()
	if !sent {
		return nil, errors.New("the relay takes no questions: it hangs")
	}
	select {
	case r := <-answer:
		if r == nil {
			return nil, ErrNotLinked
		}
		return r, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the relay does not answer: %w", ctx.Err())
	}
}

// answered hands an answer to who waits for it.
func (c *Client) answered(s *status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asking[s.ID]; answer != nil {
		answer <- s.Relay
		delete(c.asking, s.ID)
	}
}
