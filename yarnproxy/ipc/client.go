package ipc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Options say how a Client calls.
type Options struct {
	User     string        // who calls, by simple authentication
	Protocol string        // such as org.apache.hadoop.hdfs.protocol.ClientProtocol
	Version  uint64        // of the protocol; 0 is 1, which all of Hadoop's have
	Timeout  time.Duration // of dialling, and of one call; default 10 s
	MaxCalls int           // how many calls run at once, others wait; default 32
	// MaxResponse is the longest answer in bytes; default MaxFrame.
	MaxResponse int
	// DialContext opens the connection; default: a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls the methods of one protocol over one connection, with simple
// authentication. It is safe for concurrent use. It does not reconnect: once
// Err is not nil, every call fails.
type Client struct {
	address string
	opts    Options
	id      [16]byte
	conn    net.Conn
	slots   chan struct{} // one for each call that runs
	lock    chan struct{} // guards writes to conn; holds a token while it is free
	ended   chan struct{} // closed when the reader has ended

	mu      sync.Mutex
	next    int32
	waiting map[int32]chan<- answer
	err     error
}

type answer struct {
	body []byte
	err  error
}

// ErrClosed is the error of calls on a client that Close has ended.
var ErrClosed = errors.New("hadoop rpc: the client is closed")

// RemoteError is the answer of a server that a call failed.
type RemoteError struct {
	Class   string // of the exception, in Java's full spelling
	Message string
	Fatal   bool // the server has closed the connection
}

// Error implements error. Only the first line of the message is in it: the rest is Java's stack.
func (e *RemoteError) Error() string {
	line, _, _ := strings.Cut(e.Message, "\n")
	return e.Class + ": " + line
}

// Standby reports whether another server of a high-availability pair is to be asked.
func (e *RemoteError) Standby() bool { return e.Class == "org.apache.hadoop.ipc.StandbyException" }

// Retriable reports whether the same server may answer later.
func (e *RemoteError) Retriable() bool { return e.Class == "org.apache.hadoop.ipc.RetriableException" }

// Dial connects to a server. That the server lets the user in shows with the
// first call only.
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	o.Version = cmp.Or(o.Version, 1)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxCalls = cmp.Or(o.MaxCalls, 32)
	o.MaxResponse = cmp.Or(o.MaxResponse, MaxFrame)
	if o.DialContext == nil {
		o.DialContext = (&net.Dialer{}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	conn, err := o.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c := &Client{
		address: address, opts: o, conn: conn, waiting: make(map[int32]chan<- answer),
		slots: make(chan struct{}, o.MaxCalls), lock: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	c.lock <- struct{}{}
	_, _ = rand.Read(c.id[:]) // never fails
	go c.read()
	hello := AppendPreamble(nil, Preamble{Version: rpcVersion, Auth: AuthNone})
	hello = AppendRequest(hello, ContextHeader(c.id[:]), nil, AppendContext(nil, Context{User: []byte(o.User), Protocol: []byte(o.Protocol)}))
	if err := c.write(ctx, hello); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return c, nil
}

// Call calls a method with an encoded request message and returns the encoded
// answer, which is the caller's. It returns at the latest when ctx or the
// timeout ends. Its error is a *RemoteError when the server answered so.
func (c *Client) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	body, err := c.call(ctx, method, request)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", method, c.address, err)
	}
	return body, nil
}

func (c *Client) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.ended:
		return nil, c.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	id, answered, err := c.register()
	if err != nil {
		return nil, err
	}
	defer c.unregister(id)
	call := Call{Method: []byte(method), Protocol: []byte(c.opts.Protocol), Version: c.opts.Version}
	if err := c.write(ctx, AppendRequest(nil, CallHeader(id, c.id[:]), &call, request)); err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Err returns why the connection cannot be used any more, nil when it can.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and all calls that run.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	<-c.ended
	return nil
}

// register returns the id of a new call and where its answer will come.
func (c *Client) register() (int32, <-chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	id := c.next
	c.next = (c.next + 1) & 0x7FFFFFFF // negative ids have a meaning of their own
	answered := make(chan answer, 1)
	c.waiting[id] = answered
	return id, answered, nil
}

func (c *Client) unregister(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// fail ends the connection: the first reason counts.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	_ = c.conn.Close()
	for id, waiting := range c.waiting {
		waiting <- answer{err: err}
		delete(c.waiting, id)
	}
}

// write sends frames. When ctx ends in the middle the connection does too:
// the server could not find the beginning of the next frame.
func (c *Client) write(ctx context.Context, frames []byte) error {
	select {
	case <-c.lock:
		defer func() { c.lock <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil { // nothing is sent yet
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.fail(fmt.Errorf("a request was cut off: %w", ctx.Err())) })
	defer stop()
	if _, err := c.conn.Write(frames); err != nil {
		c.fail(fmt.Errorf("write: %w", err))
		return c.Err()
	}
	return nil
}

// read delivers answers to the calls that wait for them, until the connection ends.
func (c *Client) read() {
	defer close(c.ended)
	frames := NewReader(c.conn, c.opts.MaxResponse)
	for {
		frame, err := frames.Next()
		if err == nil {
			err = c.deliver(frame[prefixLen:])
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the server closed the connection")
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// deliver hands one response on. An error ends the connection.
func (c *Client) deliver(payload []byte) error {
	h, body, err := ParseResponse(payload)
	if err != nil {
		return err
	}
	if len(h.ClientID) > 0 && !bytes.Equal(h.ClientID, c.id[:]) { // as Client.checkResponse
		return &ParseError{"response header", "the client id of another"}
	}
	a := answer{body: bytes.Clone(body)}
	if h.Status != StatusSuccess {
		a.err = &RemoteError{Class: string(h.Exception), Message: string(h.Message), Fatal: h.Status == StatusFatal}
	}
	if h.Status == StatusFatal {
		return a.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.waiting[h.CallID]; ok { // otherwise it is late: the call has given up
		waiting <- a
		delete(c.waiting, h.CallID)
	}
	return nil
}
