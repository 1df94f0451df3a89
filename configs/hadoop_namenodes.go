package configs

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// nameNodes reads out of Hadoop's files where a nameservice's NameNodes are.
type nameNodes struct {
	*Hadoop
	nameservice string // the one that is wanted, "" for that of fs.defaultFS
}

// each returns what one asks of every NameNode of the nameservice that is wanted, or of the one that fs.defaultFS names.
func (n nameNodes) each(one func(suffix string, fallback ...string) (finding, bool, error)) (finding, bool, error) {
	services, ok, err := n.Lookup("dfs.nameservices")
	if err != nil {
		return finding{}, false, err
	}
	if !ok {
		return one("", "fs.defaultFS")
	}
	ns, err := n.choose(services)
	if err != nil {
		return finding{}, false, err
	}
	ids, ha, err := n.Lookup("dfs.ha.namenodes." + ns)
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

func (n nameNodes) web(suffix string, fallback ...string) (finding, bool, error) {
	return n.webService(policyDFS, webKeys{
		"dfs.namenode.http-address" + suffix, portNN,
		"dfs.namenode.https-address" + suffix, portNNHTTPS,
	}, append([]string{"dfs.namenode.rpc-address" + suffix}, n.hdfsOnly(fallback)...)...)
}

func (n nameNodes) rpc(suffix string, fallback ...string) (finding, bool, error) {
	fallback = n.hdfsOnly(fallback)
	if _, ok := n.props["dfs.namenode.rpc-address"+suffix]; !ok && len(fallback) > 0 {
		return n.endpoint(fallback[0], portNNRPC) // with the port it names
	}
	return n.endpoint("dfs.namenode.rpc-address"+suffix, portNNRPC, fallback...)
}

// hdfsOnly leaves out the keys whose file system is not HDFS (file:///, viewfs://).
func (n nameNodes) hdfsOnly(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		p, ok, err := n.Lookup(key)
		return err == nil && ok && !strings.HasPrefix(p.Value, "hdfs://")
	})
}

// choose returns the one of a federation's nameservices that is
// read: the wanted one, the only one, or that of fs.defaultFS.
func (n nameNodes) choose(services Property) (string, error) {
	all := splitList(services.Value)
	if n.nameservice != "" {
		if !slices.Contains(all, n.nameservice) {
			return "", &Problem{Origin: services.origin(), Message: fmt.Sprintf("hdfs.nameservice is %q, but dfs.nameservices is %s", n.nameservice, strings.Join(all, ", "))}
		}
		return n.nameservice, nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	fs, ok, err := n.Lookup("fs.defaultFS")
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(fs.Value); ok && err == nil && u.Scheme == "hdfs" && slices.Contains(all, u.Host) {
		return u.Host, nil
	}
	return "", &Problem{Origin: services.origin(), Message: fmt.Sprintf(
		"there are %d nameservices (%s) and fs.defaultFS names none of them; choose one with hdfs.nameservice", len(all), strings.Join(all, ", "))}
}

// unread returns a notice of the nameservices that are not read, ""
// when there is none.
func (n nameNodes) unread() string {
	services, ok, err := n.Lookup("dfs.nameservices")
	if err != nil || !ok {
		return ""
	}
	ns, err := n.choose(services)
	others := slices.DeleteFunc(splitList(services.Value), func(s string) bool { return s == ns })
	if err != nil || len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: dfs.nameservices: only %s is read, not %s; hdfs.nameservice chooses another",
		services.File, services.Line, ns, strings.Join(others, ", "))
}
