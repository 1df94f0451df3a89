package loop

import (
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// warnings are the faults in the cluster's data that were logged last. Each is a
// metric too; the log has a line when it begins, changes and ends.
type warnings struct {
	noRack     string // hosts
	mismatches string // hosts
	clockJumps int64
}

// maxHosts is how many hosts a line of the log names.
const maxHosts = 5

// log logs the faults of a snapshot that differ from those logged last.
func (known *warnings) log(to hclog.Logger, snap *snapshot.Snapshot) {
	if n := snap.Counts.ClockJumps; n > known.clockJumps {
		to.Warn("the clock was set back by more than a minute", "times", n, "do", "keep the clock of this machine in step (chrony, ntpd)")
		known.clockJumps = n
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
	if setText(&known.noRack, noRack) {
		if noRack == "" {
			to.Info("every host has a rack again")
		} else {
			to.Warn("hosts without a rack: they count as one rack, "+string(model.DefaultRack), "count", snap.Counts.HostsNoRack, "hosts", noRack,
				"do", "add them to Hadoop's topology (net.topology.script.file.name or its table) and restart the ResourceManager")
		}
	}
	mismatches := names(snap.Mismatch, func(m *snapshot.RackMismatch) string { return m.Host })
	if setText(&known.mismatches, mismatches) {
		if mismatches == "" {
			to.Info("ResourceManager, NameNode and table name the same racks again")
		} else {
			m := snap.Mismatch[0]
			to.Warn("hosts whose rack differs between ResourceManager, NameNode and table: the ResourceManager's is used, or the table's where topology.use is override", "count", len(snap.Mismatch), "hosts", mismatches,
				"first", m.Host, "resource_manager", m.ResourceManager, "name_node", m.NameNode, "table", m.Table,
				"do", "make both use one topology, and restart the one that is wrong; GET /v1/cluster lists them all")
		}
	}
}

// setText sets a text and reports whether it changed.
func setText(to *string, text string) bool {
	differs := *to != text
	*to = text
	return differs
}

// names lists the names of the first maxHosts elements whose name is not empty.
func names[T any](list []T, name func(*T) string) string {
	var hosts []string
	for i := range list {
		if h := name(&list[i]); h != "" {
			hosts = append(hosts, h)
		}
		if len(hosts) > maxHosts {
			break
		}
	}
	slices.Sort(hosts)
	if len(hosts) > maxHosts {
		hosts[maxHosts] = "…"
	}
	return strings.Join(hosts, " ")
}

// roundLog logs rounds that fail, each failure once, and when decisions are made again.
type roundLog struct {
	decided   bool // a round has succeeded
	stale     bool // logged: the state is too old
	panicking bool // logged: the policy panicked
}

func (r *roundLog) log(to hclog.Logger, policy string, err error) {
	switch {
	case errors.Is(err, engine.ErrStale):
		if !r.stale && r.decided {
			to.Warn("no decisions: the ResourceManager's state is too old", "policy", policy)
			r.stale = true
		}
	case err != nil:
		if !r.panicking {
			to.Error("the policy panicked; its plans stay as they were", "policy", policy, "error", err)
			r.panicking = true
		}
	default:
		if r.stale || r.panicking {
			to.Info("decisions are made again", "policy", policy)
		}
		*r = roundLog{decided: true}
	}
}
