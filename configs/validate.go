package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/configs/strict"
)

// rules checks what tags cannot: that keys do not contradict each other, and that
// none is missing.
func (c *Config) rules(v *strict.Validator, knownPolicy func(name string, params []byte) error) {
	c.resourceManagerRules(v)
	c.hdfsRules(v)
	c.uplinkRules(v)
	c.topologyRules(v)
	c.securityRules(v)
	c.networkRules(v)
	c.timingRules(v)
	c.Policy.rules(v, knownPolicy)
	c.shadowRules(v, knownPolicy)
	c.guardRules(v)
	c.relayRules(v)
}

func (c *Config) resourceManagerRules(v *strict.Validator) {
	if len(c.ResourceManager.URLs) == 0 {
		v.Add(&c.ResourceManager.URLs, "not known; give the ResourceManagers' URLs, or hadoop.conf_dir with a yarn-site.xml that names them", &c.Hadoop.ConfDir)
	}
}

func (c *Config) hdfsRules(v *strict.Validator) {
	h := &c.HDFS
	if !h.Enabled {
		return
	}
	if len(h.NameNodes) == 0 {
		v.Add(&h.NameNodes, "not known; give the NameNodes' URLs, or hadoop.conf_dir with an hdfs-site.xml that names them, or hdfs.enabled: false", &c.Hadoop.ConfDir, &h.Enabled)
	}
}

func (c *Config) uplinkRules(v *strict.Validator) {
	u, o, p := &c.Uplinks, &c.Uplinks.Oversubscription, &c.Uplinks.Prometheus
	for _, rack := range slices.Sorted(maps.Keys(u.Racks)) {
		if !strings.HasPrefix(rack, "/") || strings.HasSuffix(rack, "/") || strings.Contains(rack, "//") {
			v.AddPath(v.Path(&u.Racks)+"."+rack, "want a rack as Hadoop prints it, such as /rack1 or /dc1/rack1")
		}
	}
	switch { // every capacity is given in exactly one way
	case o.Ratio < 0 || o.Ratio > 0 && o.Ratio < 0.01 || o.Ratio > 1000:
		v.Add(&o.Ratio, fmt.Sprintf("%v: must be from 0.01 to 1000, such as 5 for 5:1", o.Ratio))
	case o.Ratio > 0 && u.Capacity > 0:
		v.Add(&u.Capacity, "contradicts uplinks.oversubscription.ratio: give one of the two", &o.Ratio)
	case o.Ratio > 0 && o.NodeNIC <= 0:
		v.Add(&o.NodeNIC, "needed because uplinks.oversubscription.ratio is given", &o.Ratio)
	case o.Ratio == 0 && o.NodeNIC > 0:
		v.Add(&o.NodeNIC, "has no use without uplinks.oversubscription.ratio", &o.Ratio)
	case o.Ratio == 0 && (u.Capacity < mbps || u.Capacity > 100_000*gbps):
		v.Add(&u.Capacity, fmt.Sprintf("%s: must be from 1Mbps to 100Tbps", u.Capacity))
	}
	if u.Source == UplinkPrometheus {
		for _, needed := range []*string{&p.URL, &p.OutQuery, &p.InQuery} {
			if *needed == "" {
				v.Add(needed, "needed because uplinks.source is prometheus", &u.Source)
			}
		}
	}
}

func (c *Config) topologyRules(v *strict.Validator) {
	t := &c.Topology
	switch {
	case t.Use != TopologyOverride:
	case t.Table == "":
		v.Add(&t.Use, "override needs topology.table", &t.Table)
	case c.RelayRuns():
		v.Add(&t.Use, "override contradicts the relay: asks name racks as the ResourceManager does; use verify", &t.Table, &c.Mode, &c.Relay.Listen)
	}
}

func (c *Config) securityRules(v *strict.Validator) {
	s := &c.Security
	if s.Authentication == AuthSimple {
		for _, unused := range []*string{&s.Principal, &s.Keytab, &s.CCache} {
			if *unused != "" {
				v.Add(unused, "contradicts security.authentication: simple; use kerberos or omit this key", &s.Authentication)
			}
		}
	}
	if s.Authentication != AuthKerberos {
		return
	}
	switch {
	case s.Keytab != "" && s.CCache != "":
		v.Add(&s.CCache, "contradicts security.keytab: give one of the two", &s.Keytab)
	case s.Keytab == "" && s.CCache == "":
		v.Add(&s.Keytab, "security.authentication is kerberos: give security.keytab with security.principal, or security.ccache", &s.Authentication, &s.CCache)
	case s.Keytab != "" && s.Principal == "":
		v.Add(&s.Principal, "needed with security.keytab", &s.Keytab)
	}
	if s.Krb5Conf == "" {
		v.Add(&s.Krb5Conf, "needed because security.authentication is kerberos", &s.Authentication)
	}
}

func (c *Config) networkRules(v *strict.Validator) {
	n := &c.Network
	if n.Saturation <= 0 || n.Saturation > 1 {
		v.Add(&n.Saturation, fmt.Sprintf("%v: must be above 0 and at most 1", n.Saturation))
	}
	switch {
	case n.Hysteresis < 0:
		v.Add(&n.Hysteresis, fmt.Sprintf("%v: must not be negative", n.Hysteresis))
	case n.Hysteresis >= n.Saturation:
		v.Add(&n.Hysteresis, fmt.Sprintf("%v is not below network.saturation %v: a saturated rack would never be free again", n.Hysteresis, n.Saturation), &n.Saturation)
	}
}

func (c *Config) timingRules(v *strict.Validator) {
	if m := &c.MapReduce; m.GiveUpAfter < m.PollInterval {
		v.Add(&m.GiveUpAfter, fmt.Sprintf("%s is shorter than poll_interval %s: a job would be given up before it is tried twice", m.GiveUpAfter, m.PollInterval), &m.PollInterval)
	}
	s, poll := &c.State, &c.ResourceManager.PollInterval
	if s.MaxAge <= *poll {
		v.Add(&s.MaxAge, fmt.Sprintf("%s is not longer than resource_manager.poll_interval %s: every decision would find the state too old", s.MaxAge, *poll), poll)
	}
	if s.PublishInterval >= s.MaxAge {
		v.Add(&s.PublishInterval, fmt.Sprintf("%s is not shorter than state.max_age %s: readers would see state too old to decide on", s.PublishInterval, s.MaxAge), &s.MaxAge)
	}
}

// rules asks the policy about its parameters. Where the answer names one of
// them, the problem is that parameter's.
func (c *PolicyConfig) rules(v *strict.Validator, known func(name string, params []byte) error) {
	if c.Name == "" {
		v.Add(&c.Name, "needed")
		return
	}
	if known == nil {
		return
	}
	err := known(c.Name, c.Params.JSON())
	if err == nil {
		return
	}
	if len(c.Params) > 0 && known(c.Name, []byte("{}")) == nil { // then the name is not what is wrong
		for _, e := range split(err) {
			v.AddPath(strict.Join(v.Path(&c.Params), c.paramOf(e.Error())), e.Error(), v.Path(&c.Name))
		}
		return
	}
	for _, e := range split(err) {
		v.Add(&c.Name, e.Error())
	}
}

// mostShadows bounds the policies that are compared: each keeps an account of every live job.
const mostShadows = 8

func (c *Config) shadowRules(v *strict.Validator, known func(name string, params []byte) error) {
	s := &c.Shadow
	if !(s.LoopTime > 0 && s.LoopTime <= 0.5) {
		v.Add(&s.LoopTime, fmt.Sprintf("%g: must be above 0 and at most 0.5", s.LoopTime))
	}
	if len(s.Policies) > mostShadows {
		v.Add(&s.Policies, fmt.Sprintf("%d policies: at most %d can be compared at once", len(s.Policies), mostShadows))
	}
	taken := map[string]bool{}
	if c.Mode != ModeObserve {
		taken[c.Policy.Name] = true
	}
	for i := range s.Policies {
		p := &s.Policies[i]
		at := strict.RowPath("shadow.policies", i)
		if p.Name == "" {
			v.AddPath(at, "name: needed")
			continue
		}
		if taken[p.Called()] {
			v.AddPath(at, p.Called()+" is the name or label of another policy; give each a label of its own")
		}
		taken[p.Called()] = true
		if known == nil {
			continue
		}
		if err := known(p.Name, p.Params.JSON()); err != nil {
			for _, e := range split(err) {
				v.AddPath(at, e.Error())
			}
		}
	}
}

func (c *Config) guardRules(v *strict.Validator) {
	g := &c.Guard
	if !(g.Control >= 0 && g.Control < 0.5) {
		v.Add(&g.Control, fmt.Sprintf("%g: must be at least 0 and below 0.5", g.Control))
	}
	if !(g.Margin >= 0 && g.Margin <= 1) {
		v.Add(&g.Margin, fmt.Sprintf("%g: must be from 0 to 1", g.Margin))
	}
}

// paramOf returns the parameter that a message names, the longest one if
// several fit, "" for none.
func (c *PolicyConfig) paramOf(message string) string {
	longest := ""
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if len(name) > len(longest) && strings.Contains(message, name) {
			longest = name
		}
	}
	return longest
}

// split returns the errors that err joins, or err itself.
func split(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
