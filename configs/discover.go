package configs

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"heddle/configs/strict"

	"heddle/configs/hadoopconf"
)

// discovery finds one key in Hadoop's files.
type discovery struct {
	path string
	used func(c *Config) bool // nil for always; heddle does not look for a key that is not used
	find func(h *hadoopconf.Config, c *Config) (hadoopconf.Setting, bool, error)
}

// discoveries lists the keys that Hadoop's files can give.
func discoveries() []discovery {
	type (
		setting = hadoopconf.Setting
		hadoop  = hadoopconf.Config
	)
	plain := func(find func(*hadoop) (setting, bool, error)) func(*hadoop, *Config) (setting, bool, error) {
		return func(h *hadoop, _ *Config) (setting, bool, error) { return find(h) }
	}
	hdfs := func(c *Config) bool { return c.HDFS.Enabled }
	shuffleJMX := func(c *Config) bool { return c.Uplinks.Source == UplinkShuffleJMX }
	return []discovery{
		{"security.authentication", nil, func(h *hadoop, _ *Config) (setting, bool, error) {
			s, ok, err := h.Setting("hadoop.security.authentication")
			s.Value = strings.ToLower(s.Value) // Hadoop reads it in any case
			return s, ok, err
		}},
		{"resource_manager.urls", nil, plain((*hadoop).ResourceManagerURLs)},
		{"relay.listeners", (*Config).RelayRuns, relayListeners},
		{"mapreduce.history_server", func(c *Config) bool { return c.MapReduce.Enabled }, plain((*hadoop).HistoryServer)},
		{"tez.timeline_server", nil, plain((*hadoop).TimelineServer)},
		{"hdfs.name_nodes", hdfs, func(h *hadoop, c *Config) (setting, bool, error) { return h.NameNodeURLs(c.HDFS.Nameservice) }},
		{"hdfs.rpc_addresses", hdfs, func(h *hadoop, c *Config) (setting, bool, error) { return h.NameNodeRPCAddresses(c.HDFS.Nameservice) }},
		{"advanced.hdfs.service_principal", hdfs, func(h *hadoop, _ *Config) (setting, bool, error) { return h.Setting("dfs.namenode.kerberos.principal") }},
		{"advanced.uplinks.shuffle_jmx.datanode_http_port", shuffleJMX, plain((*hadoop).DataNodePort)},
		{"advanced.uplinks.shuffle_jmx.node_manager_https", shuffleJMX, plain((*hadoop).NodeManagerHTTPS)},
		{"topology.table", nil, plain((*hadoop).TopologyTable)},
	}
}

// loadHadoop reads Hadoop's files and gives the keys that nothing stronger has.
func (l *loader) loadHadoop() {
	l.giveConfDir()
	dir := l.cfg.Hadoop.ConfDir
	if dir == "" {
		return
	}
	h, err := hadoopconf.Read(dir, l.env)
	if err != nil {
		l.reportHadoop("", err)
		// A key that would have come from an unreadable file is not reported as missing.
		for _, d := range discoveries() {
			l.Failed[d.path] = true
		}
		return
	}
	l.hadoop = h
	for _, d := range discoveries() {
		if _, given := l.Origins[d.path]; given || d.used != nil && !d.used(l.cfg) {
			continue
		}
		s, ok, err := d.find(h, l.cfg)
		switch {
		case err != nil && d.path == "tez.timeline_server": // nothing else depends on it
			l.notices = append(l.notices, fmt.Sprintf("%v; heddle reads no graphs of Tez applications unless tez.timeline_server is given", err))
		case err != nil:
			l.reportHadoop(d.path, err)
		case ok && d.path == "topology.table" && !isFile(s.Value): // it often is on the ResourceManager only
			l.notices = append(l.notices, fmt.Sprintf("%s:%d: Hadoop's topology table %s is not on this machine; heddle uses the racks that Hadoop reports", s.From.File, s.From.Line, s.Value))
		case ok:
			l.GiveText(d.path, hadoopOrigin(s.From), s.Value)
		}
	}
	l.addHadoopNotices(h)
}

// addHadoopNotices adds notices of Hadoop's files.
func (l *loader) addHadoopNotices(h *hadoopconf.Config) {
	l.notices = append(h.Notices, l.notices...)
	if l.cfg.HDFS.Enabled {
		if chosen, others, from := h.OtherNameservices(l.cfg.HDFS.Nameservice); len(others) > 0 {
			l.notices = append(l.notices, fmt.Sprintf("%s:%d: dfs.nameservices: only %s is read, not %s; hdfs.nameservice chooses another",
				from.File, from.Line, chosen, strings.Join(others, ", ")))
		}
	}
	p, ok, err := h.Lookup("hadoop.rpc.protection")
	if err != nil || !ok || strings.EqualFold(p.Value, "authentication") || !l.cfg.RelayRuns() {
		return
	}
	what := "the relay forwards every call unchanged and can rewrite none"
	if strings.Contains(strings.ToLower(p.Value), "authentication") {
		what = "the relay can rewrite no call of an application that chooses another protection than authentication"
	}
	l.notices = append(l.notices, fmt.Sprintf("%s:%d: hadoop.rpc.protection is %s: %s", p.File, p.Line, p.Value, what))
}

// reportHadoop adds the problems of Hadoop's files. path is the key to be found,
// "" while the files are read.
func (l *loader) reportHadoop(path string, err error) {
	for _, e := range split(err) {
		p := &strict.Problem{Path: path, Message: e.Error()}
		if located, ok := errors.AsType[*hadoopconf.Error](e); ok {
			p.Origin, p.Message = strict.Origin{Layer: strict.LayerHadoop, File: located.File, Line: located.Line, Name: located.Key}, located.Message
		} else if path == "" {
			p.Path, p.Origin = "hadoop.conf_dir", l.Origins["hadoop.conf_dir"]
		}
		l.Failed[p.Path] = p.Path != ""
		l.Problems = append(l.Problems, p)
	}
}

func hadoopOrigin(p hadoopconf.Property) strict.Origin {
	return strict.Origin{Layer: strict.LayerHadoop, File: p.File, Line: p.Line, Name: p.Key}
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// relayListeners returns an address of the relay for every ResourceManager.
func relayListeners(h *hadoopconf.Config, c *Config) (hadoopconf.Setting, bool, error) {
	none := hadoopconf.Setting{}
	listen := c.Relay.Listen
	if listen == "" {
		listen = DefaultRelayAddress
	}
	schedulers, from, err := h.Schedulers()
	if err != nil || len(schedulers) == 0 {
		return none, false, err
	}
	listeners := make([]RelayListener, 0, len(schedulers))
	for i, s := range schedulers {
		address, err := NthAddress(listen, i)
		if err != nil && i == 0 { // the address is malformed, which the tag of relay.listen reports with its place
			return none, false, nil
		}
		if err != nil {
			return none, false, err
		}
		listeners = append(listeners, RelayListener{RM: s.RM, Address: address, Upstream: s.Address})
	}
	return hadoopconf.Setting{Value: strict.TextOf(reflect.ValueOf(listeners)), From: from}, true, nil
}
