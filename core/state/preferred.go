package state

import "math"

// preferences are the hosts that the tasks of a stage would be local on. They lie
// in one piece: of millions of tasks each keeps only where its own are.
type preferences struct{ hosts []hostNumber }

// span is where a task's hosts lie.
type span struct {
	from  uint32
	hosts uint8
}

// maxPreferred is how many preferred hosts of a task are kept. HDFS may have a
// block on more nodes (dfs.replication.max is 512), and nobody has.
const maxPreferred = math.MaxUint8

// of returns a task's hosts.
func (p *preferences) of(s span) []hostNumber { return p.hosts[s.from:][:s.hosts] }

// keep keeps the hosts of a task, where those before were unless they are more.
func (p *preferences) keep(hosts []string, before span, numbers *hostNumbers) span {
	hosts = hosts[:min(len(hosts), maxPreferred)]
	at := before
	if len(hosts) > int(before.hosts) {
		at.from = uint32(len(p.hosts)) //nolint:gosec // bounded by Config.MaxTasks
		p.hosts = grown(p.hosts, len(p.hosts)+len(hosts)-1)
	}
	at.hosts = uint8(len(hosts)) //nolint:gosec // at most maxPreferred
	for i, host := range hosts {
		p.hosts[int(at.from)+i] = numbers.number(host)
	}
	return at
}
