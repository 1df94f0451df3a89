package hadoopconf

import (
	"slices"
	"strconv"
	"strings"
)

// HistoryServer returns the base URL of the MapReduce JobHistory server.
func (c *Config) HistoryServer() (Setting, bool, error) {
	return webService(c, jhsHTTPPolicy, webKeys{
		"mapreduce.jobhistory.webapp.address", portJHS,
		"mapreduce.jobhistory.webapp.https.address", portJHSHTTPS,
	}, "mapreduce.jobhistory.address")
}

// TimelineServer returns the base URL of YARN's timeline server, where one of
// version 1 or 1.5 is enabled.
func (c *Config) TimelineServer() (Setting, bool, error) {
	enabled, _, err := c.Lookup("yarn.timeline-service.enabled")
	if err != nil || !strings.EqualFold(enabled.Value, "true") {
		return Setting{}, false, err
	}
	versions, ok, err := c.Lookup("yarn.timeline-service.versions") // several at once, in place of version
	if !ok && err == nil {
		versions, ok, err = c.Lookup("yarn.timeline-service.version")
	}
	if err != nil || ok && !slices.ContainsFunc(splitList(versions.Value), func(v string) bool { return strings.HasPrefix(v, "1") }) {
		return Setting{}, false, err
	}
	return webService(c, yarnHTTPPolicy, webKeys{
		"yarn.timeline-service.webapp.address", portTimeline,
		"yarn.timeline-service.webapp.https.address", portTimelineHTTPS,
	}, "yarn.timeline-service.hostname", "yarn.timeline-service.address")
}

// TopologyTable returns the file of Hadoop's table of racks, where
// TableMapping is configured.
func (c *Config) TopologyTable() (Setting, bool, error) {
	mapping, _, err := c.Lookup("net.topology.node.switch.mapping.impl")
	if err != nil || !strings.HasSuffix(mapping.Value, ".TableMapping") {
		return Setting{}, false, err
	}
	return c.Setting("net.topology.table.file.name")
}

// DataNodePort returns the port of the DataNodes' web server, where it is not
// Hadoop's default over HTTP.
func (c *Config) DataNodePort() (Setting, bool, error) {
	https, policy, err := httpsOnly(c, hdfsHTTPPolicy)
	if err != nil {
		return Setting{}, false, err
	}
	key, port := "dfs.datanode.http.address", portDN
	if https {
		key, port = "dfs.datanode.https.address", portDNHTTPS
	}
	p, ok, err := c.Lookup(key)
	switch {
	case err != nil || !ok && !https:
		return Setting{}, false, err
	case !ok:
		return Setting{strconv.Itoa(port), policy}, true, nil
	case strings.HasSuffix(p.Value, ":0"): // each DataNode picks its own
		return Setting{}, false, nil
	}
	_, text, err := splitAddress(p.Value, port)
	if err != nil {
		return Setting{}, false, p.errorf("%v", err)
	}
	return Setting{text, p}, true, nil
}

// NodeManagerHTTPS returns "true" where NodeManagers speak HTTPS only.
func (c *Config) NodeManagerHTTPS() (Setting, bool, error) {
	https, policy, err := httpsOnly(c, yarnHTTPPolicy)
	return Setting{"true", policy}, https, err
}
