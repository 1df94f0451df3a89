package hdfsclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"heddle/core/model"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/rest"
)

// clientProtocol is the NameNode's (ClientNamenodeProtocolPB).
const clientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

// native reads the namespace and the block locations together, by getListing
// with needLocation over ClientProtocol: one request for as many files as
// have dfs.ls.limit replicas, where WebHDFS takes one for each file. It keeps one
// connection, to the NameNode that answered last. It is safe for concurrent use.
type native struct {
	addresses []string // in the order they are tried
	options   ipc.Options
	budget    *rest.Budget // nil is unlimited

	lock   chan struct{} // guards the next two; holds a token while it is free
	client *ipc.Client   // nil before the first call and after a failure
	active int           // of addresses

	requests, bytes atomic.Int64
	decoders        chan *decoder
}

var (
	_ BlockLocator = (*native)(nil)
	_ namespace    = (*native)(nil)
)

func newNative(cfg Config, opts Options) (*native, error) {
	if opts.Kerberos != nil {
		return nil, fmt.Errorf("walk %q speaks simple authentication only; use %q or %q with Kerberos", WalkNative, WalkRPC, WalkWebHDFS)
	}
	if cfg.User == "" {
		return nil, errors.New("no User given, but RPC without Kerberos needs one")
	}
	n := &native{
		addresses: append([]string(nil), cfg.RPCAddresses...), budget: opts.Budget, lock: make(chan struct{}, 1),
		decoders: make(chan *decoder, cfg.Concurrency),
	}
	n.lock <- struct{}{}
	for range cfg.Concurrency {
		n.decoders <- newDecoder()
	}
	n.options = ipc.Options{
		User: cfg.User, Protocol: clientProtocol, Timeout: cfg.Timeout, MaxCalls: cfg.Concurrency,
		MaxResponse: int(min(cfg.MaxBytes, ipc.MaxFrame)),
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn, received: &n.bytes}, nil
		},
	}
	return n, nil
}

// countedConn counts what it receives.
type countedConn struct {
	net.Conn
	received *atomic.Int64
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func (n *native) close() error {
	<-n.lock
	defer func() { n.lock <- struct{}{} }()
	if n.client == nil {
		return nil
	}
	err := n.client.Close()
	n.client = nil
	return err
}

// connection returns the connection to the active NameNode, and which that is.
func (n *native) connection(ctx context.Context) (*ipc.Client, int, error) {
	select {
	case <-n.lock:
		defer func() { n.lock <- struct{}{} }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if n.client != nil && n.client.Err() != nil {
		_ = n.client.Close()
		n.client = nil
	}
	var err error
	if n.client == nil {
		n.client, err = ipc.Dial(ctx, n.addresses[n.active], n.options)
	}
	return n.client, n.active, err
}

// switchNameNode makes the next NameNode the active one, unless another call has done so.
func (n *native) switchNameNode(ctx context.Context, active int) {
	select {
	case <-n.lock:
		defer func() { n.lock <- struct{}{} }()
	case <-ctx.Done():
		return
	}
	if n.active != active {
		return
	}
	n.active = (n.active + 1) % len(n.addresses)
	if n.client != nil {
		_ = n.client.Close()
		n.client = nil
	}
}

// call asks the active NameNode, then each other one, and then the first again,
// since only its connection may have failed. An exception of the active NameNode
// becomes an error of this package.
func (n *native) call(ctx context.Context, path, method string, request []byte) ([]byte, error) {
	var standby, starting, failed error
	for range len(n.addresses) + 1 {
		if err := n.budget.Wait(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		client, active, err := n.connection(ctx)
		var body []byte
		if err == nil {
			n.requests.Add(1)
			body, err = client.Call(ctx, method, request)
			n.budget.Charge(int64(len(body)))
		}
		remote, answered := errors.AsType[*ipc.RemoteError](err)
		_, tooLong := errors.AsType[*ipc.FrameError](err)
		switch {
		case err == nil:
			return body, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case tooLong:
			return nil, &rest.InvalidError{URL: n.addresses[active] + path, Err: err}
		case answered && remote.Standby():
			standby = err
		case answered && remote.Retriable() && isStartup(remote.Message):
			starting = &SafeModeError{Message: firstLine(remote.Message)}
		case answered:
			return nil, n.namenodeError(path, active, remote, err)
		default:
			failed = err
		}
		n.switchNameNode(ctx, active)
	}
	switch {
	case starting != nil:
		return nil, starting
	case standby != nil:
		return nil, fmt.Errorf("%s: %w: %w", path, rest.ErrStandby, standby)
	}
	return nil, fmt.Errorf("%s over RPC: %w", path, failed)
}

// namenodeError returns the package's error for a NameNode's exception.
func (n *native) namenodeError(path string, active int, remote *ipc.RemoteError, err error) error {
	name := remote.Class[strings.LastIndexByte(remote.Class, '.')+1:]
	if remote.Fatal && name == "AccessControlException" { // "SIMPLE authentication is not enabled"
		return fmt.Errorf("%s: %w", path, &rest.AuthError{URL: n.addresses[active], Err: err})
	}
	if typed := fromException(path, name, remote.Message); typed != nil {
		return typed
	}
	return fmt.Errorf("%s: %w", path, err)
}

// callPath calls a method and decodes its answer.
func (n *native) callPath(ctx context.Context, path, method string, request []byte, use func(d *decoder, body []byte) error) error {
	body, err := n.call(ctx, path, method, request)
	if err != nil {
		return err
	}
	var d *decoder
	select {
	case d = <-n.decoders:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", path, ctx.Err())
	}
	defer func() { n.decoders <- d }()
	if err := use(d, body); err != nil {
		return &rest.InvalidError{URL: method + " " + path, Err: err}
	}
	return nil
}

// page asks for the entries of path that come after a name.
func (n *native) page(ctx context.Context, path, after string, locations bool) (nativePage, error) {
	var p nativePage
	err := n.callPath(ctx, path, "getListing", listingRequest(path, after, locations), func(d *decoder, body []byte) (err error) {
		p, err = d.listing(body, path)
		return err
	})
	if err == nil && !p.found {
		err = &NotFoundError{Path: path}
	}
	return p, err
}

// stat implements namespace.
func (n *native) stat(ctx context.Context, path string) (fileStatus, error) {
	var f *fileStatus
	err := n.callPath(ctx, path, "getFileInfo", pathRequest(path), func(d *decoder, body []byte) (err error) {
		f, err = d.status(body, path)
		return err
	})
	switch {
	case err != nil:
		return fileStatus{}, err
	case f == nil:
		return fileStatus{}, &NotFoundError{Path: path}
	case f.directory:
		return *f, nil
	}
	p, err := n.page(ctx, path, "", true)
	if err == nil && p.self != nil {
		return *p.self, nil
	}
	if _, tooLong := errors.AsType[*ipc.FrameError](err); err != nil && !tooLong {
		return fileStatus{}, err
	}
	return *f, nil // without locations: they are asked for in parts
}

// list implements namespace. A page that would be too long an answer is read
// without locations.
func (n *native) list(ctx context.Context, dir string, each func([]fileStatus) error) error {
	for after := ""; ; {
		p, err := n.page(ctx, dir, after, true)
		if _, tooLong := errors.AsType[*ipc.FrameError](err); tooLong {
			p, err = n.page(ctx, dir, after, false)
		}
		if err != nil {
			return err
		}
		if err := each(p.entries); err != nil || p.remaining <= 0 {
			return err
		}
		if p.last == after {
			return &rest.InvalidError{URL: "getListing " + dir, Err: errors.New("the listing does not advance")}
		}
		after = p.last
	}
}

// BlockLocations implements BlockLocator.
func (n *native) BlockLocations(ctx context.Context, path string) ([]model.Block, error) {
	p, err := n.page(ctx, path, "", true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("block locations of %w", err)
	case p.self == nil || p.self.directory:
		return nil, fmt.Errorf("block locations of %w", &NotFileError{Path: path})
	}
	return p.self.located, nil
}
