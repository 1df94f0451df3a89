package main

import (
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/core/state"
)

// said is what the log was told of what heddle has to work around. Each is a
// metric too; the log says it when it begins, changes and ends.
type said struct {
	noRack     string // hosts
	mismatches string // hosts
	clockJumps int64
}

// saidHosts is how many hosts a line of the log names.
const saidHosts = 5

// tell logs what a snapshot has that the one before had not.
func (s *said) tell(log hclog.Logger, snap *state.Snapshot) {
	if n := snap.Counts.ClockJumps; n > s.clockJumps {
		log.Warn("the clock was set back by more than a minute", "times", n, "do", "keep the clock of this machine in step (chrony, ntpd)")
		s.clockJumps = n
	}
	noRack := ""
	if snap.Counts.HostsNoRack > 0 {
		noRack = names(snap.Nodes, func(n *model.Node) string {
			if n.Rack == model.DefaultRack {
				return n.Host
			}
			return ""
		})
	}
	if change(&s.noRack, noRack) {
		if noRack == "" {
			log.Info("every host has a rack again")
		} else {
			log.Warn("hosts without a rack: they count as one rack, "+string(model.DefaultRack), "count", snap.Counts.HostsNoRack, "hosts", noRack,
				"do", "add them to Hadoop's topology (net.topology.script.file.name or its table) and restart the ResourceManager")
		}
	}
	mismatches := names(snap.Mismatch, func(m *state.RackMismatch) string { return m.Host })
	if change(&s.mismatches, mismatches) {
		if mismatches == "" {
			log.Info("ResourceManager, NameNode and table name the same racks again")
		} else {
			m := snap.Mismatch[0]
			log.Warn("hosts whose rack differs between ResourceManager, NameNode and table: the ResourceManager's is used, or the table's where topology.use is override", "count", len(snap.Mismatch), "hosts", mismatches,
				"first", m.Host, "resource_manager", m.ResourceManager, "name_node", m.NameNode, "table", m.Table,
				"do", "make both use one topology, and restart the one that is wrong; GET /v1/cluster lists them all")
		}
	}
}

// change sets a text and reports whether it was another.
func change(to *string, text string) bool {
	differs := *to != text
	*to = text
	return differs
}

// names lists the first hosts of a list, those that have a name.
func names[T any](list []T, name func(*T) string) string {
	var hosts []string
	for i := range list {
		if h := name(&list[i]); h != "" {
			hosts = append(hosts, h)
		}
		if len(hosts) > saidHosts {
			break
		}
	}
	slices.Sort(hosts)
	if len(hosts) > saidHosts {
		hosts[saidHosts] = "…"
	}
	return strings.Join(hosts, " ")
}
