package configs

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Ports Hadoop's services have when an address names none (yarn-default.xml,
// hdfs-default.xml, mapred-default.xml of 3.x).
const (
	portRM, portRMHTTPS             = 8088, 8090
	portScheduler, portRMTracker    = 8030, 8031
	portRMClient, portRMAdmin       = 8032, 8033
	portNN, portNNHTTPS, portNNRPC  = 9870, 9871, 8020
	portJHS, portJHSHTTPS           = 19888, 19890
	portDN, portDNHTTPS             = 9864, 9865
	portTimeline, portTimelineHTTPS = 8188, 8190
	httpsOnly                       = "HTTPS_ONLY"
	tableMapping                    = "TableMapping"
	policyYARN, policyDFS, policyMR = "yarn.http.policy", "dfs.http.policy", "mapreduce.jobhistory.http.policy"
)

// finding is a value read out of Hadoop's configuration: its text for setText
// and the property it is owed to.
type finding struct {
	text string
	at   Property
}

// discover returns what Hadoop's files say about one key of the configuration;
// false when they say nothing or the key belongs to something that is switched
// off. The error is a *Problem.
func (h *Hadoop) discover(path string, c *Config) (finding, bool, error) {
	if strings.HasPrefix(path, "hdfs.") && !c.HDFS.Enabled ||
		strings.HasPrefix(path, "mapreduce.") && !c.MapReduce.Enabled ||
		strings.HasPrefix(path, "uplinks.shuffle_jmx.") && c.Uplinks.Source != UplinkShuffleJMX ||
		strings.HasPrefix(path, "relay.") && !c.RelayRuns() {
		return finding{}, false, nil
	}
	switch path {
	case "resource_manager.urls":
		return resourceManagers{h}.urls()
	case "relay.listeners":
		return resourceManagers{h}.relayListeners(c.Relay.Listen)
	case "mapreduce.history_server":
		return h.webService(policyMR, webKeys{
			"mapreduce.jobhistory.webapp.address", portJHS,
			"mapreduce.jobhistory.webapp.https.address", portJHSHTTPS,
		}, "mapreduce.jobhistory.address")
	case "tez.timeline_server":
		return h.timelineServer()
	case "hdfs.name_nodes":
		n := nameNodes{h, c.HDFS.Nameservice}
		return n.each(n.web)
	case "hdfs.rpc_addresses":
		n := nameNodes{h, c.HDFS.Nameservice}
		return n.each(n.rpc)
	case "hdfs.service_principal":
		return h.plain("dfs.namenode.kerberos.principal")
	case "security.authentication":
		f, ok, err := h.plain("hadoop.security.authentication")
		f.text = strings.ToLower(f.text) // Hadoop reads it in any case
		return f, ok, err
	case "topology.table":
		return h.topologyTable()
	case "uplinks.shuffle_jmx.datanode_http_port":
		return h.dataNodePort()
	case "uplinks.shuffle_jmx.datanode_https":
		return h.isHTTPS(policyDFS)
	case "uplinks.shuffle_jmx.node_manager_https":
		return h.isHTTPS(policyYARN)
	}
	return finding{}, false, nil
}

// plain returns a property as it is.
func (h *Hadoop) plain(key string) (finding, bool, error) {
	p, ok, err := h.Lookup(key)
	return finding{p.Value, p}, ok, err
}

// https reports whether an http.policy admits HTTPS only; with
// HTTP_AND_HTTPS heddle reads over HTTP.
func (h *Hadoop) https(policyKey string) (bool, Property, error) {
	p, ok, err := h.Lookup(policyKey)
	if err != nil || !ok {
		return false, p, err
	}
	switch strings.ToUpper(p.Value) {
	case "HTTP_ONLY", "HTTP_AND_HTTPS":
		return false, p, nil
	case httpsOnly:
		return true, p, nil
	}
	return false, p, &Problem{Origin: p.origin(), Message: fmt.Sprintf("%s is %q; want HTTP_ONLY, HTTPS_ONLY or HTTP_AND_HTTPS", policyKey, p.Value)}
}

func (h *Hadoop) isHTTPS(policyKey string) (finding, bool, error) {
	https, at, err := h.https(policyKey)
	return finding{"true", at}, https, err
}

// webKeys are the keys of a web server's two addresses with their ports.
type webKeys struct {
	http      string
	httpPort  int
	https     string
	httpsPort int
}

// webService returns the base URL of a web server, by the policy that rules it.
func (h *Hadoop) webService(policyKey string, keys webKeys, hostKeys ...string) (finding, bool, error) {
	https, _, err := h.https(policyKey)
	if err != nil {
		return finding{}, false, err
	}
	scheme, key, port := "http", keys.http, keys.httpPort
	if https {
		scheme, key, port = "https", keys.https, keys.httpsPort
	}
	f, ok, err := h.endpoint(key, port, hostKeys...)
	f.text = scheme + "://" + f.text
	return f, ok, err
}

// endpoint returns "host:port": the address under key, or the host of the first
// of hostKeys that is set with the default port. An address that binds every
// interface (0.0.0.0) takes its host from hostKeys too.
func (h *Hadoop) endpoint(key string, port int, hostKeys ...string) (finding, bool, error) {
	address, ok, err := h.Lookup(key)
	if err != nil {
		return finding{}, false, err
	}
	if ok {
		host, p, err := splitAddress(address.Value, port)
		if err != nil {
			return finding{}, false, &Problem{Origin: address.origin(), Message: err.Error()}
		}
		if !wildcard(host) {
			return finding{net.JoinHostPort(host, p), address}, true, nil
		}
		port, _ = strconv.Atoi(p) // splitAddress has checked it
	}
	for _, hostKey := range hostKeys {
		p, found, err := h.Lookup(hostKey)
		if err != nil {
			return finding{}, false, err
		}
		if !found {
			continue
		}
		host, _, err := splitAddress(p.Value, port)
		if err != nil {
			return finding{}, false, &Problem{Origin: p.origin(), Message: err.Error()}
		}
		if !wildcard(host) {
			return finding{net.JoinHostPort(host, strconv.Itoa(port)), p}, true, nil
		}
	}
	if ok {
		return finding{}, false, &Problem{Origin: address.origin(), Message: fmt.Sprintf(
			"%s is %s, an address to listen on, and none of %s tells the host", key, address.Value, strings.Join(hostKeys, ", "))}
	}
	return finding{}, false, nil
}

// splitAddress splits "host", "host:port" or "scheme://host:port/…".
func splitAddress(text string, defaultPort int) (host, port string, err error) {
	address := text
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil {
			return "", "", fmt.Errorf("%q is not an address: %w", text, err)
		}
		address = u.Host
	}
	host, port, err = net.SplitHostPort(address)
	var missing *net.AddrError
	if errors.As(err, &missing) && missing.Err == "missing port in address" {
		host, port, err = strings.Trim(address, "[]"), strconv.Itoa(defaultPort), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("%q is not an address: %w", text, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("%q is not an address: bad port %q", text, port)
	}
	if host == "" || strings.ContainsAny(host, " /@,") {
		return "", "", fmt.Errorf("%q is not an address: bad host", text)
	}
	return host, port, nil
}

func wildcard(host string) bool { return host == "0.0.0.0" || host == "::" }

// timelineServer returns the base URL of the timeline server of version 1, where
// one is switched on. Heddle works without: what keeps it from being found is noted.
func (h *Hadoop) timelineServer() (finding, bool, error) {
	f, ok, err := h.timelineService()
	if problem, isProblem := errors.AsType[*Problem](err); isProblem {
		h.notices = append(h.notices, fmt.Sprintf("%v; graphs of Tez applications are not read, unless tez.timeline_server is given", problem))
		return finding{}, false, nil
	}
	return f, ok, err
}

func (h *Hadoop) timelineService() (finding, bool, error) {
	enabled, _, err := h.Lookup("yarn.timeline-service.enabled")
	if err != nil || !strings.EqualFold(enabled.Value, "true") {
		return finding{}, false, err
	}
	versions, ok, err := h.Lookup("yarn.timeline-service.versions") // several at once, in place of version
	if !ok && err == nil {
		versions, ok, err = h.Lookup("yarn.timeline-service.version")
	}
	if err != nil || ok && !slices.ContainsFunc(splitList(versions.Value), func(v string) bool { return strings.HasPrefix(v, "1") }) {
		return finding{}, false, err
	}
	return h.webService(policyYARN, webKeys{
		"yarn.timeline-service.webapp.address", portTimeline,
		"yarn.timeline-service.webapp.https.address", portTimelineHTTPS,
	}, "yarn.timeline-service.hostname", "yarn.timeline-service.address")
}

// topologyTable returns Hadoop's own table of racks where TableMapping is
// configured and the file is here; it often is on the ResourceManager only.
func (h *Hadoop) topologyTable() (finding, bool, error) {
	impl, _, err := h.Lookup("net.topology.node.switch.mapping.impl")
	if err != nil || !strings.HasSuffix(impl.Value, "."+tableMapping) {
		return finding{}, false, err
	}
	f, ok, err := h.plain("net.topology.table.file.name")
	if err != nil || !ok {
		return finding{}, false, err
	}
	if _, missing := os.Stat(f.text); missing != nil {
		h.notices = append(h.notices, fmt.Sprintf("%s:%d: Hadoop's topology table %s is not on this machine; racks are taken as Hadoop reports them", f.at.File, f.at.Line, f.text))
		return finding{}, false, nil //nolint:nilerr // a table that is elsewhere is noted, not an error
	}
	return f, true, nil
}

// dataNodePort returns the port of the DataNodes' web server.
func (h *Hadoop) dataNodePort() (finding, bool, error) {
	https, at, err := h.https(policyDFS)
	if err != nil {
		return finding{}, false, err
	}
	key, port := "dfs.datanode.http.address", portDN
	if https {
		key, port = "dfs.datanode.https.address", portDNHTTPS
	}
	p, ok, err := h.Lookup(key)
	if err != nil || (!ok && !https) {
		return finding{}, false, err
	}
	if !ok {
		return finding{strconv.Itoa(port), at}, true, nil
	}
	if strings.HasSuffix(p.Value, ":0") { // each DataNode picks its own; none to tell
		return finding{}, false, nil
	}
	_, text, err := splitAddress(p.Value, port)
	if err != nil {
		return finding{}, false, &Problem{Origin: p.origin(), Message: err.Error()}
	}
	return finding{text, p}, true, nil
}
