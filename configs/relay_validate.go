package configs

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"heddle/core/model"
)

func (v *validator) relay(c *Config) {
	const path = "relay"
	r := &c.Relay
	v.relayListeners(c)
	if r.Advertise != "" && !isHost(r.Advertise) {
		v.add(path+".advertise", fmt.Sprintf("%q: want a host name or IP address, without a port", r.Advertise))
	}
	for _, p := range r.Peers {
		hostPort(v, path+".peers", p)
	}
	unique(v, path+".peers", r.Peers)
	if strings.ContainsAny(r.OptOutTag, ", \t") {
		v.add(path+".opt_out_tag", fmt.Sprintf("%q: want one tag, without spaces or commas", r.OptOutTag))
	}
	v.scopes(r.Scopes)
	v.stages(r.Stages)
	v.relayLimits(&r.Limits, len(r.Peers) > 0)
	for key, file := range map[string]string{path + ".journal": r.Journal, path + ".handover_socket": r.HandoverSocket} { // order-free: problems are sorted by place
		if file != "" && !filepath.IsAbs(file) {
			v.add(key, fmt.Sprintf("%q: want an absolute path", file))
		}
	}
	number(v, path+".max_connections", r.MaxConnections, 1, 1_000_000)
	within(v, path+".dial_timeout", r.DialTimeout, hundredMs, minute)
}

// relayListeners checks where the relay listens and where it connects to.
func (v *validator) relayListeners(c *Config) {
	const path = "relay.listeners"
	r := &c.Relay
	listenAddress(v, "relay.listen", r.Listen)
	first, listenErr := NthAddress(r.Listen, 0)
	if c.RelayRuns() && len(r.Listeners) == 0 && (r.Listen == "" || listenErr == nil) {
		v.add(path, "not known; give hadoop.conf_dir with a yarn-site.xml that names the ResourceManagers, or entries of address and upstream", "hadoop.conf_dir", "relay.listen", "mode")
	}
	if listenErr == nil && len(r.Listeners) > 0 && r.Listeners[0].Address != first {
		v.add("relay.listen", fmt.Sprintf("contradicts relay.listeners, whose first address is %s: give one of the two", r.Listeners[0].Address), path)
	}
	for i, l := range r.Listeners {
		at := fmt.Sprintf("%s[%d]", path, i)
		if l.Address == "" {
			v.add(at+".address", "needed: the host and port to listen on")
		}
		listenAddress(v, at+".address", l.Address)
		if l.Upstream == "" {
			v.add(at+".upstream", "needed: the host and port of the ResourceManager's scheduler address")
		} else {
			hostPort(v, at+".upstream", l.Upstream)
		}
		if l.RM == "" && len(r.Listeners) > 1 || strings.ContainsAny(l.RM, ",. \t") {
			v.add(at+".rm", fmt.Sprintf("%q: want the rm-id of yarn.resourcemanager.ha.rm-ids", l.RM))
		}
		for _, other := range r.Listeners[:i] {
			v.differ(at, l, other)
		}
		if r.reaches(l.Upstream) {
			v.add(at+".upstream", l.Upstream+" is a relay, not the ResourceManager: it would connect to itself. Where Hadoop's files already send clients through heddle, give relay.listeners here, or a hadoop.conf_dir of the ResourceManager")
		}
	}
}

// differ checks that two listeners do not stand for the same ResourceManager or
// listen on the same address.
func (v *validator) differ(at string, l, other RelayListener) {
	if l.RM == other.RM {
		v.add(at+".rm", fmt.Sprintf("%q is given twice", l.RM))
	}
	if l.Address == other.Address && !strings.HasSuffix(l.Address, ":0") {
		v.add(at+".address", l.Address+" is given twice")
	}
}

// reaches reports whether an address is one of this or another heddle's relay.
func (r *RelayConfig) reaches(address string) bool {
	if slices.Contains(r.Peers, address) {
		return true
	}
	for _, l := range r.Listeners {
		_, port, err := net.SplitHostPort(l.Address)
		if l.Address == address || err == nil && r.Advertise != "" && net.JoinHostPort(r.Advertise, port) == address {
			return true
		}
	}
	return false
}

func (v *validator) scopes(scopes []RelayScope) {
	for i, s := range scopes {
		at := fmt.Sprintf("relay.scopes[%d]", i)
		if len(s.Queues)+len(s.Users)+len(s.Types)+len(s.Tags) == 0 {
			v.add(at, "matches every application; say queues, users, types or tags, or leave scopes out")
		}
		for _, list := range []struct {
			key   string
			names []string
		}{{".queues", s.Queues}, {".users", s.Users}, {".types", s.Types}, {".tags", s.Tags}} {
			unique(v, at+list.key, list.names)
			for _, name := range list.names {
				if name == "" || strings.ContainsAny(name, ", \t") {
					v.add(at+list.key, fmt.Sprintf("%q: want one name, without spaces or commas", name))
				}
			}
		}
	}
}

func (v *validator) stages(stages []RelayStage) {
	for i, s := range stages {
		at := fmt.Sprintf("relay.stages[%d]", i)
		if s.Type == "" || strings.ContainsAny(s.Type, ", \t") {
			v.add(at+".type", fmt.Sprintf("%q: want an application type, such as MAPREDUCE", s.Type))
		}
		oneOf(v, at+".stage", s.Stage, model.StageMap, model.StageReduce, model.StageOther)
		if s.LocalRows != "" {
			oneOf(v, at+".local_rows", s.LocalRows, LocalAny, LocalWith, LocalWithout)
		}
		for _, p := range s.Priorities {
			if p < 0 {
				v.add(at+".priorities", fmt.Sprintf("%d: a priority is not negative", p))
			}
		}
		for j := range i {
			if stages[j].covers(&stages[i]) {
				v.add(at, fmt.Sprintf("never counts: relay.stages[%d] before it fits everything that it fits", j))
				break
			}
		}
	}
}

// covers reports whether s fits every ask that t fits.
func (s *RelayStage) covers(t *RelayStage) bool {
	if s.Type != t.Type || s.Local() != nil && s.LocalRows != t.LocalRows {
		return false
	}
	if len(s.Priorities) == 0 {
		return true
	}
	return len(t.Priorities) > 0 && !slices.ContainsFunc(t.Priorities, func(p int) bool { return !slices.Contains(s.Priorities, p) })
}

func (v *validator) relayLimits(l *RelayLimits, peers bool) {
	const path = "relay.limits"
	within(v, path+".pin_deadline", l.PinDeadline, second, hour)
	within(v, path+".trim_deadline", l.TrimDeadline, second, hour)
	within(v, path+".widen_after", l.WidenAfter, 0, hour)
	within(v, path+".full_after", l.FullAfter, second, hour)
	within(v, path+".hold_max", l.HoldMax, 0, hour)
	oneOf(v, path+".spread", l.Spread, SpreadPack, SpreadEven)
	within(v, path+".decide_in", l.DecideIn, 0, 2*second)
	number(v, path+".max_keys", l.MaxKeys, 1, 1_000_000)
	number(v, path+".max_rows", l.MaxRows, 1, 10_000_000)
	for _, pair := range []struct {
		key      string
		value    Duration
		deadline string
		end      Duration
	}{
		{"widen_after", l.WidenAfter, "trim_deadline", l.TrimDeadline},
		{"full_after", l.FullAfter, "pin_deadline", l.PinDeadline},
	} {
		if pair.value >= pair.end {
			v.add(path+"."+pair.key, fmt.Sprintf("%s is not shorter than %s %s: it would never happen", pair.value, pair.deadline, pair.end), path+"."+pair.deadline)
		}
	}
	if l.HoldMax > 0 && !peers && !l.HoldWithoutPeer {
		v.add(path+".hold_max", fmt.Sprintf("%s: a hold needs a second heddle, named by relay.peers: if the only one dies, nothing ends its holds and the jobs hang. "+
			"0s never holds; hold_without_peer: true takes the risk", l.HoldMax), "relay.peers", path+".hold_without_peer")
	}
}
