package hdfsclient

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

const rpcPage = 1000 // entries asked for at once; dfs.ls.limit's default

// rpcNamespace walks over ClientProtocol with colinmarc's client. That client stays
// with the NameNode that answers, but it also reuses a connection that broke while
// an answer was read. Therefore a client is closed after any failure, and the next
// call builds another.
type rpcNamespace struct {
	options hdfs.ClientOptions
	budget  *rest.Budget  // nil is unlimited
	lock    chan struct{} // holds a token while no call runs: the client serialises them anyway
	client  *hdfs.Client  // nil before the first call and after a failure

	requests, bytes atomic.Int64
}

func newRPCNamespace(cfg Config, opts Options) (*rpcNamespace, error) {
	if opts.Kerberos == nil && cfg.User == "" {
		return nil, errors.New("no User given, but RPC without Kerberos needs one")
	}
	if opts.Kerberos != nil && cfg.RPCPrincipal == "" {
		return nil, errors.New("no RPCPrincipal given, but RPC with Kerberos needs the NameNodes', such as nn/_HOST")
	}
	r := &rpcNamespace{budget: opts.Budget, lock: make(chan struct{}, 1)}
	r.lock <- struct{}{}
	dialer := net.Dialer{Timeout: cfg.Timeout}
	r.options = hdfs.ClientOptions{
		Addresses: append([]string(nil), cfg.RPCAddresses...), User: cfg.User,
		KerberosClient: opts.Kerberos, KerberosServicePrincipleName: cfg.RPCPrincipal,
		NamenodeDialFunc: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &rpcConn{Conn: conn, timeout: cfg.Timeout, limit: cfg.MaxBytes, now: opts.Now, received: &r.bytes}, nil
		},
	}
	return r, nil
}

func (r *rpcNamespace) close() error {
	<-r.lock
	defer func() { r.lock <- struct{}{} }()
	return r.closeClient()
}

func (r *rpcNamespace) closeClient() error {
	if r.client == nil {
		return nil
	}
	err := r.client.Close()
	r.client = nil
	return err
}

// call runs f with a connected client, once more with another after a failure
// that was no answer. It cannot be interrupted, but every read and write of its
// connection has a deadline.
func (r *rpcNamespace) call(ctx context.Context, path string, f func(*hdfs.Client) error) error {
	select {
	case <-r.lock:
		defer func() { r.lock <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", path, ctx.Err())
	}
	var err error
	for range 2 {
		if err := r.budget.Wait(ctx); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if r.client == nil {
			if r.client, err = hdfs.NewClient(r.options); err != nil {
				r.client = nil
				continue
			}
		}
		r.requests.Add(1)
		before := r.bytes.Load()
		err = f(r.client)
		r.budget.Charge(r.bytes.Load() - before)
		if err == nil {
			return nil
		}
		answer, typed := rpcAnswer(path, err)
		if answer && !isStartingUpRPC(err) {
			return typed
		}
		if dropped := r.closeClient(); dropped != nil {
			err = errors.Join(err, dropped)
		}
		// Start with another NameNode: this one may take long to come up.
		r.options.Addresses = append(r.options.Addresses[1:], r.options.Addresses[0])
	}
	if _, typed := rpcAnswer(path, err); typed != nil {
		return typed
	}
	switch text := err.Error(); { // "no available namenodes: …" keeps the text alone
	case strings.Contains(text, "StandbyException"):
		return fmt.Errorf("%s: %w: %w", path, rest.ErrStandby, err)
	case strings.Contains(text, "SASL handshake"):
		return fmt.Errorf("%s: %w", path, &rest.AuthError{URL: strings.Join(r.options.Addresses, ","), Err: err})
	}
	return fmt.Errorf("%s over RPC: %w", path, err)
}

// rpcAnswer reports whether err is the NameNode's answer rather than the lack
// of one, and returns the package's error for it.
func rpcAnswer(path string, err error) (bool, error) {
	var remote hdfs.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, &NotFoundError{Path: path}
	case errors.Is(err, fs.ErrPermission):
		return true, &PermissionError{Path: path, Message: "permission denied"}
	case errors.As(err, &remote):
		name := remote.Exception()
		if typed := fromException(path, name[strings.LastIndexByte(name, '.')+1:], remote.Message()); typed != nil {
			return true, typed
		}
		return true, fmt.Errorf("%s: %w: %s", path, err, firstLine(remote.Message()))
	}
	return false, nil
}

func isStartingUpRPC(err error) bool {
	var remote hdfs.Error
	return errors.As(err, &remote) && isStartup(remote.Message())
}

// stat implements namespace.
func (r *rpcNamespace) stat(ctx context.Context, path string) (fileStatus, error) {
	var f fileStatus
	err := r.call(ctx, path, func(c *hdfs.Client) error {
		info, err := c.Stat(path)
		if err == nil {
			f = rpcStatus(path, info)
		}
		return err
	})
	return f, err
}

// list implements namespace.
func (r *rpcNamespace) list(ctx context.Context, dir string, each func([]fileStatus) error) error {
	l := rpcListing{dir: dir}
	for !l.done {
		var entries []fileStatus
		err := r.call(ctx, dir, func(c *hdfs.Client) (err error) {
			entries, err = l.next(c)
			return err
		})
		if err != nil {
			return err
		}
		if err := each(entries); err != nil {
			return err
		}
	}
	return nil
}

// rpcListing is a directory being listed; it is bound to one connection.
type rpcListing struct {
	dir    string
	client *hdfs.Client
	reader *hdfs.FileReader
	done   bool
}

// next returns the next page.
func (l *rpcListing) next(c *hdfs.Client) ([]fileStatus, error) {
	if l.reader == nil {
		reader, err := c.Open(l.dir)
		if err != nil {
			return nil, err
		}
		l.client, l.reader = c, reader
	}
	switch {
	case l.client != c:
		return nil, errors.New("the connection was lost during a listing")
	case !l.reader.Stat().IsDir():
		l.done = true
		return nil, nil
	}
	infos, err := l.reader.Readdir(rpcPage)
	if errors.Is(err, io.EOF) {
		l.done, err = true, nil
	}
	return rpcEntries(l.dir, infos), err
}

// rpcEntries returns what a page of a listing holds besides symbolic links.
func rpcEntries(dir string, infos []fs.FileInfo) []fileStatus {
	entries := make([]fileStatus, 0, len(infos))
	for _, info := range infos {
		if status, ok := info.Sys().(*hdfs.FileStatus); ok && status.GetFileType().String() == "IS_SYMLINK" {
			continue
		}
		entries = append(entries, rpcStatus(join(dir, info.Name()), info))
	}
	return entries
}

func rpcStatus(path string, info fs.FileInfo) fileStatus {
	f := fileStatus{path: path, directory: info.IsDir(), length: max(info.Size(), 0), modified: info.ModTime().UnixMilli()}
	if status, ok := info.Sys().(*hdfs.FileStatus); ok {
		f.blockSize = int64(min(status.GetBlocksize(), 1<<40))
	}
	return f
}

// rpcConn gives every read and write a deadline, counts what is received, and
// refuses a packet that is announced larger than the limit: the client would
// make room for it at once. What a NameNode sends is a sequence of packets,
// each a length in four bytes, big end first, and as many bytes.
type rpcConn struct {
	net.Conn
	timeout  time.Duration
	limit    model.Bytes
	now      func() time.Time
	received *atomic.Int64

	header []byte // of the next packet, as far as it is read
	left   int64  // bytes of the current packet to come
}

// Read implements net.Conn.
func (c *rpcConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(c.now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	for rest := p[:n]; len(rest) > 0; {
		if c.left > 0 {
			skip := min(c.left, int64(len(rest)))
			c.left -= skip
			rest = rest[skip:]
			continue
		}
		c.header = append(c.header, rest[0])
		if rest = rest[1:]; len(c.header) < 4 {
			continue
		}
		c.left = int64(binary.BigEndian.Uint32(c.header))
		c.header = c.header[:0]
		if c.left > int64(c.limit) {
			_ = c.Close()
			return 0, fmt.Errorf("an answer of %d bytes: the limit is %d", c.left, c.limit)
		}
	}
	return n, err
}

// Write implements net.Conn.
func (c *rpcConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(c.now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
