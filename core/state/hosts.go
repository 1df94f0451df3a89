package state

// hostNumber is a host by number: what tasks, blocks and their outputs are
// counted by, so that an offer looks nothing up by name.
type hostNumber int32

// noHost is no host, or one that is not kept.
const noHost hostNumber = -1

// maxHosts bounds the names that applications and the NameNode can have kept;
// the ResourceManager's nodes always are.
const maxHosts = 1 << 18

// hostNumbers gives hosts their numbers. A number is never given twice.
type hostNumbers struct {
	of    map[string]hostNumber
	names []string
}

// node returns the number of a node's host.
func (x *hostNumbers) node(host string) hostNumber {
	n, ok := x.of[host]
	if !ok {
		if x.of == nil {
			x.of = map[string]hostNumber{}
		}
		n = hostNumber(len(x.names)) //nolint:gosec // a cluster has fewer nodes
		x.of[host], x.names = n, append(x.names, host)
	}
	return n
}

// number returns the number of a host that somebody names; noHost of an empty
// name, and of new ones when there are too many.
func (x *hostNumbers) number(host string) hostNumber {
	if host == "" {
		return noHost
	}
	if n, ok := x.of[host]; ok {
		return n
	}
	if len(x.names) >= maxHosts {
		return noHost
	}
	return x.node(host)
}
