package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"heddle/configs/hadoopconf"
	"heddle/hdfsclient"
)

// store is where history files are: a file system of this machine or HDFS.
type store interface {
	// walk calls each with the path of every file at or below a path.
	walk(ctx context.Context, path string, each func(path string) error) error
	open(ctx context.Context, path string) (io.ReadCloser, error)
	// beside returns the path of a file in the folder of another one.
	beside(file, name string) string
}

// localStore is this machine's file system.
type localStore struct{}

func (localStore) open(_ context.Context, path string) (io.ReadCloser, error) {
	return os.Open(path) //nolint:gosec // the operator names it
}

func (localStore) beside(file, name string) string { return filepath.Join(filepath.Dir(file), name) }

func (localStore) walk(ctx context.Context, path string, each func(string) error) error {
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case d.IsDir():
			return nil
		}
		return each(p)
	})
}

// hdfsStore is HDFS.
type hdfsStore struct{ *hdfsclient.Client }

func (h hdfsStore) open(ctx context.Context, path string) (io.ReadCloser, error) {
	return h.Open(ctx, path)
}

func (hdfsStore) beside(file, name string) string { return path.Join(path.Dir(file), name) }

func (h hdfsStore) walk(ctx context.Context, path string, each func(string) error) error {
	return h.Files(ctx, path, each)
}

// stores connects to HDFS where a source needs it.
type stores struct {
	hdfs   func() (*hdfsclient.Client, *hadoopconf.Config, error)
	client *hdfsclient.Client // nil before it is needed
	hadoop *hadoopconf.Config
}

// of returns where a source is.
func (s *stores) of(source string) (store, error) {
	switch scheme, _, _ := strings.Cut(source, "://"); scheme {
	case "hdfs", "webhdfs", "swebhdfs":
	default:
		return localStore{}, nil
	}
	if err := s.connect(); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return hdfsStore{s.client}, nil
}

func (s *stores) connect() error {
	if s.client != nil {
		return nil
	}
	client, hadoop, err := s.hdfs()
	if err != nil {
		return fmt.Errorf("HDFS: %w", err)
	}
	s.client, s.hadoop = client, hadoop
	return nil
}

func (s *stores) close() error {
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// The settings of the JobHistory server, with Hadoop's default.
const (
	keyDone        = "mapreduce.jobhistory.done-dir"
	keyStaging     = "yarn.app.mapreduce.am.staging-dir"
	defaultStaging = "/tmp/hadoop-yarn/staging"
	belowStaging   = "/history/done"
)

// doneFolder returns where the JobHistory server keeps the histories of jobs that have ended.
func (s *stores) doneFolder() (string, error) {
	if err := s.connect(); err != nil {
		return "", err
	}
	if s.hadoop == nil {
		return "", errors.New("no source, and without Hadoop's own configuration the JobHistory server's folder is not known: give --hadoop-conf-dir, or name it, as in hdfs:///user/history/done")
	}
	values := map[string]string{}
	for _, key := range []string{keyDone, keyStaging} {
		p, _, err := s.hadoop.Lookup(key)
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		values[key] = p.Value
	}
	done := cmp.Or(values[keyDone], strings.TrimRight(cmp.Or(values[keyStaging], defaultStaging), "/")+belowStaging)
	switch {
	case strings.HasPrefix(done, "/"):
		return "hdfs://" + done, nil
	case strings.HasPrefix(done, "file:"):
		return "/" + strings.TrimLeft(strings.TrimPrefix(done, "file:"), "/"), nil
	}
	return done, nil
}
