package hdfsclient

import (
	"container/list"
	"sync"
	"time"

	"heddle/core/model"
)

// CacheStats counts what the cache of block locations did. The counters only
// grow; Paths and Blocks are what it holds now.
type CacheStats struct {
	Hits        int64 // paths answered without a request
	Misses      int64 // paths not in the cache
	Revalidated int64 // paths whose age was over and whose files were listed again
	FilesKept   int64 // of those, files whose locations were kept
	Located     int64 // files whose locations were asked for
	Evicted     int64 // paths dropped to make room
	TooLarge    int64 // paths larger than the whole cache
	Paths       int
	Blocks      int
}

// locatedFile is one file with its blocks. It is never changed once in the cache.
type locatedFile struct {
	fileStatus
	bytes  int64 // of the file's beginning that blocks cover
	at     time.Time
	blocks []model.Block
}

// withLocated returns the file with those blocks of its listing that begin
// within its first bytes.
func (f *fileStatus) withLocated(bytes int64, at time.Time) locatedFile {
	l := locatedFile{fileStatus: *f, bytes: bytes, at: at, blocks: f.located}
	l.located = nil
	if bytes >= f.length {
		return l
	}
	for i := range l.blocks {
		if int64(l.blocks[i].Offset) >= bytes {
			l.blocks = l.blocks[:i:i]
			break
		}
	}
	return l
}

// entry is what is known of one path. It is never changed once in the cache.
type entry struct {
	path      string
	files     []locatedFile
	listed    time.Time // zero when the walk did not finish: only files counts then
	truncated bool
}

// weight is an entry's share of the cache's limit.
func (e *entry) weight() int {
	n := 1 + len(e.files)
	for i := range e.files {
		n += len(e.files[i].blocks)
	}
	return n
}

// fact copies the entry into a fact of the receiver's own, under the spelling
// of the path that was asked for.
func (e *entry) fact(path string) model.BlocksFact {
	blocks, replicas := 0, 0
	for i := range e.files {
		blocks += len(e.files[i].blocks)
		for j := range e.files[i].blocks {
			replicas += len(e.files[i].blocks[j].Hosts)
		}
	}
	fact := model.BlocksFact{Path: path, Files: len(e.files), Truncated: e.truncated, Blocks: make([]model.Block, 0, blocks)}
	hosts := make([]string, 0, replicas)
	racks := make([]model.RackID, 0, replicas)
	for i := range e.files {
		for _, b := range e.files[i].blocks {
			from := len(hosts)
			hosts = append(hosts, b.Hosts...)
			racks = append(racks, b.Racks...)
			b.Hosts = hosts[from:len(hosts):len(hosts)]
			b.Racks = racks[from:len(racks):len(racks)]
			fact.Blocks = append(fact.Blocks, b)
		}
	}
	return fact
}

// cache keeps the entries used last, up to a limit of blocks and files.
type cache struct {
	limit int

	mu      sync.Mutex
	entries map[string]*list.Element // of *entry
	recent  *list.List               // most recently used first
	weight  int
	stats   CacheStats
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: make(map[string]*list.Element), recent: list.New()}
}

// get returns the entry of a path, or nil, and whether it is younger than age.
func (c *cache) get(path string, now time.Time, age time.Duration) (*entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.entries[path]
	if !ok {
		c.stats.Misses++
		return nil, false
	}
	c.recent.MoveToFront(at)
	e, _ := at.Value.(*entry)
	elapsed := now.Sub(e.listed) // below 0 when the clock was set back
	fresh := !e.listed.IsZero() && elapsed >= 0 && elapsed < age
	if fresh {
		c.stats.Hits++
	} else {
		c.stats.Revalidated++
	}
	return e, fresh
}

// put stores an entry in place of what was known of its path.
func (c *cache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[e.path]; ok {
		c.remove(at)
	}
	weight := e.weight()
	if weight > c.limit {
		c.stats.TooLarge++
		return
	}
	for c.weight+weight > c.limit {
		c.remove(c.recent.Back())
		c.stats.Evicted++
	}
	c.entries[e.path] = c.recent.PushFront(e)
	c.weight += weight
}

// count adds to the counters of files.
func (c *cache) count(kept, located int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.FilesKept += int64(kept)
	c.stats.Located += int64(located)
}

func (c *cache) remove(at *list.Element) {
	e, _ := c.recent.Remove(at).(*entry)
	delete(c.entries, e.path)
	c.weight -= e.weight()
}

// snapshot returns the counters and sizes.
func (c *cache) snapshot() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Paths = len(c.entries)
	s.Blocks = c.weight - s.Paths
	for at := c.recent.Front(); at != nil; at = at.Next() {
		e, _ := at.Value.(*entry)
		s.Blocks -= len(e.files)
	}
	return s
}
