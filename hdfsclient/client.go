package hdfsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"golang.org/x/sync/errgroup"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// BlockLocator finds the blocks of one file.
type BlockLocator interface {
	// BlockLocations returns the blocks of a file in the order of their offsets,
	// none for an empty file. Its errors are those of this package and of
	// yarnproxy/rest.
	BlockLocations(ctx context.Context, path string) ([]model.Block, error)
}

// Options are what a Client is built from besides its configuration. The zero
// value of each field means none, or its default.
type Options struct {
	Auth     rest.Authenticator          // SPNEGO, for WebHDFS, JMX and /topology
	Budget   *rest.Budget                // of requests and bytes, over HTTP and RPC together; nil is unlimited
	Kerberos func() (*krb.Client, error) // who logs in over RPC, asked before every walk; nil is simple authentication
	Base     http.RoundTripper           // of HTTP; default: rest's own
	Log      hclog.Logger                // default: none
	Now      func() time.Time            // default: the system's clock
}

// Client answers where blocks are in one nameservice. It is safe for
// concurrent use.
type Client struct {
	cfg     Config
	opts    Options
	web     *web
	data    *rest.Client // of DataNodes: without user and tickets, which are for the NameNode
	rpc     *rpcReader   // nil if only WebHDFS is used
	paths   resolver
	cache   *cache
	now     func() time.Time
	readyAt atomic.Int64 // ms since the Unix epoch of the last good answer to ready, 0 for none
}

// New builds a client. It sends nothing yet.
func New(cfg Config, opts Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("hdfs: %w", err)
	}
	cfg = cfg.withDefaults()
	if opts.Now == nil {
		opts.Now = time.Now //nolint:forbidigo // the one default of the package; tests and replays bring their own
	}
	if opts.Log == nil {
		opts.Log = hclog.NewNullLogger()
	}
	c := &Client{cfg: cfg, opts: opts, now: opts.Now, cache: newCache(cfg.CacheBlocks), paths: resolver{cfg.Authorities}}
	c.web = &web{
		http: rest.New(rest.Options{
			Timeout: cfg.Timeout, MaxBytes: int64(cfg.MaxBytes), User: cfg.User,
			Auth: opts.Auth, Budget: opts.Budget, Base: opts.Base,
		}),
		decoders: make(chan *decoder, cfg.Concurrency),
	}
	c.data = rest.New(rest.Options{Timeout: cfg.Timeout, MaxBytes: readChunk + 1, Budget: opts.Budget, Base: opts.Base})
	for range cfg.Concurrency {
		c.web.decoders <- newDecoder()
	}
	var err error
	c.web.group, err = rest.NewGroup(c.web.http, cfg.NameNodes)
	if err == nil && cfg.Walk == WalkRPC && len(cfg.RPCAddresses) > 0 {
		c.rpc, err = newRPCReader(cfg, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("hdfs: %w", err)
	}
	return c, nil
}

// Close closes idle connections. The client must not be in use any more.
func (c *Client) Close() error {
	c.web.http.Close()
	c.data.Close()
	return nil
}

// Stats returns what the cache did and holds.
func (c *Client) Stats() CacheStats { return c.cache.snapshot() }

// Usage returns what the client has cost the NameNodes, RPC included, and DataNodes it read from.
func (c *Client) Usage() rest.Usage {
	u := c.web.http.Usage()
	read := c.data.Usage()
	u.Requests, u.Bytes = u.Requests+read.Requests, u.Bytes+read.Bytes
	if c.rpc != nil {
		u.Requests += c.rpc.requests.Load()
		u.Bytes += model.Bytes(c.rpc.bytes.Load())
	}
	return u
}

// BlockLocations implements BlockLocator. It asks the NameNode each time; the
// path is one file and no pattern.
func (c *Client) BlockLocations(ctx context.Context, path string) ([]model.Block, error) {
	p, err := c.paths.resolve(path)
	if err != nil {
		return nil, err
	}
	return c.web.located(ctx, p, 0, 0)
}

// Blocks returns the blocks of every file that a job with the given input path
// would read: a file, a directory, or a pattern, with or without its hdfs://
// authority. Up to CacheAge they come from the cache. Files that were located
// before an error are cached, so that the next call does not ask for them again.
func (c *Client) Blocks(ctx context.Context, path string) (model.BlocksFact, error) {
	p, err := c.paths.resolve(path)
	if err != nil {
		return model.BlocksFact{}, err
	}
	old, fresh := c.cache.get(p, c.now(), c.cfg.CacheAge)
	if fresh {
		return old.fact(path), nil
	}
	if err := c.checkActive(ctx, c.cfg.Interval.Milliseconds()); err != nil {
		return model.BlocksFact{}, err
	}
	listed := c.now()
	w, err := c.walk(ctx, p)
	if err != nil {
		return model.BlocksFact{}, fmt.Errorf("walk: %w", err)
	}
	files, err := c.locateAll(ctx, w, old)
	e := &entry{path: p, files: files, truncated: w.truncated}
	if err == nil {
		e.listed = listed
	}
	c.cache.put(e)
	if err != nil {
		return model.BlocksFact{}, err
	}
	return e.fact(path), nil
}

// walk lists the files that a path names: over RPC, and over WebHDFS while that does not
// serve.
func (c *Client) walk(ctx context.Context, path string) (*walk, error) {
	if c.rpc != nil && c.rpc.due() {
		s := c.rpc.session()
		w := &walk{ns: s, maxFiles: c.cfg.MaxFiles, maxBlocks: c.cfg.MaxBlocks}
		err := w.run(ctx, path)
		s.close()
		c.rpc.record(err, s.answered)
		if _, failed := errors.AsType[*rpcError](err); !failed || ctx.Err() != nil {
			return w, err
		}
	}
	w := &walk{ns: c.web, maxFiles: c.cfg.MaxFiles, maxBlocks: c.cfg.MaxBlocks}
	return w, w.run(ctx, path)
}

// locateAll returns the files of a walk with their blocks. A file that has not
// changed since old, which may be nil, keeps its blocks. A file that was deleted
// since the walk is left out. With an error, the files located so far are returned.
func (c *Client) locateAll(ctx context.Context, w *walk, old *entry) ([]locatedFile, error) {
	files := reuseLocated(w, old)
	oldest := c.now().Add(-relocateAfter * c.cfg.CacheAge)
	var asked atomic.Int64
	reused := 0
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.cfg.Concurrency)
	for i := range w.files {
		f := &w.files[i]
		switch {
		case f.located != nil:
			asked.Add(1)
			files[i] = f.withLocated(w.lengths[i], c.now())
		case files[i].at.After(oldest):
			reused++
		case groupCtx.Err() == nil:
			group.Go(func() error {
				at := c.now()
				blocks, err := c.web.locate(groupCtx, f, w.lengths[i])
				if _, deleted := errors.AsType[*NotFoundError](err); deleted {
					files[i] = locatedFile{}
					return nil
				}
				if err == nil {
					asked.Add(1)
					files[i] = locatedFile{fileStatus: *f, bytes: w.lengths[i], at: at, blocks: blocks}
				}
				return err
			})
		}
	}
	err := group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	c.cache.count(reused, int(asked.Load()))
	return slices.Clip(slices.DeleteFunc(files, func(f locatedFile) bool { return f.at.IsZero() })), err
}

// reuseLocated returns an element for each file of a walk: the one of old if
// modification time and length to locate are the same, a zero one otherwise.
func reuseLocated(w *walk, old *entry) []locatedFile {
	files := make([]locatedFile, len(w.files))
	if old == nil {
		return files
	}
	byPath := make(map[string]*locatedFile, len(old.files))
	for i := range old.files {
		byPath[old.files[i].path] = &old.files[i]
	}
	for i := range w.files {
		f := byPath[w.files[i].path]
		if f != nil && f.modified == w.files[i].modified && f.bytes == w.lengths[i] {
			files[i] = *f
		}
	}
	return files
}
