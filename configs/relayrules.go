package configs

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"heddle/configs/strict"
)

func (c *Config) relayRules(v *strict.Validator) {
	c.listenerRules(v)
	for i := range c.Relay.Scopes {
		if s := &c.Relay.Scopes[i]; len(s.Queues)+len(s.Users)+len(s.Types)+len(s.Tags) == 0 {
			v.AddPath(strict.RowPath("relay.scopes", i), "matches every application; give queues, users, types or tags, or omit scopes")
		}
	}
	stageRules(v, c.Relay.Stages)
	l := &c.Relay.Limits
	for _, step := range []struct {
		after, deadline *strict.Duration
		name            string
	}{{&l.WidenAfter, &l.TrimDeadline, "trim_deadline"}, {&l.FullAfter, &l.PinDeadline, "pin_deadline"}} {
		if *step.after >= *step.deadline {
			v.Add(step.after, fmt.Sprintf("%s is not shorter than %s %s: it would never happen", *step.after, step.name, *step.deadline), step.deadline)
		}
	}
	if l.HoldByRank && l.HoldMax == 0 {
		v.Add(&l.HoldByRank, "holds nothing with hold_max 0s; give hold_max, such as 10m", &l.HoldMax)
	}
	if l.HoldMax > 0 && len(c.Relay.Peers) == 0 && !l.HoldWithoutPeer {
		v.Add(&l.HoldMax, fmt.Sprintf("%s: a hold needs a second heddle, named by relay.peers: if the only one dies, nothing ends its holds and the jobs hang. "+
			"0s never holds; %s: true takes the risk", l.HoldMax, v.Path(&l.HoldWithoutPeer)), &c.Relay.Peers, &l.HoldWithoutPeer)
	}
}

// listenerRules checks where the relay listens and where it connects to.
func (c *Config) listenerRules(v *strict.Validator) {
	r := &c.Relay
	first, err := NthAddress(r.Listen, 0)
	if c.RelayRuns() && len(r.Listeners) == 0 && (r.Listen == "" || err == nil) {
		v.Add(&r.Listeners, "not known; give hadoop.conf_dir with a yarn-site.xml that names the ResourceManagers, or entries of address and upstream", &c.Hadoop.ConfDir, &r.Listen, &c.Mode)
	}
	if err == nil && len(r.Listeners) > 0 && r.Listeners[0].Address != first {
		v.Add(&r.Listen, fmt.Sprintf("contradicts relay.listeners, whose first address is %s: give one of the two", r.Listeners[0].Address), &r.Listeners)
	}
	for i := range r.Listeners {
		r.listenerRules(v, i)
	}
}

// listenerRules checks one listener against the others before it.
func (r *RelayConfig) listenerRules(v *strict.Validator, i int) {
	l := &r.Listeners[i]
	if l.Address == "" {
		v.Add(&l.Address, "needed: the host and port to listen on")
	}
	if l.Upstream == "" {
		v.Add(&l.Upstream, "needed: the host and port of the ResourceManager's scheduler address")
	}
	if l.RM == "" && len(r.Listeners) > 1 || strings.ContainsAny(l.RM, ",. \t") {
		v.Add(&l.RM, fmt.Sprintf("%q: want the rm-id of yarn.resourcemanager.ha.rm-ids", l.RM))
	}
	if slices.ContainsFunc(r.Listeners[:i], func(o RelayListener) bool { return o.RM == l.RM }) {
		v.Add(&l.RM, fmt.Sprintf("%q is given twice", l.RM))
	}
	if slices.ContainsFunc(r.Listeners[:i], func(o RelayListener) bool { return o.Address == l.Address }) && !strings.HasSuffix(l.Address, ":0") {
		v.Add(&l.Address, l.Address+" is given twice")
	}
	if r.isRelay(l.Upstream) {
		v.Add(&l.Upstream, l.Upstream+" is a relay, not the ResourceManager: it would connect to itself. Where Hadoop's files already send clients through heddle, give relay.listeners here, or a hadoop.conf_dir of the ResourceManager")
	}
}

// isRelay reports whether an address is one of this or another heddle's relay.
func (r *RelayConfig) isRelay(address string) bool {
	return slices.Contains(r.Peers, address) || slices.ContainsFunc(r.Listeners, func(l RelayListener) bool {
		_, port, err := net.SplitHostPort(l.Address)
		return l.Address == address || err == nil && r.Advertise != "" && net.JoinHostPort(r.Advertise, port) == address
	})
}

func stageRules(v *strict.Validator, stages []RelayStage) {
	for i := range stages {
		s := &stages[i]
		if s.Type == "" || strings.ContainsAny(s.Type, ", \t") {
			v.Add(&s.Type, fmt.Sprintf("%q: want an application type, such as MAPREDUCE", s.Type))
		}
		if s.Stage == "" {
			v.Add(&s.Stage, "needed: map, reduce or other")
		}
		for _, p := range s.Priorities {
			if p < 0 {
				v.Add(&s.Priorities, fmt.Sprintf("%d: a priority is not negative", p))
			}
		}
		if j := slices.IndexFunc(stages[:i], func(earlier RelayStage) bool { return earlier.covers(s) }); j >= 0 {
			v.AddPath(strict.RowPath("relay.stages", i), fmt.Sprintf("never counts: relay.stages[%d] before it matches every ask that it matches", j))
		}
	}
}

// covers reports whether s matches every ask that t matches.
func (s *RelayStage) covers(t *RelayStage) bool {
	if s.Type != t.Type || s.Local() != nil && s.LocalRows != t.LocalRows {
		return false
	}
	if len(s.Priorities) == 0 {
		return true
	}
	return len(t.Priorities) > 0 && !slices.ContainsFunc(t.Priorities, func(p int) bool { return !slices.Contains(s.Priorities, p) })
}

// NthAddress returns the n-th address, from 0, of those that follow host:port by
// consecutive ports. Port 0 stays as it is.
func NthAddress(first string, n int) (string, error) {
	host, text, err := net.SplitHostPort(first)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: %w", first, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: bad port %q", first, text)
	}
	if port != 0 {
		port += uint64(n) //nolint:gosec // a small index
	}
	if port > 65535 {
		return "", fmt.Errorf("%s leaves no port for ResourceManager %d", first, n+1)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}
