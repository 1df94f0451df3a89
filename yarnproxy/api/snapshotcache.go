package api

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// Limits of the bodies kept per snapshot.
const (
	maxBodies    = 256
	maxBodyBytes = 32 << 20
)

// errUnbuilt is the error of requests that waited for a body whose encoding panicked.
var errUnbuilt = errors.New("the answer could not be made")

// snapshotCache is a snapshot with what is derived from it: encoded bodies, and
// nodes by rack.
type snapshotCache struct {
	snap *snapshot.Snapshot

	indexed sync.Once
	byRack  map[model.RackID][]*model.Node // usable nodes, most free first
	rackOf  map[string]model.RackID        // of every node's host

	mu     sync.Mutex
	bodies map[string]*body
	bytes  int
}

// body is an encoded answer; concurrent requests for it share one encoding.
type body struct {
	once sync.Once
	data []byte
	err  error
}

func newSnapshotCache(snap *snapshot.Snapshot) *snapshotCache {
	return &snapshotCache{snap: snap, bodies: map[string]*body{}}
}

// body returns the encoded answer of a key, which build makes unless it is cached.
// Beyond the limits an answer is not cached.
func (p *snapshotCache) body(key string, build func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	b := p.bodies[key]
	kept := b != nil
	if !kept {
		b = &body{}
		if kept = len(p.bodies) < maxBodies && p.bytes < maxBodyBytes; kept {
			p.bodies[key] = b
		}
	}
	p.mu.Unlock()
	b.once.Do(func() {
		b.err = errUnbuilt
		if kept {
			defer p.finishBody(key, b)
		}
		b.data, b.err = build()
	})
	return b.data, b.err
}

// finishBody counts the size of a cached body, and removes one that build failed to make.
func (p *snapshotCache) finishBody(key string, b *body) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.err != nil {
		delete(p.bodies, key)
		return
	}
	p.bytes += len(b.data) + len(key)
}

func (p *snapshotCache) index() {
	p.byRack = make(map[model.RackID][]*model.Node, len(p.snap.Racks))
	p.rackOf = make(map[string]model.RackID, len(p.snap.Nodes))
	for i := range p.snap.Nodes {
		n := &p.snap.Nodes[i]
		rack := cmp.Or(n.Rack, model.DefaultRack)
		p.rackOf[n.Host] = rack
		if n.State.Usable() {
			p.byRack[rack] = append(p.byRack[rack], n)
		}
	}
	for _, nodes := range p.byRack { // order-free: each list is sorted on its own
		slices.SortFunc(nodes, compareFree)
	}
}

// compareFree puts the node with most free memory first, then most free vcores.
func compareFree(a, b *model.Node) int {
	x, y := a.Free(), b.Free()
	return cmp.Or(cmp.Compare(y.MemoryMiB, x.MemoryMiB), cmp.Compare(y.VCores, x.VCores), cmp.Compare(a.ID, b.ID))
}

// usable returns a rack's usable nodes, most free first.
func (p *snapshotCache) usable(rack model.RackID) []*model.Node {
	p.indexed.Do(p.index)
	return p.byRack[rack]
}

// rack returns the rack of a node's host; ok is false for a host without a
// NodeManager.
func (p *snapshotCache) rack(host string) (rack model.RackID, ok bool) {
	p.indexed.Do(p.index)
	rack, ok = p.rackOf[host]
	return rack, ok
}
