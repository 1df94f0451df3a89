//go:build linux

package hadoop

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

//go:embed assets/Listing.java
var listingSource []byte

// listingClass is the class of the source.
const listingClass = "Listing"

// Lister is a process of Hadoop's own HDFS client that walks directories with
// FileSystem.listFiles(path, true), which brings block locations with the
// listings. It stays warm from one walk to the next. It is not safe for concurrent use.
type Lister struct{ *lineClient }

// Listed is the sums of one walk and the time the client took for it.
type Listed struct {
	Took   time.Duration
	Files  int
	Blocks int
}

// ListedBlock is a block as Hadoop's client knows it.
type ListedBlock struct {
	Path   string
	ID     string   // as in [FsckBlock]
	Offset int64    // bytes
	Len    int64    // bytes
	Hosts  []string // rack and name of each replica's host, /rack1/w11, sorted
}

// StartLister starts a client in the test process's own network, from where
// the NameNode is as far as for the test. It ends with ctx, or by
// [Lister.Close]. The test has the extra [Spark], whose jars have the compiler.
func (j *Jobs) StartLister(ctx context.Context) (*Lister, error) {
	p := j.processes
	jars, err := j.compile(ctx, listingClass, listingSource)
	if err != nil {
		return nil, err
	}
	// The options of every process are for a quick start; this one is to run long.
	cmd := p.java(exec.CommandContext(ctx, p.javaFile()), p.site("client"), 2*clientHeap, []string{p.jars, jars},
		"-XX:TieredStopAtLevel=4", listingClass)
	client, err := startLineClient(cmd, (*exec.Cmd).Start)
	return &Lister{client}, err
}

// Walk walks everything below a directory, once.
func (l *Lister) Walk(dir string) (Listed, error) {
	var one Listed
	line, err := l.ask("walk " + dir)
	if err == nil {
		_, err = fmt.Sscan(line, &one.Took, &one.Files, &one.Blocks)
	}
	if err != nil {
		return one, l.failed("walk "+dir, err)
	}
	return one, nil
}

// Show returns the blocks of everything below a directory, by path and offset.
func (l *Lister) Show(dir string) ([]ListedBlock, error) {
	var all []ListedBlock
	line, err := l.ask("show " + dir)
	for ; err == nil && line != ""; line, err = l.line() {
		b, bad := parseListed(line)
		if bad != nil {
			return nil, bad
		}
		all = append(all, b)
	}
	if err != nil {
		return nil, l.failed("show "+dir, err)
	}
	slices.SortFunc(all, func(a, b ListedBlock) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset))
	})
	return all, nil
}

func parseListed(line string) (ListedBlock, error) {
	part := strings.SplitN(line, " ", 5)
	if len(part) != 5 {
		return ListedBlock{}, fmt.Errorf("no block of a listing: %q", line)
	}
	b := ListedBlock{ID: part[0], Path: part[4]}
	if _, err := fmt.Sscan(part[1]+" "+part[2], &b.Offset, &b.Len); err != nil {
		return b, fmt.Errorf("no block of a listing: %q: %w", line, err)
	}
	if part[3] != "" {
		b.Hosts = strings.Split(part[3], ",")
		slices.Sort(b.Hosts)
	}
	return b, nil
}
