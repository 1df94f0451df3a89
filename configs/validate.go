package configs

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
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
	v.hdfs(&c.HDFS)
	v.uplinks(&c.Uplinks)
	v.topology(&c.Topology)
	v.security(&c.Security)
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

// within checks low <= value <= high.
func within[T interface {
	cmp.Ordered
	fmt.Stringer
}](v *validator, path string, value, low, high T) {
	switch {
	case value < low:
		v.add(path, fmt.Sprintf("%s: must be at least %s", value, low))
	case value > high:
		v.add(path, fmt.Sprintf("%s: must be at most %s", value, high))
	}
}

// number checks low <= value <= high of a plain number.
func number[T int | float64](v *validator, path string, value, low, high T) {
	if value < low || value > high {
		v.add(path, fmt.Sprintf("%v: must be from %v to %v", value, low, high))
	}
}

// oneOf checks that value is one of the allowed ones.
func oneOf[T ~string](v *validator, path string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	v.add(path, fmt.Sprintf("%q: want one of %s", value, strings.Join(names, ", ")))
}

const (
	hundredMs = Duration(100 * time.Millisecond)
	second    = Duration(time.Second)
	minute    = Duration(time.Minute)
	hour      = Duration(time.Hour)
	day       = 24 * hour
)

// baseURL checks the base URL of a service.
func (v *validator) baseURL(path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		v.add(path, "not a URL; want one such as http://host:8088") // url.Error repeats the text, which may hold a password
	case u.User != nil:
		v.add(path, "a URL with a user or password is not accepted; authentication is set in the section security")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		v.add(path, fmt.Sprintf("%q: want a URL such as http://host:8088", text))
	case u.RawQuery != "" || u.Fragment != "" || strings.Contains(text, "?"):
		v.add(path, fmt.Sprintf("%q: want a base URL, without a query", text))
	default:
		if p := u.Port(); p != "" {
			if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
				v.add(path, fmt.Sprintf("%q: bad port %s", text, p))
			}
		}
	}
}

// unique checks that a list names nothing twice.
func (v *validator) unique(path string, list []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if k := strings.TrimSuffix(s, "/"); seen[k] {
			v.add(path, fmt.Sprintf("%q is given twice", s))
		} else {
			seen[k] = true
		}
	}
}

// budget checks the limits of what is spent on one of Hadoop's services.
func (v *validator) budget(section string, requests float64, bytes Rate, timeout Duration) {
	number(v, section+".requests_per_second", requests, 0.1, 100_000)
	within(v, section+".bytes_per_second", bytes, Rate(1<<10), 1000*gbps)
	within(v, section+".timeout", timeout, hundredMs, 10*minute)
}

func (v *validator) mode(m Mode) {
	if m == ModeEnforce {
		v.add("mode", "enforce needs the relay, which this version does not have; use observe or advise")
		return
	}
	oneOf(v, "mode", m, ModeObserve, ModeAdvise)
}

func (v *validator) resourceManager(c *ResourceManagerConfig) {
	const path = "resource_manager"
	if len(c.URLs) == 0 {
		v.add(path+".urls", "not known; give the ResourceManagers' URLs, or hadoop.conf_dir with a yarn-site.xml that names them", "hadoop.conf_dir")
	}
	for _, u := range c.URLs {
		v.baseURL(path+".urls", u)
	}
	v.unique(path+".urls", c.URLs)
	within(v, path+".poll_interval", c.PollInterval, hundredMs, hour)
	within(v, path+".max_answer", c.MaxAnswer, 64<<10, 4*gib)
	v.budget(path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
}

func (v *validator) mapReduce(c *MapReduceConfig) {
	const path = "mapreduce"
	if c.HistoryServer != "" {
		v.baseURL(path+".history_server", c.HistoryServer)
	}
	within(v, path+".poll_interval", c.PollInterval, hundredMs, hour)
	v.budget(path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
	within(v, path+".give_up_after", c.GiveUpAfter, second, day)
	if c.GiveUpAfter < c.PollInterval {
		v.add(path+".give_up_after", fmt.Sprintf("%s is shorter than poll_interval %s: a job would be given up before it is tried twice", c.GiveUpAfter, c.PollInterval), path+".poll_interval")
	}
}

func (v *validator) hdfs(c *HDFSConfig) {
	const path = "hdfs"
	oneOf(v, path+".walk", c.Walk, WalkWebHDFS, WalkRPC)
	if c.Enabled && len(c.NameNodes) == 0 {
		v.add(path+".name_nodes", "not known; give the NameNodes' URLs, or hadoop.conf_dir with an hdfs-site.xml that names them, or hdfs.enabled: false", "hadoop.conf_dir", path+".enabled")
	}
	if c.Enabled && c.Walk == WalkRPC && len(c.RPCAddresses) == 0 {
		v.add(path+".rpc_addresses", "not known, but hdfs.walk is rpc; give the NameNodes' RPC addresses", "hadoop.conf_dir", path+".walk")
	}
	for _, u := range c.NameNodes {
		v.baseURL(path+".name_nodes", u)
	}
	v.unique(path+".name_nodes", c.NameNodes)
	for _, a := range c.RPCAddresses {
		v.hostPort(path+".rpc_addresses", a)
	}
	v.unique(path+".rpc_addresses", c.RPCAddresses)
	v.principal(path+".service_principal", c.ServicePrincipal)
	number(v, path+".max_files", c.MaxFiles, 1, 10_000_000)
	number(v, path+".max_blocks", c.MaxBlocks, 1, 100_000_000)
	number(v, path+".cache_blocks", c.CacheBlocks, 0, 100_000_000)
	within(v, path+".cache_age", c.CacheAge, 0, day)
	within(v, path+".interval", c.Interval, second, day)
	v.budget(path, c.RequestsPerSecond, c.BytesPerSecond, c.Timeout)
}

// hostPort checks an address to connect to.
func (v *validator) hostPort(path, text string) {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || n == 0 || host == "" || strings.ContainsAny(host, "/@ ") {
		v.add(path, fmt.Sprintf("%q: want host:port", text))
	}
}

// principal checks a service's principal, "service/host" with or without a realm.
func (v *validator) principal(path, text string) {
	name, _, _ := strings.Cut(text, "@")
	service, host, ok := strings.Cut(name, "/")
	if !ok || service == "" || host == "" || strings.ContainsAny(text, " \t") {
		v.add(path, fmt.Sprintf("%q: want service/host, such as HTTP/_HOST@EXAMPLE.COM", text))
	}
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
		v.baseURL(path+".prometheus.url", p.URL)
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

func (v *validator) topology(c *TopologyConfig) {
	oneOf(v, "topology.use", c.Use, TopologyVerify, TopologyOverride)
	if c.Use == TopologyOverride && c.Table == "" {
		v.add("topology.use", "override needs topology.table", "topology.table")
	}
}

func (v *validator) security(c *SecurityConfig) {
	const path = "security"
	oneOf(v, path+".authentication", c.Authentication, AuthSimple, AuthKerberos)
	v.principal(path+".service_principal", c.ServicePrincipal)
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
