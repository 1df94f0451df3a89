package configs

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate checks the values of c and that they do not contradict each other.
// known checks the policy's name and its parameters (a JSON object); nil checks
// neither. The error is Problems without origins; Load adds those.
func (c *Config) Validate(known func(name string, params []byte) error) error {
	v := &validator{}
	v.mode(c.Mode)
	v.resourceManager(&c.ResourceManager)
	v.mapReduce(&c.MapReduce)
	v.tez(&c.Tez)
	v.hdfs(&c.HDFS, c.Security.Authentication)
	v.uplinks(&c.Uplinks)
	v.topology(c)
	v.security(&c.Security)
	v.relay(c)
	v.network(&c.Network)
	v.policy(&c.Policy, known)
	v.state(c)
	v.service(c)
	return v.problems.orNil()
}

// validator gathers problems.
type validator struct{ problems Problems }

// add notes a problem of path; also names other keys it speaks of.
func (v *validator) add(path, message string, also ...string) {
	v.problems = append(v.problems, &Problem{Path: path, Message: message, also: also})
}

func (v *validator) mode(m Mode) {
	oneOf(v, "mode", m, ModeObserve, ModeAdvise, ModeEnforce)
}

func (v *validator) resourceManager(c *ResourceManagerConfig) {
	const path = "resource_manager"
	if len(c.URLs) == 0 {
		v.add(path+".urls", "not known; give the ResourceManagers' URLs, or hadoop.conf_dir with a yarn-site.xml that names them", "hadoop.conf_dir")
	}
	for _, u := range c.URLs {
		baseURL(v, path+".urls", u)
	}
	unique(v, path+".urls", c.URLs)
	within(v, path+".poll_interval", c.PollInterval, hundredMs, hour)
	within(v, path+".max_answer", c.MaxAnswer, 64<<10, 4*gib)
	budget(v, path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
}

func (v *validator) mapReduce(c *MapReduceConfig) {
	const path = "mapreduce"
	if c.HistoryServer != "" {
		baseURL(v, path+".history_server", c.HistoryServer)
	}
	within(v, path+".poll_interval", c.PollInterval, hundredMs, hour)
	budget(v, path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
	within(v, path+".give_up_after", c.GiveUpAfter, second, day)
	if c.GiveUpAfter < c.PollInterval {
		v.add(path+".give_up_after", fmt.Sprintf("%s is shorter than poll_interval %s: a job would be given up before it is tried twice", c.GiveUpAfter, c.PollInterval), path+".poll_interval")
	}
}

func (v *validator) tez(c *TezConfig) {
	const path = "tez"
	if c.TimelineServer != "" {
		baseURL(v, path+".timeline_server", c.TimelineServer)
	}
	within(v, path+".poll_interval", c.PollInterval, hundredMs, hour)
	budget(v, path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
}

func (v *validator) hdfs(c *HDFSConfig, auth Authentication) {
	const path = "hdfs"
	oneOf(v, path+".walk", c.Walk, WalkWebHDFS, WalkRPC, WalkNative)
	if c.Enabled && len(c.NameNodes) == 0 {
		v.add(path+".name_nodes", "not known; give the NameNodes' URLs, or hadoop.conf_dir with an hdfs-site.xml that names them, or hdfs.enabled: false", "hadoop.conf_dir", path+".enabled")
	}
	if c.Enabled && (c.Walk == WalkRPC || c.Walk == WalkNative) && len(c.RPCAddresses) == 0 {
		v.add(path+".rpc_addresses", fmt.Sprintf("not known, but hdfs.walk is %s; give the NameNodes' RPC addresses", c.Walk), "hadoop.conf_dir", path+".walk")
	}
	if c.Enabled && c.Walk == WalkNative && auth == AuthKerberos {
		v.add(path+".walk", "native has simple authentication only, and security.authentication is kerberos: use webhdfs or rpc", "security.authentication")
	}
	for _, u := range c.NameNodes {
		baseURL(v, path+".name_nodes", u)
	}
	unique(v, path+".name_nodes", c.NameNodes)
	for _, a := range c.RPCAddresses {
		hostPort(v, path+".rpc_addresses", a)
	}
	unique(v, path+".rpc_addresses", c.RPCAddresses)
	principal(v, path+".service_principal", c.ServicePrincipal)
	number(v, path+".max_files", c.MaxFiles, 1, 10_000_000)
	number(v, path+".max_blocks", c.MaxBlocks, 1, 100_000_000)
	number(v, path+".cache_blocks", c.CacheBlocks, 0, 100_000_000)
	within(v, path+".cache_age", c.CacheAge, 0, day)
	within(v, path+".interval", c.Interval, second, day)
	budget(v, path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
}

func (v *validator) uplinks(c *UplinksConfig) {
	const path = "uplinks"
	oneOf(v, path+".source", c.Source, UplinkEstimate, UplinkShuffleJMX, UplinkPrometheus)
	for _, rack := range slices.Sorted(maps.Keys(c.Racks)) {
		if !strings.HasPrefix(rack, "/") || strings.HasSuffix(rack, "/") || strings.Contains(rack, "//") {
			v.add(path+".racks."+rack, "want a rack as Hadoop prints it, such as /rack1 or /dc1/rack1")
		}
		within(v, path+".racks."+rack, c.Racks[rack], mbps, 100_000*gbps)
	}
	v.capacity(c)
	p := c.Prometheus
	if p.URL != "" {
		baseURL(v, path+".prometheus.url", p.URL)
	}
	if c.Source == UplinkPrometheus {
		for _, need := range []struct{ key, value string }{{"url", p.URL}, {"out_query", p.OutQuery}, {"in_query", p.InQuery}} {
			if need.value == "" {
				v.add(path+".prometheus."+need.key, "needed because uplinks.source is prometheus", path+".source")
			}
		}
	}
	within(v, path+".prometheus.interval", p.Interval, second, hour)
	within(v, path+".prometheus.timeout", p.Timeout, hundredMs, 10*minute)
	j := c.ShuffleJMX
	within(v, path+".shuffle_jmx.interval", j.Interval, second, hour)
	within(v, path+".shuffle_jmx.timeout", j.Timeout, hundredMs, 10*minute)
	number(v, path+".shuffle_jmx.concurrency", j.Concurrency, 1, 4096)
	number(v, path+".shuffle_jmx.datanode_http_port", j.DataNodeHTTPPort, 1, 65535)
}

// capacity checks that every uplink's capacity is given in exactly one way.
func (v *validator) capacity(c *UplinksConfig) {
	const capacity, ratio, nic = "uplinks.capacity", "uplinks.oversubscription.ratio", "uplinks.oversubscription.node_nic"
	o := c.Oversubscription
	switch {
	case o.Ratio < 0 || o.Ratio > 0 && o.Ratio < 0.01 || o.Ratio > 1000:
		v.add(ratio, fmt.Sprintf("%v: must be from 0.01 to 1000, such as 5 for 5:1", o.Ratio))
	case o.Ratio > 0 && c.Capacity > 0:
		v.add(capacity, "contradicts uplinks.oversubscription.ratio: give one of the two", ratio)
	case o.Ratio > 0 && o.NodeNIC <= 0:
		v.add(nic, "needed because uplinks.oversubscription.ratio is given", ratio)
	case o.Ratio == 0 && o.NodeNIC > 0:
		v.add(nic, "has no use without uplinks.oversubscription.ratio", ratio)
	case o.Ratio == 0:
		within(v, capacity, c.Capacity, mbps, 100_000*gbps)
	}
}

func (v *validator) topology(c *Config) {
	t := &c.Topology
	oneOf(v, "topology.use", t.Use, TopologyVerify, TopologyOverride)
	switch {
	case t.Use != TopologyOverride:
	case t.Table == "":
		v.add("topology.use", "override needs topology.table", "topology.table")
	case c.RelayRuns():
		v.add("topology.use", "override contradicts the relay: asks name racks as the ResourceManager does; use verify", "topology.table", "mode", "relay.listen")
	}
}

func (v *validator) security(c *SecurityConfig) {
	const path = "security"
	oneOf(v, path+".authentication", c.Authentication, AuthSimple, AuthKerberos)
	principal(v, path+".service_principal", c.ServicePrincipal)
	switch c.Authentication {
	case AuthSimple:
		for _, unused := range []struct{ key, value string }{{"principal", c.Principal}, {"keytab", c.Keytab}, {"ccache", c.CCache}} {
			if unused.value != "" {
				v.add(path+"."+unused.key, "contradicts security.authentication: simple; use kerberos or leave this out", path+".authentication")
			}
		}
	case AuthKerberos:
		switch {
		case c.Keytab != "" && c.CCache != "":
			v.add(path+".ccache", "contradicts security.keytab: give one of the two", path+".keytab")
		case c.Keytab == "" && c.CCache == "":
			v.add(path+".keytab", "security.authentication is kerberos: give security.keytab with security.principal, or security.ccache", path+".authentication", path+".ccache")
		case c.Keytab != "" && c.Principal == "":
			v.add(path+".principal", "needed with security.keytab", path+".keytab")
		}
		if c.Krb5Conf == "" {
			v.add(path+".krb5_conf", "needed because security.authentication is kerberos", path+".authentication")
		}
	}
}

func (v *validator) network(c *NetworkConfig) {
	const path = "network"
	if c.Saturation <= 0 || c.Saturation > 1 {
		v.add(path+".saturation", fmt.Sprintf("%v: must be above 0 and at most 1", c.Saturation))
	}
	within(v, path+".period", c.Period, hundredMs, minute)
	within(v, path+".ewma", c.EWMA, 0, 10*minute)
	if c.Hysteresis < 0 {
		v.add(path+".hysteresis", fmt.Sprintf("%v: must not be negative", c.Hysteresis))
	} else if c.Hysteresis >= c.Saturation {
		v.add(path+".hysteresis", fmt.Sprintf("%v is not below network.saturation %v: a saturated rack would never be free again", c.Hysteresis, c.Saturation), path+".saturation")
	}
}

// policy asks the policy about its parameters. Where the answer names one of
// them, the problem is that parameter's.
func (v *validator) policy(c *PolicyConfig, known func(string, []byte) error) {
	if c.Name == "" {
		v.add("policy.name", "needed")
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
			v.add(paramPath(c.Params, e.Error()), e.Error(), "policy.name")
		}
		return
	}
	for _, e := range split(err) {
		v.add("policy.name", e.Error())
	}
}

// paramPath returns the path of the parameter that a message names, the longest
// one if several fit, or that of all parameters.
func paramPath(p Params, message string) string {
	best := ""
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if len(key) > len(best) && strings.Contains(message, key) {
			best = key
		}
	}
	if best == "" {
		return "policy.params"
	}
	return "policy.params." + best
}

// split returns the errors that err joins, or err itself.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func (v *validator) state(c *Config) {
	const path = "state"
	s := &c.State
	within(v, path+".max_age", s.MaxAge, second, hour)
	within(v, path+".publish_interval", s.PublishInterval, Duration(10*time.Millisecond), minute)
	number(v, path+".queue_length", s.QueueLength, 1, 1_000_000)
	number(v, path+".finished_jobs_kept", s.FinishedJobsKept, 0, 1_000_000)
	if s.HistoryFile != "" && !filepath.IsAbs(s.HistoryFile) {
		v.add(path+".history_file", fmt.Sprintf("%q: want an absolute path", s.HistoryFile))
	}
	if s.MaxAge <= c.ResourceManager.PollInterval {
		v.add(path+".max_age", fmt.Sprintf("%s is not longer than resource_manager.poll_interval %s: every decision would find the state too old", s.MaxAge, c.ResourceManager.PollInterval), "resource_manager.poll_interval")
	}
	if s.PublishInterval >= s.MaxAge {
		v.add(path+".publish_interval", fmt.Sprintf("%s is not shorter than state.max_age %s: readers would see state too old to decide on", s.PublishInterval, s.MaxAge), path+".max_age")
	}
}

// service checks the sections that concern the process itself.
func (v *validator) service(c *Config) {
	w := &c.Web
	if _, port, err := net.SplitHostPort(w.ListenAddress); err != nil {
		v.add("web.listen_address", fmt.Sprintf("%q: want host:port, such as %s", w.ListenAddress, DefaultListenAddress))
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		v.add("web.listen_address", fmt.Sprintf("%q: bad port %q", w.ListenAddress, port))
	}
	within(v, "web.max_body", w.MaxBody, 1<<10, gib)
	within(v, "web.timeout", w.Timeout, hundredMs, 10*minute)
	number(v, "web.concurrency", w.Concurrency, 1, 65536)
	oneOf(v, "log.level", c.Log.Level, LogTrace, LogDebug, LogInfo, LogWarn, LogError)
	oneOf(v, "log.format", c.Log.Format, LogText, LogJSON)
	within(v, "record.max_size", c.Record.MaxSize, mib, 1024*gib)
	within(v, "record.flush_interval", c.Record.FlushInterval, Duration(10*time.Millisecond), minute)
}
