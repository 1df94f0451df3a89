package relaying

import (
	"math"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"heddle/yarnproxy/amrm"
)

const (
	// descriptorsPerConn are a connection's: to the ApplicationMaster, and to the ResourceManager.
	descriptorsPerConn = 2
	// otherDescriptors are those of listeners, /metrics, the link to serve and the log.
	otherDescriptors = 100
)

// fitDescriptors lowers the limit of connections to what the process may open. Otherwise /metrics and the link would
// fail once the connections have used all descriptors up.
func fitDescriptors(limits *amrm.ConnLimits, log hclog.Logger) {
	var rlimit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlimit) != nil {
		return // the relay then logs it if the descriptors run out
	}
	most := connsFor(rlimit.Cur)
	if limits.Total <= most {
		return
	}
	log.Warn("the limit of open files allows fewer connections than relay.max_connections: raise LimitNOFILE of the service, or ulimit -n",
		"open_files", rlimit.Cur, "max_connections", limits.Total, "allows", most)
	limits.Total = most
}

// connsFor returns how many connections so many descriptors are enough for, at least one.
func connsFor(descriptors uint64) int {
	if descriptors <= otherDescriptors+descriptorsPerConn {
		return 1
	}
	return int(min((descriptors-otherDescriptors)/descriptorsPerConn, math.MaxInt32))
}
