package hdfsclient

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"heddle/core/model"
)

// Ways to walk the namespace.
const (
	WalkRPC     = "rpc"
	WalkWebHDFS = "webhdfs"
)

// Config says which NameNodes to ask and how much. A zero field means its
// default.
type Config struct {
	// NameNodes are the web addresses of one nameservice's NameNodes, such as
	// "http://nn1:9870". Required.
	NameNodes []string
	// Authorities are the host:port pairs and nameservice names in hdfs:// paths
	// that mean these NameNodes. Default: any.
	Authorities []string
	// User is user.name of WebHDFS and the RPC user on a cluster without
	// Kerberos. Default: WebHDFS asks as the NameNode's dr.who; required over RPC.
	User string
	// Walk is how directories are listed: WalkRPC (default), which brings the locations
	// of many files at once and leaves to WebHDFS what no RPC address serves, or
	// WalkWebHDFS, which takes a request for each file.
	Walk string
	// RPCAddresses are the host:port pairs of ClientProtocol, in the order they
	// are tried. Default: none, and WebHDFS does everything.
	RPCAddresses []string
	// RPCPrincipal is the NameNodes' service principal without the realm, such
	// as "nn/_HOST". Required over RPC with Kerberos.
	RPCPrincipal string
	// Timeout is for one request. Default 10 s.
	Timeout time.Duration
	// MaxBytes is the largest answer accepted. Default 64 MiB.
	MaxBytes model.Bytes
	// MaxFiles is how many files of one path are looked at. Default 10,000.
	MaxFiles int
	// MaxBlocks is how many blocks of one path are asked for. Default 200,000.
	MaxBlocks int
	// Concurrency is how many requests for block locations run at once. Default 4.
	Concurrency int
	// CacheBlocks is how many blocks and files the cache holds; a block takes
	// about 170 bytes at replication 3. Default 500,000.
	CacheBlocks int
	// CacheAge is how long a path's blocks come from the cache unchecked. After
	// that its files are listed again, and those whose modification time and
	// length are unchanged keep their locations, for relocateAfter times this
	// age at most: replicas move without a change of either. Default 5 min.
	CacheAge time.Duration
	// Interval is between two rounds of the poller. Default 10 s.
	Interval time.Duration
	// DataNodeInterval is between two reads of the DataNodes. Default 60 s.
	DataNodeInterval time.Duration
	// RoundTime is how long a round may walk before the rest is left for the
	// next. Default 20 s.
	RoundTime time.Duration
	// MaxBackoff is the longest wait after a round that failed, and before a
	// path that failed is tried again. Default 2 min.
	MaxBackoff time.Duration
	// PathsPerRound is how many paths a round walks at most. Default 64.
	PathsPerRound int
}

const (
	relocateAfter = 12     // CacheAges until an unchanged file is located again
	trackedPaths  = 10_000 // wanted paths a poller keeps track of
)

func (c Config) withDefaults() Config {
	c.Walk = cmp.Or(c.Walk, WalkRPC)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.MaxBytes = cmp.Or(c.MaxBytes, 64*model.MiB)
	c.MaxFiles = cmp.Or(c.MaxFiles, 10_000)
	c.MaxBlocks = cmp.Or(c.MaxBlocks, 200_000)
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	c.CacheBlocks = cmp.Or(c.CacheBlocks, 500_000)
	c.CacheAge = cmp.Or(c.CacheAge, 5*time.Minute)
	c.Interval = cmp.Or(c.Interval, 10*time.Second)
	c.DataNodeInterval = cmp.Or(c.DataNodeInterval, time.Minute)
	c.RoundTime = cmp.Or(c.RoundTime, 20*time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 2*time.Minute)
	c.PathsPerRound = cmp.Or(c.PathsPerRound, 64)
	return c
}

// Validate reports everything that is wrong with the configuration, each
// problem beginning with the name of its field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.NameNodes) == 0 {
		add("NameNodes: none given; name at least one, such as http://nn1:9870")
	}
	for i, nn := range c.NameNodes {
		u, err := url.Parse(nn)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			add("NameNodes[%d]: %q is not of the form http://host:port", i, nn)
		}
	}
	if c.Walk != WalkRPC && c.Walk != WalkWebHDFS {
		add("Walk: %q is neither %q nor %q", c.Walk, WalkRPC, WalkWebHDFS)
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxBytes", int64(c.MaxBytes)},
		{"MaxFiles", int64(c.MaxFiles)},
		{"MaxBlocks", int64(c.MaxBlocks)},
		{"Concurrency", int64(c.Concurrency)},
		{"CacheBlocks", int64(c.CacheBlocks)},
		{"PathsPerRound", int64(c.PathsPerRound)},
		{"Timeout", int64(c.Timeout)},
		{"CacheAge", int64(c.CacheAge)},
		{"Interval", int64(c.Interval)},
		{"DataNodeInterval", int64(c.DataNodeInterval)},
		{"RoundTime", int64(c.RoundTime)},
		{"MaxBackoff", int64(c.MaxBackoff)},
	} {
		if f.value < 0 {
			add("%s: must be above 0", f.name)
		}
	}
	if c.Concurrency > 64 {
		add("Concurrency: %d requests at once are too many for a NameNode; at most 64", c.Concurrency)
	}
	return errors.Join(errs...)
}
