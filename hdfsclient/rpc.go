package hdfsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/hashicorp/go-hclog"
	krb "github.com/jcmturner/gokrb5/v8/client"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

const (
	// connectTimeout is short, so that a round has time left for WebHDFS where a firewall
	// drops what is sent to the RPC port.
	connectTimeout = 3 * time.Second
	// mostEntries of a directory are read at once; it is the default of dfs.ls.limit.
	mostEntries = 1000
	// firstEntries are read to learn how long an entry with its locations is.
	firstEntries = 16
	// readBytes is about what a read of a directory should bring. The client holds all of
	// it as messages, which take several times their length.
	readBytes = 4 << 20
	// largeEntry is the length from which on hardly two entries share an answer, so that
	// WebHDFS takes no more requests, and half the bytes. It is some 200 blocks.
	largeEntry = 128 << 10
)

// rpcReader reads directories and block locations over ClientProtocol with colinmarc's
// client, which finds the active NameNode and logs in with Kerberos. Every walk has a
// client and a connection of its own: the client renews a lease every second for as
// long as it lives, and keeps a connection that broke while an answer was read.
type rpcReader struct {
	user, principal string
	kerberos        func() (*krb.Client, error) // nil for simple authentication
	timeout, pause  time.Duration
	maxBytes        int64        // received in one call
	budget          *rest.Budget // nil is unlimited
	now             func() time.Time
	log             hclog.Logger

	requests, bytes atomic.Int64 // of sessions that are over

	mu        sync.Mutex
	addresses []string  // the one connected to last comes first
	retryAt   time.Time // while RPC does not serve; zero while it does
}

// rpcError is returned where RPC does not serve what WebHDFS may.
type rpcError struct{ err error }

// Error implements error.
func (e *rpcError) Error() string { return "over RPC: " + e.err.Error() }

// Unwrap implements errors' unwrapping.
func (e *rpcError) Unwrap() error { return e.err }

// errTooLong is the error of an answer that is longer than the limit.
var errTooLong = errors.New("the answer is too long")

func newRPCReader(cfg Config, opts Options) (*rpcReader, error) {
	if opts.Kerberos == nil && cfg.User == "" {
		return nil, errors.New("no User given, but RPC without Kerberos needs one")
	}
	if opts.Kerberos != nil && cfg.RPCPrincipal == "" {
		return nil, errors.New("no RPCPrincipal given, but RPC with Kerberos needs the NameNodes', such as nn/_HOST")
	}
	return &rpcReader{
		user: cfg.User, principal: cfg.RPCPrincipal, kerberos: opts.Kerberos, timeout: cfg.Timeout, pause: cfg.MaxBackoff,
		maxBytes: int64(cfg.MaxBytes), budget: opts.Budget, now: opts.Now, log: opts.Log.Named("hdfs"), addresses: slices.Clone(cfg.RPCAddresses),
	}, nil
}

// due reports whether to try RPC: not for some time after it failed.
func (r *rpcReader) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.now().Before(r.retryAt)
}

// record notes how a walk over RPC ended that was answered anything or not, and logs when
// that is not how the last one did.
func (r *rpcReader) record(err error, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := errors.AsType[*rpcError](err)
	switch {
	case errors.Is(err, errTooLong) && answered: // of this path; others may be read
	case failed:
		if r.retryAt.IsZero() {
			r.log.Warn("NameNodes cannot be read over RPC; files are located over WebHDFS, with a request to each", "error", err,
				"do", "check the RPC addresses, and with Kerberos the service principal; set hdfs.walk to webhdfs if the port is closed to heddle")
		}
		r.retryAt = r.now().Add(r.pause)
	case !r.retryAt.IsZero() && (err == nil || isPathError(err)):
		r.log.Info("NameNodes can be read over RPC again")
		r.retryAt = time.Time{}
	}
}

// rpcSession is the connection of one walk, which must not be used concurrently.
type rpcSession struct {
	*rpcReader
	client  *hdfs.Client // nil before the first call
	decoder *decoder
	entries int // of a directory to read at once

	answered bool // a call was

	large    atomic.Bool  // the files of the directory are; they are listed without locations
	sent     atomic.Int64 // requests
	received atomic.Int64 // bytes
	allowed  atomic.Int64 // bytes that the current call may still receive
}

var _ namespace = (*rpcSession)(nil)

func (r *rpcReader) session() *rpcSession {
	return &rpcSession{rpcReader: r, decoder: newDecoder(), entries: firstEntries}
}

func (s *rpcSession) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	s.requests.Add(s.sent.Load())
	s.bytes.Add(s.received.Load())
}

// connect connects to the first NameNode that lets heddle in.
func (s *rpcSession) connect() error {
	options := hdfs.ClientOptions{User: s.user, KerberosServicePrincipleName: s.principal, NamenodeDialFunc: s.dial}
	s.mu.Lock()
	options.Addresses = slices.Clone(s.addresses)
	s.mu.Unlock()
	var err error
	if s.kerberos != nil {
		if options.KerberosClient, err = s.kerberos(); err != nil {
			return err
		}
	}
	s.client, err = hdfs.NewClient(options)
	if err != nil {
		s.client = nil
	}
	return err
}

func (s *rpcSession) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: min(connectTimeout, s.timeout)}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	i := slices.Index(s.addresses, address)
	s.addresses = slices.Insert(slices.Delete(s.addresses, i, i+1), 0, address)
	s.mu.Unlock()
	return &rpcConn{Conn: conn, session: s}, nil
}

// call runs f with a connected client. It cannot be interrupted, but every read and write
// of its connection has a deadline. The requests that f sends beyond one are waited for
// afterwards.
func (s *rpcSession) call(ctx context.Context, path string, f func(*hdfs.Client) error) error {
	if err := s.budget.Wait(ctx); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	sent, received := s.sent.Load(), s.received.Load()
	s.allowed.Store(s.maxBytes)
	var err error
	if s.client == nil {
		err = s.connect()
	}
	if err == nil {
		err = f(s.client)
	}
	s.budget.Charge(s.received.Load() - received)
	if err != nil {
		return rpcFailure(path, err)
	}
	s.answered = true
	for range s.sent.Load() - sent - 1 {
		if err := s.budget.Wait(ctx); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// rpcFailure returns the package's error for what a NameNode answers of path, and an
// *rpcError where there is no answer, or another NameNode may know better.
func rpcFailure(path string, err error) error {
	var remote hdfs.Error
	answered := errors.As(err, &remote)
	invalid, isInvalid := errors.AsType[*rest.InvalidError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &NotFoundError{Path: path}
	case errors.Is(err, fs.ErrPermission):
		return &PermissionError{Path: path, Message: "permission denied"}
	case isInvalid:
		return invalid
	case !answered || isStartup(remote.Message()):
		return &rpcError{fmt.Errorf("%s: %w", path, err)}
	}
	name := remote.Exception()
	if typed := fromException(path, name[strings.LastIndexByte(name, '.')+1:], remote.Message()); typed != nil {
		return typed
	}
	return fmt.Errorf("%s: %w: %s", path, err, firstLine(remote.Message()))
}

// stat implements namespace.
func (s *rpcSession) stat(ctx context.Context, path string) (f fileStatus, err error) {
	err = s.call(ctx, path, func(c *hdfs.Client) error {
		info, err := c.Stat(path)
		if err == nil {
			f, err = s.status(path, info)
		}
		return err
	})
	return f, err
}

// list implements namespace.
func (s *rpcSession) list(ctx context.Context, dir string, each func([]fileStatus) error) error {
	var reader *hdfs.FileReader
	if s.large.Swap(false) {
		s.entries = firstEntries
	}
	for last := false; !last; {
		var entries []fileStatus
		err := s.call(ctx, dir, func(c *hdfs.Client) (err error) {
			if reader == nil {
				reader, err = c.Open(dir)
			}
			if err != nil || !reader.Stat().IsDir() {
				last = true
				return err
			}
			entries, last, err = s.read(reader, dir)
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

// read returns some entries of a directory, without symbolic links, and whether they are
// the last ones. How many it asks for follows from the length of the ones before: the
// client gathers that many, however large the files are.
func (s *rpcSession) read(reader *hdfs.FileReader, dir string) (entries []fileStatus, last bool, err error) {
	before := s.received.Load()
	infos, err := reader.Readdir(s.entries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, true, err
	}
	last = len(infos) < s.entries
	if len(infos) > 0 {
		length := (s.received.Load()-before)/int64(len(infos)) + 1
		if length > largeEntry {
			s.large.Store(true)
		}
		s.entries = int(min(mostEntries, readBytes/length+1))
	}
	entries = make([]fileStatus, 0, len(infos))
	for _, info := range infos {
		if status, ok := info.Sys().(*hdfs.FileStatus); ok && status.GetFileType().String() == "IS_SYMLINK" {
			continue
		}
		f, err := s.status(join(dir, info.Name()), info)
		if err != nil {
			return nil, true, err
		}
		entries = append(entries, f)
	}
	return entries, last, nil
}

// status returns a file or directory as a walk knows it. Only what is listed in a
// directory comes with locations.
func (s *rpcSession) status(path string, info fs.FileInfo) (fileStatus, error) {
	f := fileStatus{path: path, directory: info.IsDir(), length: info.Size(), modified: info.ModTime().UnixMilli()}
	status, ok := info.Sys().(*hdfs.FileStatus)
	if name := info.Name(); !ok || name == "." || name == ".." || name == "/" && path != "/" {
		return f, invalidStatus(path, fmt.Errorf("%q is no file name", name))
	}
	f.blockSize = int64(min(status.GetBlocksize(), 1<<62))
	if f.length < 0 {
		return f, invalidStatus(path, fmt.Errorf("length %d", f.length))
	}
	var err error
	if !f.directory && status.GetLocations() != nil {
		if f.located, err = s.decoder.located(status); err != nil {
			return f, invalidStatus(path, err)
		}
	}
	return f, nil
}

func invalidStatus(path string, err error) error {
	return &rest.InvalidError{URL: "status of " + path, Err: err}
}

// located returns the blocks that came with a file's status, as decode does those of
// LocatedBlocks.
func (d *decoder) located(status *hdfs.FileStatus) ([]model.Block, error) {
	d.blocks, d.hosts, d.racks = d.blocks[:0], d.hosts[:0], d.racks[:0]
	for _, block := range status.GetLocations().GetBlocks() {
		b := span{
			offset: int64(block.GetOffset()), length: int64(block.GetB().GetNumBytes()), //nolint:gosec // check refuses what is below 0
			corrupt: block.GetCorrupt(), replicas: len(block.GetLocs()),
		}
		for _, node := range block.GetLocs() {
			d.hosts = append(d.hosts, d.intern([]byte(cmp.Or(node.GetId().GetHostName(), node.GetId().GetIpAddr()))))
			d.racks = append(d.racks, d.rack([]byte(node.GetLocation())))
		}
		if err := d.check(b); err != nil {
			return nil, err
		}
		d.blocks = append(d.blocks, b)
	}
	return d.copyBlocks(), nil
}
