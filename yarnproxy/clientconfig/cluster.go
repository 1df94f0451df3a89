// Package clientconfig makes the Hadoop settings by which ApplicationMasters connect to
// the relay and fail over to the ResourceManager when heddle is down. It also checks
// how the addresses in them answer.
package clientconfig

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"heddle/configs"
	"heddle/configs/hadoopconf"
)

// Cluster holds the addresses that the settings give to applications.
type Cluster struct {
	rms    []hadoopconf.ResourceManager // in the order of their ids
	relays [][]string                   // by heddle, this one first: the addresses of its listeners, in the order of rms
	https  bool
	hadoop *hadoopconf.Config // nil without Hadoop's files
}

// New collects the addresses from the configuration and Hadoop's files.
func New(loaded *configs.Loaded) (*Cluster, error) {
	c := &loaded.Config
	if !c.RelayRuns() {
		return nil, fmt.Errorf("the relay does not run in mode %s: use mode enforce, or advise with relay.listen", c.Mode)
	}
	cl := &Cluster{hadoop: loaded.Hadoop}
	if err := cl.findResourceManagers(c); err != nil {
		return nil, err
	}
	return cl, cl.findRelayAddresses(&c.Relay)
}

// OverrideSchedulers replaces the ResourceManagers' scheduler addresses, one for each.
func (cl *Cluster) OverrideSchedulers(addresses []string) error {
	if len(addresses) != len(cl.rms) {
		return fmt.Errorf("%d addresses for %d ResourceManagers; give one for each, in the order of %s", len(addresses), len(cl.rms), strings.Join(cl.rmNames(), ", "))
	}
	for i, address := range addresses {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return fmt.Errorf("%q: want host:port", address)
		}
		cl.rms[i].Scheduler = address
	}
	return nil
}

// findResourceManagers lists the ResourceManagers of the listeners first, then the
// others that Hadoop's files name, and completes them from these files.
func (cl *Cluster) findResourceManagers(c *configs.Config) error {
	var known []hadoopconf.ResourceManager
	if cl.hadoop != nil {
		var err error
		if cl.https, err = cl.hadoop.YARNUsesHTTPS(); err != nil {
			return err
		}
		if known, err = cl.hadoop.ResourceManagers(); err != nil && len(c.Relay.Listeners) == 0 {
			return err
		}
	}
	for i, l := range c.Relay.Listeners {
		rm := hadoopconf.ResourceManager{ID: l.RM}
		if at := slices.IndexFunc(known, func(k hadoopconf.ResourceManager) bool { return k.ID == l.RM }); at >= 0 {
			rm = known[at]
			known = slices.Delete(known, at, at+1)
		}
		rm.Scheduler = l.Upstream
		if rm.Host == "" {
			rm.Host, _, _ = net.SplitHostPort(l.Upstream) // validated
		}
		if rm.Web == "" {
			cl.setWebAddress(&rm, c.ResourceManager.URLs, i)
		}
		cl.rms = append(cl.rms, rm)
	}
	if cl.rms[0].ID != "" { // without an id, the files describe another cluster
		cl.rms = append(cl.rms, known...)
	}
	return nil
}

// setWebAddress takes a ResourceManager's web address from resource_manager.urls: by
// host, or else by position, since both lists are usually in the same order.
func (cl *Cluster) setWebAddress(rm *hadoopconf.ResourceManager, urls []string, i int) {
	at := slices.IndexFunc(urls, func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && u.Hostname() == rm.Host
	})
	if at < 0 {
		at = min(i, len(urls)-1)
	}
	u, err := url.Parse(urls[at])
	if err != nil {
		return // the configuration was validated
	}
	cl.https = u.Scheme == "https"
	rm.Web = u.Host
	if port := map[bool]string{false: "8088", true: "8090"}[cl.https]; u.Port() == "" {
		rm.Web = net.JoinHostPort(u.Hostname(), port)
	}
}

// findRelayAddresses finds the addresses under which applications reach this heddle
// and its peers.
func (cl *Cluster) findRelayAddresses(r *configs.RelayConfig) error {
	var own []string
	for _, l := range r.Listeners {
		host, port, err := net.SplitHostPort(l.Address)
		switch {
		case err != nil:
			return fmt.Errorf("relay.listeners: %w", err)
		case port == "0":
			return fmt.Errorf("the relay listens on %s, whose port changes at every start: set a port in relay.listen", l.Address)
		case r.Advertise != "":
			host = r.Advertise
		case host == "" || net.ParseIP(host).IsUnspecified():
			return fmt.Errorf("the relay listens on every address of its machine (%s): set relay.advertise to the one under which applications reach it", l.Address)
		}
		own = append(own, net.JoinHostPort(host, port))
	}
	cl.relays = [][]string{own}
	for _, peer := range r.Peers {
		var theirs []string
		for i := range own {
			address, err := configs.NthAddress(peer, i)
			if err != nil {
				return fmt.Errorf("relay.peers: %w", err)
			}
			theirs = append(theirs, address)
		}
		cl.relays = append(cl.relays, theirs)
	}
	return nil
}

func (cl *Cluster) rmNames() []string {
	names := make([]string, len(cl.rms))
	for i, rm := range cl.rms {
		names[i] = rm.ID
		if rm.ID == "" {
			names[i] = rm.Host
		}
	}
	return names
}

// Warnings names the addresses that other machines cannot reach.
func (cl *Cluster) Warnings() []string {
	var warnings []string
	local := func(what, address, do string) {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) {
			warnings = append(warnings, fmt.Sprintf("%s is %s, which only applications on this machine reach: %s", what, address, do))
		}
	}
	for _, heddle := range cl.relays {
		local("the relay", heddle[0], "set relay.listen, or relay.advertise")
	}
	for _, rm := range cl.rms {
		local("the ResourceManager's scheduler", rm.Scheduler, "give the address that applications reach with --direct")
	}
	return warnings
}
