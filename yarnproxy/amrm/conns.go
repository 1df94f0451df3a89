package amrm

import (
	"sync"
	"time"
)

// conns are the open connections, those that wait for the ResourceManager included.
type conns struct {
	mu       sync.Mutex
	all      map[*conn]struct{}
	open     int
	full     bool      // one was refused, and that was said
	draining time.Time // until when frames under way may get through; zero while the relay runs
}

func newConns() conns { return conns{all: map[*conn]struct{}{}} }

func (c *conns) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
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

func (c *conns) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

func (c *conns) add(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[k] = struct{}{}
	if !c.draining.IsZero() {
		k.drain(c.draining)
	}
}

func (c *conns) remove(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, k)
}

// drain has every connection end, those to come included: at the end of a frame, when no answer is missing, or at a time.
func (c *conns) drain(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = until
	for k := range c.all { // order-free: each alone
		k.drain(until)
	}
}

// close ends every connection.
func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.all { // order-free: each alone
		k.close()
	}
}
