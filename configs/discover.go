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
	portNN, portNNHTTPS, portNNRPC  = 9870, 9871, 8020
	portJHS, portJHSHTTPS           = 19888, 19890
	portDN, portDNHTTPS             = 9864, 9865
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
		strings.HasPrefix(path, "uplinks.shuffle_jmx.") && c.Uplinks.Source != UplinkShuffleJMX {
		return finding{}, false, nil
	}
	switch path {
	case "resource_manager.urls":
		return h.resourceManagers()
	case "mapreduce.history_server":
		return h.webService(policyMR, webKeys{
			"mapreduce.jobhistory.webapp.address", portJHS,
			"mapreduce.jobhistory.webapp.https.address", portJHSHTTPS,
		}, "mapreduce.jobhistory.address")
	case "hdfs.name_nodes":
		return h.nameNodes(c.HDFS.Nameservice, h.nameNodeWeb)
	case "hdfs.rpc_addresses":
		return h.nameNodes(c.HDFS.Nameservice, h.nameNodeRPC)
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

// resourceManagers returns the base URLs of all ResourceManagers.
func (h *Hadoop) resourceManagers() (finding, bool, error) {
	enabled, _, err := h.Lookup("yarn.resourcemanager.ha.enabled")
	if err != nil {
		return finding{}, false, err
	}
	if !strings.EqualFold(enabled.Value, "true") {
		return h.resourceManager("")
	}
	ids, ok, err := h.Lookup("yarn.resourcemanager.ha.rm-ids")
	if err != nil {
		return finding{}, false, err
	}
	if !ok {
		return finding{}, false, &Problem{Origin: enabled.origin(), Message: "yarn.resourcemanager.ha.enabled is true, but yarn.resourcemanager.ha.rm-ids is not set"}
	}
	var urls []string
	for _, id := range splitList(ids.Value) {
		f, ok, err := h.resourceManager("." + id)
		if err != nil {
			return finding{}, false, err
		}
		if !ok {
			return finding{}, false, &Problem{Origin: ids.origin(), Message: fmt.Sprintf(
				"ResourceManager %q has no address: set yarn.resourcemanager.webapp.address.%s, .webapp.https.address.%s or .hostname.%s", id, id, id, id)}
		}
		urls = append(urls, f.text)
	}
	return finding{strings.Join(urls, ","), ids}, true, nil
}

func (h *Hadoop) resourceManager(suffix string) (finding, bool, error) {
	return h.webService(policyYARN, webKeys{
		"yarn.resourcemanager.webapp.address" + suffix, portRM,
		"yarn.resourcemanager.webapp.https.address" + suffix, portRMHTTPS,
	}, "yarn.resourcemanager.hostname"+suffix, "yarn.resourcemanager.address"+suffix)
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

// nameNodes returns what one asks of every NameNode of the nameservice that is
// wanted, or of the one that fs.defaultFS names.
func (h *Hadoop) nameNodes(want string, one func(suffix string, fallback ...string) (finding, bool, error)) (finding, bool, error) {
	services, ok, err := h.Lookup("dfs.nameservices")
	if err != nil {
		return finding{}, false, err
	}
	if !ok {
		return one("", "fs.defaultFS")
	}
	ns, err := h.chooseNameservice(services, want)
	if err != nil {
		return finding{}, false, err
	}
	ids, ha, err := h.Lookup("dfs.ha.namenodes." + ns)
	if err != nil {
		return finding{}, false, err
	}
	if !ha {
		f, ok, err := one("." + ns)
		if !ok && err == nil {
			f, ok, err = one("")
		}
		return f, ok, err
	}
	var list []string
	for _, id := range splitList(ids.Value) {
		f, ok, err := one("." + ns + "." + id)
		if err != nil {
			return finding{}, false, err
		}
		if !ok {
			return finding{}, false, &Problem{Origin: ids.origin(), Message: fmt.Sprintf(
				"NameNode %q of nameservice %s has no address: set dfs.namenode.rpc-address.%s.%s", id, ns, ns, id)}
		}
		list = append(list, f.text)
	}
	return finding{strings.Join(list, ","), ids}, true, nil
}

func (h *Hadoop) nameNodeWeb(suffix string, fallback ...string) (finding, bool, error) {
	return h.webService(policyDFS, webKeys{
		"dfs.namenode.http-address" + suffix, portNN,
		"dfs.namenode.https-address" + suffix, portNNHTTPS,
	}, append([]string{"dfs.namenode.rpc-address" + suffix}, h.hdfsOnly(fallback)...)...)
}

func (h *Hadoop) nameNodeRPC(suffix string, fallback ...string) (finding, bool, error) {
	fallback = h.hdfsOnly(fallback)
	if _, ok := h.props["dfs.namenode.rpc-address"+suffix]; !ok && len(fallback) > 0 {
		return h.endpoint(fallback[0], portNNRPC) // with the port it names
	}
	return h.endpoint("dfs.namenode.rpc-address"+suffix, portNNRPC, fallback...)
}

// hdfsOnly leaves out the keys whose file system is not HDFS (file:///, viewfs://).
func (h *Hadoop) hdfsOnly(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		p, ok, err := h.Lookup(key)
		return err == nil && ok && !strings.HasPrefix(p.Value, "hdfs://")
	})
}

// chooseNameservice returns the one of a federation's nameservices that is
// read: the wanted one, the only one, or that of fs.defaultFS.
func (h *Hadoop) chooseNameservice(services Property, want string) (string, error) {
	all := splitList(services.Value)
	if want != "" {
		if !slices.Contains(all, want) {
			return "", &Problem{Origin: services.origin(), Message: fmt.Sprintf("hdfs.nameservice is %q, but dfs.nameservices is %s", want, strings.Join(all, ", "))}
		}
		return want, nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	fs, ok, err := h.Lookup("fs.defaultFS")
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(fs.Value); ok && err == nil && u.Scheme == "hdfs" && slices.Contains(all, u.Host) {
		return u.Host, nil
	}
	return "", &Problem{Origin: services.origin(), Message: fmt.Sprintf(
		"there are %d nameservices (%s) and fs.defaultFS names none of them; choose one with hdfs.nameservice", len(all), strings.Join(all, ", "))}
}

// unreadNameservices returns a notice of the nameservices that are not read, ""
// when there is none.
func (h *Hadoop) unreadNameservices(want string) string {
	services, ok, err := h.Lookup("dfs.nameservices")
	if err != nil || !ok {
		return ""
	}
	ns, err := h.chooseNameservice(services, want)
	others := slices.DeleteFunc(splitList(services.Value), func(s string) bool { return s == ns })
	if err != nil || len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: dfs.nameservices: only %s is read, not %s; hdfs.nameservice chooses another",
		services.File, services.Line, ns, strings.Join(others, ", "))
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
