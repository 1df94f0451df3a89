package main

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"heddle/configs"
)

// clientSite is a cluster as an application is to see it.
type clientSite struct {
	rms    []configs.ResourceManager // in the order of their ids
	relays [][]string                // of every heddle, this one first: an address for each of the first ResourceManagers
	https  bool
	hadoop *configs.Hadoop // nil without Hadoop's files
}

// newClientSite puts together what the configuration and Hadoop's files say.
// direct replaces the ResourceManagers' scheduler addresses, one for each.
func newClientSite(loaded *configs.Loaded, direct []string) (*clientSite, error) {
	c := &loaded.Config
	if !c.RelayRuns() {
		return nil, fmt.Errorf("the relay does not run in mode %s: use mode enforce, or advise with relay.listen", c.Mode)
	}
	s := &clientSite{hadoop: loaded.Hadoop}
	if err := s.resourceManagers(c); err != nil {
		return nil, err
	}
	if len(direct) > 0 && len(direct) != len(s.rms) {
		return nil, usageError{fmt.Errorf("--direct: %d addresses for %d ResourceManagers; give one for each, in the order of %s", len(direct), len(s.rms), strings.Join(s.names(), ", "))}
	}
	for i, address := range direct {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return nil, usageError{fmt.Errorf("--direct %q: want host:port", address)}
		}
		s.rms[i].Scheduler = address
	}
	return s, s.relayAddresses(&c.Relay)
}

// resourceManagers takes them as the relay knows them, those that have no
// listener after them, with what Hadoop's files add.
func (s *clientSite) resourceManagers(c *configs.Config) error {
	var known []configs.ResourceManager
	if s.hadoop != nil {
		var err error
		if s.https, err = s.hadoop.HTTPS(); err != nil {
			return err
		}
		if known, err = s.hadoop.ResourceManagers(); err != nil && len(c.Relay.Listeners) == 0 {
			return err
		}
	}
	for i, l := range c.Relay.Listeners {
		rm := configs.ResourceManager{ID: l.RM}
		if at := slices.IndexFunc(known, func(k configs.ResourceManager) bool { return k.ID == l.RM }); at >= 0 {
			rm = known[at]
			known = slices.Delete(known, at, at+1)
		}
		rm.Scheduler = l.Upstream
		if rm.Host == "" {
			rm.Host, _, _ = net.SplitHostPort(l.Upstream) // validated
		}
		if rm.Web == "" {
			s.webOf(&rm, c.ResourceManager.URLs, i)
		}
		s.rms = append(s.rms, rm)
	}
	if s.rms[0].ID != "" { // else what is left is not of this cluster
		s.rms = append(s.rms, known...)
	}
	return nil
}

// webOf takes a ResourceManager's web address from resource_manager.urls, which
// are in the order of the listeners as a rule.
func (s *clientSite) webOf(rm *configs.ResourceManager, urls []string, i int) {
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
	s.https = u.Scheme == "https"
	rm.Web = u.Host
	if port := map[bool]string{false: "8088", true: "8090"}[s.https]; u.Port() == "" {
		rm.Web = net.JoinHostPort(u.Hostname(), port)
	}
}

// relayAddresses finds the addresses under which applications reach this heddle
// and its peers.
func (s *clientSite) relayAddresses(r *configs.RelayConfig) error {
	var own []string
	for _, l := range r.Listeners {
		host, port, err := net.SplitHostPort(l.Address)
		switch {
		case err != nil:
			return fmt.Errorf("relay.listeners: %w", err)
		case port == "0":
			return fmt.Errorf("the relay listens on %s, a port that is another one at every start: give relay.listen a port", l.Address)
		case r.Advertise != "":
			host = r.Advertise
		case host == "" || net.ParseIP(host).IsUnspecified():
			return fmt.Errorf("the relay listens on every address of its machine (%s): say in relay.advertise under which one applications reach it", l.Address)
		}
		own = append(own, net.JoinHostPort(host, port))
	}
	s.relays = [][]string{own}
	for _, peer := range r.Peers {
		var theirs []string
		for i := range own {
			address, err := configs.NthAddress(peer, i)
			if err != nil {
				return fmt.Errorf("relay.peers: %w", err)
			}
			theirs = append(theirs, address)
		}
		s.relays = append(s.relays, theirs)
	}
	return nil
}

func (s *clientSite) names() []string {
	names := make([]string, len(s.rms))
	for i, rm := range s.rms {
		names[i] = rm.ID
		if rm.ID == "" {
			names[i] = rm.Host
		}
	}
	return names
}

// warnings tells what the settings cannot mend.
func (s *clientSite) warnings() []string {
	var warnings []string
	local := func(what, address, do string) {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) {
			warnings = append(warnings, fmt.Sprintf("%s is %s, which only applications on this machine reach: %s", what, address, do))
		}
	}
	for _, heddle := range s.relays {
		local("the relay", heddle[0], "set relay.listen, or relay.advertise")
	}
	for _, rm := range s.rms {
		local("the ResourceManager's scheduler", rm.Scheduler, "give the address that applications reach with --direct")
	}
	return warnings
}
