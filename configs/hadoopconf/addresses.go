package hadoopconf

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Ports of services whose address names none (yarn-default.xml,
// hdfs-default.xml, mapred-default.xml of 3.x).
const (
	portRM, portRMHTTPS             = 8088, 8090
	portScheduler, portRMTracker    = 8030, 8031
	portRMClient, portRMAdmin       = 8032, 8033
	portNN, portNNHTTPS, portNNRPC  = 9870, 9871, 8020
	portJHS, portJHSHTTPS           = 19888, 19890
	portDN, portDNHTTPS             = 9864, 9865
	portTimeline, portTimelineHTTPS = 8188, 8190
)

// Keys of the protocol of web servers, HTTP or HTTPS.
const (
	yarnHTTPPolicy = "yarn.http.policy"
	hdfsHTTPPolicy = "dfs.http.policy"
	jhsHTTPPolicy  = "mapreduce.jobhistory.http.policy"
)

// Setting is a value found in Hadoop's files and the property it comes from.
// The items of a list are separated by commas.
type Setting struct {
	Value string
	From  Property
}

// Setting returns a property as a setting.
func (c *Config) Setting(key string) (Setting, bool, error) {
	p, ok, err := c.Lookup(key)
	return Setting{p.Value, p}, ok, err
}

// YARNUsesHTTPS reports whether YARN's web servers speak HTTPS only.
func (c *Config) YARNUsesHTTPS() (bool, error) {
	https, _, err := httpsOnly(c, yarnHTTPPolicy)
	return https, err
}

// httpsOnly reports whether an http.policy admits HTTPS only. With
// HTTP_AND_HTTPS heddle reads over HTTP.
func httpsOnly(c *Config, policyKey string) (bool, Property, error) {
	p, ok, err := c.Lookup(policyKey)
	if err != nil || !ok {
		return false, p, err
	}
	switch strings.ToUpper(p.Value) {
	case "HTTP_ONLY", "HTTP_AND_HTTPS":
		return false, p, nil
	case "HTTPS_ONLY":
		return true, p, nil
	}
	return false, p, p.errorf("%s is %q; want HTTP_ONLY, HTTPS_ONLY or HTTP_AND_HTTPS", policyKey, p.Value)
}

// webKeys are the keys of a web server's two addresses with their ports.
type webKeys struct {
	http      string
	httpPort  int
	https     string
	httpsPort int
}

// webService returns the base URL of a web server, by its http.policy.
func webService(c *Config, policyKey string, keys webKeys, hostKeys ...string) (Setting, bool, error) {
	https, _, err := httpsOnly(c, policyKey)
	if err != nil {
		return Setting{}, false, err
	}
	scheme, key, port := "http", keys.http, keys.httpPort
	if https {
		scheme, key, port = "https", keys.https, keys.httpsPort
	}
	s, ok, err := address(c, key, port, hostKeys...)
	s.Value = scheme + "://" + s.Value
	return s, ok, err
}

// address returns "host:port": the address under key, or the host of the first
// of hostKeys that is set with the default port. An address that binds every
// interface (0.0.0.0) takes its host from hostKeys too.
func address(c *Config, key string, port int, hostKeys ...string) (Setting, bool, error) {
	bound, isSet, err := c.Lookup(key)
	if err != nil {
		return Setting{}, false, err
	}
	if isSet {
		host, text, err := splitAddress(bound.Value, port)
		if err != nil {
			return Setting{}, false, bound.errorf("%v", err)
		}
		if !isWildcard(host) {
			return Setting{net.JoinHostPort(host, text), bound}, true, nil
		}
		port, _ = strconv.Atoi(text) // splitAddress has checked it
	}
	for _, hostKey := range hostKeys {
		p, ok, err := c.Lookup(hostKey)
		if err != nil {
			return Setting{}, false, err
		}
		if !ok {
			continue
		}
		host, _, err := splitAddress(p.Value, port)
		if err != nil {
			return Setting{}, false, p.errorf("%v", err)
		}
		if !isWildcard(host) {
			return Setting{net.JoinHostPort(host, strconv.Itoa(port)), p}, true, nil
		}
	}
	if isSet {
		return Setting{}, false, bound.errorf("%s is %s, an address to listen on, and none of %s names the host", key, bound.Value, strings.Join(hostKeys, ", "))
	}
	return Setting{}, false, nil
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

func isWildcard(host string) bool { return host == "0.0.0.0" || host == "::" }

// splitList splits a list at its commas, without empty items.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
