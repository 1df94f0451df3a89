package demand

import (
	"math"

	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Preferences are the hosts that the tasks of a stage would be local on. They lie
// in one slice: there are millions of tasks, and each stores only where its own
// hosts begin.
type Preferences struct{ hosts []nodes.Host }

// Span is where a task's hosts lie. The zero Span has none.
type Span struct {
	from uint32
	n    uint8
}

// Empty reports whether the task prefers no host.
func (s Span) Empty() bool { return s.n == 0 }

// maxPreferred limits the preferred hosts of a task. HDFS may have a block on more
// nodes (dfs.replication.max is 512), which is not done in practice.
const maxPreferred = math.MaxUint8

// Of returns a task's hosts.
func (p *Preferences) Of(s Span) []nodes.Host { return p.hosts[s.from:][:s.n] }

// Set stores the hosts of a task, in the place of its former ones unless there are
// more.
func (p *Preferences) Set(names []string, before Span, hosts *nodes.Hosts) Span {
	names = names[:min(len(names), maxPreferred)]
	at := before
	if len(names) > int(before.n) {
		at.from = uint32(len(p.hosts)) //nolint:gosec // bounded by Config.MaxTasks
		p.hosts = topology.Extend(p.hosts, len(p.hosts)+len(names)-1)
	}
	at.n = uint8(len(names)) //nolint:gosec // at most maxPreferred
	for i, name := range names {
		p.hosts[int(at.from)+i] = hosts.Host(name)
	}
	return at
}
