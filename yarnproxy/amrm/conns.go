package amrm

import (
	"context"
	"sync"
)

// conns are the open connections, those that wait for the ResourceManager included.
type conns struct {
	mu        sync.Mutex
	all       map[*conn]bool // true: it pauses, and both lanes have stopped
	open      int
	parked    int           // of all: true
	full      bool          // one was refused, and that was said
	accepting int           // listeners that may take one more
	pausing   *pause        // of all and of those to come, nil while they relay
	moved     chan struct{} // has room for one: something above has changed
}

func newConns() conns {
	return conns{all: map[*conn]bool{}, moved: make(chan struct{}, 1)}
}

func (c *conns) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// tell wakes who waits for a change. The lock is held.
func (c *conns) tell() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// admit takes one more connection; when there are too many, say tells whether
// this is the first that is refused.
func (c *conns) admit(limit int) (ok, say bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= limit {
		say = !c.full
		c.full = true
		return false, say
	}
	c.open++
	c.full = c.full && c.open > limit*9/10
	return true, false
}

// adopt counts a connection that another process accepted, however many there are.
func (c *conns) adopt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
}

func (c *conns) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.tell()
}

func (c *conns) add(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[k] = false
	if c.pausing != nil {
		k.pause(c.pausing)
	}
}

func (c *conns) remove(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, k)
	c.tell()
}

// park notes that a connection has stopped, or that it goes on.
func (c *conns) park(k *conn, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[k] = stopped
	if stopped {
		c.parked++
	} else {
		c.parked--
	}
	c.tell()
}

// accepts counts a listener that takes connections from now on, or with -1 none any more.
func (c *conns) accepts(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepting += n
	c.tell()
}

// each calls do with every connection that has a ResourceManager.
func (c *conns) each(do func(*conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.all { // order-free: each alone
		do(k)
	}
}

// stopped returns the connections that have stopped.
func (c *conns) stopped() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*conn, 0, c.parked)
	for k, stopped := range c.all { // order-free: each alone
		if stopped {
			list = append(list, k)
		}
	}
	return list
}

// pause has every connection stop, those to come included; with nil those to
// come relay.
func (c *conns) pause(p *pause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausing = p
	if p == nil {
		return
	}
	for k := range c.all { // order-free: each alone
		k.pause(p)
	}
}

func (c *conns) paused() *pause {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pausing
}

// still reports whether nothing moves; with late, connections that wait for the
// ResourceManager to take them do not count.
func (c *conns) still(late bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepting == 0 && c.parked == len(c.all) && (late || c.open == len(c.all))
}

// moving reports whether no connection waits, and n listeners take more.
func (c *conns) moving(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parked == 0 && c.accepting == n
}

// await waits until something holds, which is looked at whenever a connection
// has moved, and reports whether it did before ctx ended.
func (c *conns) await(ctx context.Context, holds func() bool) bool {
	for !holds() {
		select {
		case <-c.moved:
		case <-ctx.Done():
			return holds()
		}
	}
	return true
}
