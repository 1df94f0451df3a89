package amrm

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"time"

	"heddle/core/model"
)

// ConnLimits bound the connections of clients.
type ConnLimits struct {
	Total           int           // at once; 0: 10,000
	Unauthenticated int           // of those, the ones whose token the ResourceManager has not accepted; 0: a quarter
	PerAddress      int           // of those, the ones from one IP address; 0: 256
	AuthTimeout     time.Duration // from a connection's start until its token is accepted, without the time to dial; 0: 10 s
}

func (l ConnLimits) orDefault() ConnLimits {
	l.Total = cmp.Or(max(l.Total, 0), 10_000)
	l.Unauthenticated = cmp.Or(max(l.Unauthenticated, 0), max(l.Total/4, 1))
	l.PerAddress = cmp.Or(max(l.PerAddress, 0), 256)
	l.AuthTimeout = cmp.Or(max(l.AuthTimeout, 0), 10*time.Second)
	return l
}

// conns are the open connections, those that wait for the ResourceManager included.
type conns struct {
	limits ConnLimits

	mu              sync.Mutex // guards what follows
	all             map[*conn]struct{}
	unauthenticated int
	peers           map[netip.Addr]*peer
	logged          map[model.RefuseCause]bool // a refusal was logged, and connections have been near the limit since
	draining        time.Time                  // until when frames under way may get through; zero while the relay runs
}

// peer is an IP address that has connections open.
type peer struct {
	open   int
	logged bool // a refusal was logged
}

func newConns(limits ConnLimits) conns {
	return conns{limits: limits, all: map[*conn]struct{}{}, peers: map[netip.Addr]*peer{}, logged: map[model.RefuseCause]bool{}}
}

// count returns how many connections are open, and how many of them have not authenticated.
func (c *conns) count() (open, unauthenticated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all), c.unauthenticated
}

// admit adds a connection, or returns the cause of its refusal and whether it is the first one to log.
func (c *conns) admit(k *conn) (cause model.RefuseCause, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peers[k.address]
	switch {
	case len(c.all) >= c.limits.Total:
		return model.RefuseConnections, c.isFirst(model.RefuseConnections)
	case c.unauthenticated >= c.limits.Unauthenticated:
		return model.RefuseUnauthenticated, c.isFirst(model.RefuseUnauthenticated)
	case p != nil && p.open >= c.limits.PerAddress:
		first, p.logged = !p.logged, true
		return model.RefuseAddress, first
	case p == nil:
		p = &peer{}
		c.peers[k.address] = p
	}
	p.open++
	c.unauthenticated++
	c.all[k] = struct{}{}
	if len(c.all) <= c.limits.Total*9/10 {
		c.logged[model.RefuseConnections] = false
	}
	if c.unauthenticated <= c.limits.Unauthenticated*9/10 {
		c.logged[model.RefuseUnauthenticated] = false
	}
	if !c.draining.IsZero() {
		k.drain(c.draining)
	}
	return "", false
}

func (c *conns) isFirst(cause model.RefuseCause) bool {
	first := !c.logged[cause]
	c.logged[cause] = true
	return first
}

// authenticated makes room for another connection that is to authenticate.
func (c *conns) authenticated() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unauthenticated--
}

// release removes a connection that has ended.
func (c *conns) release(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, k)
	if !k.authenticated.Load() {
		c.unauthenticated--
	}
	if p := c.peers[k.address]; p != nil {
		if p.open--; p.open == 0 {
			delete(c.peers, k.address)
		}
	}
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

// addressOf is the IP address of a client, the zero address if it has none.
func addressOf(client net.Conn) netip.Addr {
	if tcp, ok := client.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
