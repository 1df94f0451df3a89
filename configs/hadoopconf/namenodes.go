package hadoopconf

import (
	"net/url"
	"slices"
	"strings"
)

// NameNodeURLs returns the base URLs of a nameservice's NameNodes; "" is the
// nameservice of fs.defaultFS.
func (c *Config) NameNodeURLs(nameservice string) (Setting, bool, error) {
	return nameNodes(c, nameservice, func(suffix string, hostKeys ...string) (Setting, bool, error) {
		return webService(c, hdfsHTTPPolicy, webKeys{
			"dfs.namenode.http-address" + suffix, portNN,
			"dfs.namenode.https-address" + suffix, portNNHTTPS,
		}, append([]string{"dfs.namenode.rpc-address" + suffix}, ofHDFS(c, hostKeys)...)...)
	})
}

// NameNodeRPCAddresses returns the RPC addresses of a nameservice's NameNodes.
func (c *Config) NameNodeRPCAddresses(nameservice string) (Setting, bool, error) {
	return nameNodes(c, nameservice, func(suffix string, hostKeys ...string) (Setting, bool, error) {
		hostKeys = ofHDFS(c, hostKeys)
		if _, ok := c.properties["dfs.namenode.rpc-address"+suffix]; !ok && len(hostKeys) > 0 {
			return address(c, hostKeys[0], portNNRPC) // with the port it names
		}
		return address(c, "dfs.namenode.rpc-address"+suffix, portNNRPC, hostKeys...)
	})
}

// nameNodes calls address for every NameNode of a nameservice and joins the
// answers. suffix ends the keys of the NameNode; hostKeys name its host where
// those are not set.
func nameNodes(c *Config, nameservice string, address func(suffix string, hostKeys ...string) (Setting, bool, error)) (Setting, bool, error) {
	services, ok, err := c.Lookup("dfs.nameservices")
	if err != nil {
		return Setting{}, false, err
	}
	if !ok {
		return address("", "fs.defaultFS")
	}
	chosen, err := chooseNameservice(c, services, nameservice)
	if err != nil {
		return Setting{}, false, err
	}
	ids, highlyAvailable, err := c.Lookup("dfs.ha.namenodes." + chosen)
	if err != nil {
		return Setting{}, false, err
	}
	if !highlyAvailable {
		s, ok, err := address("." + chosen)
		if !ok && err == nil {
			s, ok, err = address("")
		}
		return s, ok, err
	}
	var list []string
	for _, id := range splitList(ids.Value) {
		s, ok, err := address("." + chosen + "." + id)
		if err != nil {
			return Setting{}, false, err
		}
		if !ok {
			return Setting{}, false, ids.errorf("NameNode %q of nameservice %s has no address: set dfs.namenode.rpc-address.%s.%s", id, chosen, chosen, id)
		}
		list = append(list, s.Value)
	}
	return Setting{strings.Join(list, ","), ids}, true, nil
}

// ofHDFS leaves out the keys whose file system is not HDFS (file:///, viewfs://).
func ofHDFS(c *Config, keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		p, ok, err := c.Lookup(key)
		return err == nil && ok && !strings.HasPrefix(p.Value, "hdfs://")
	})
}

// chooseNameservice returns the nameservice to read: the wanted one, else the
// only one, else that of fs.defaultFS.
func chooseNameservice(c *Config, services Property, wanted string) (string, error) {
	all := splitList(services.Value)
	if wanted != "" {
		if !slices.Contains(all, wanted) {
			return "", services.errorf("hdfs.nameservice is %q, but dfs.nameservices is %s", wanted, strings.Join(all, ", "))
		}
		return wanted, nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	fs, ok, err := c.Lookup("fs.defaultFS")
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(fs.Value); ok && err == nil && u.Scheme == "hdfs" && slices.Contains(all, u.Host) {
		return u.Host, nil
	}
	return "", services.errorf("there are %d nameservices (%s) and fs.defaultFS names none of them; choose one with hdfs.nameservice", len(all), strings.Join(all, ", "))
}

// OtherNameservices returns the nameservice that is read and those that are
// not, with the property that lists them; none when there is no other.
func (c *Config) OtherNameservices(wanted string) (chosen string, others []string, from Property) {
	services, ok, err := c.Lookup("dfs.nameservices")
	if err != nil || !ok {
		return "", nil, services
	}
	if chosen, err = chooseNameservice(c, services, wanted); err != nil {
		return "", nil, services
	}
	return chosen, slices.DeleteFunc(splitList(services.Value), func(s string) bool { return s == chosen }), services
}
