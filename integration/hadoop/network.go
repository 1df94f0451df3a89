//go:build linux

package hadoop

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"heddle/integration/netlab"
)

// Master is the host of the NameNode, the JobHistory server, ZooKeeper and the
// first ResourceManager.
const Master = "master"

// Standby is the host of the second ResourceManager, where there is one. Which
// of the two is active is another matter, see [ResourceManagers.ActiveRM].
const Standby = "master2"

const (
	// wire is the interface that joins the test process to the router, at both ends.
	wire = "test0"
	// gateway is the test process's own address on the wire.
	gateway = "10.77.254.2"
	// standbyNet is the number of the standby's subnet, beyond those of the racks.
	standbyNet = 10
	// maxRacks and maxPerRack keep host names and addresses to one digit a part.
	maxRacks, maxPerRack = 9, 9
)

// Traffic is what went over a rack's uplink since the start, in bytes with
// link-layer headers, all of it: data, RPC and polling alike.
type Traffic struct {
	Out int64 // out of the rack
	In  int64 // into the rack
}

// Network is the hosts and racks of a cluster.
type Network struct {
	racks    int
	perRack  int
	rms      int                     // ResourceManagers, 1 or 2
	hosts    map[string]*netlab.Host // masters and workers
	switches []*netlab.Host          // the first is rack 1's
	router   *netlab.Host
}

// newNetwork makes the masters of so many ResourceManagers, racks times perRack
// workers and the cables between them.
func newNetwork(racks, perRack, rms int) (*Network, error) {
	if racks < 1 || racks > maxRacks || perRack < 1 || perRack > maxPerRack {
		return nil, fmt.Errorf("make the network: %d racks of %d hosts, want 1 to %d of 1 to %d", racks, perRack, maxRacks, maxPerRack)
	}
	if rms < 1 || rms > 2 {
		return nil, fmt.Errorf("make the network: %d ResourceManagers, want 1 or 2", rms)
	}
	n := &Network{racks: racks, perRack: perRack, rms: rms, hosts: make(map[string]*netlab.Host)}
	if err := n.build(); err != nil {
		return nil, fmt.Errorf("make the network: %w", errors.Join(err, n.close()))
	}
	return n, nil
}

// build makes everything. The hosts file is rewritten in place, because it is
// mounted over /etc/hosts.
func (n *Network) build() error {
	var names strings.Builder
	names.WriteString("127.0.0.1 localhost\n")
	for _, h := range n.all() {
		fmt.Fprintf(&names, "%s %s\n", n.Addr(h), h)
	}
	if err := os.WriteFile(netlab.HostsFile(), []byte(names.String()), 0o600); err != nil {
		return fmt.Errorf("write the hosts file: %w", err)
	}
	var err error
	if n.router, err = netlab.NewHost("router"); err != nil {
		return err
	}
	if err := n.router.Forward(); err != nil {
		return err
	}
	for r := 1; r <= n.racks; r++ {
		if err := n.addSwitch(r); err != nil {
			return err
		}
	}
	for _, h := range n.all() {
		if err := n.addHost(h); err != nil {
			return err
		}
	}
	if err := netlab.Join(netlab.End{Dev: wire}, netlab.End{Host: n.router, Dev: wire}); err != nil {
		return err
	}
	if err := n.router.IP("addr add 10.77.254.1/24 dev " + wire); err != nil {
		return err
	}
	return netlab.IP("addr add "+gateway+"/24 dev "+wire, "route add 10.77.0.0/16 via 10.77.254.1")
}

// addSwitch makes rack r's bridge and its uplink to the router.
func (n *Network) addSwitch(r int) error {
	sw, err := netlab.NewHost(fmt.Sprintf("switch%d", r))
	if err != nil {
		return err
	}
	n.switches = append(n.switches, sw)
	uplink := fmt.Sprintf("rack%d", r)
	if err := netlab.Join(netlab.End{Host: n.router, Dev: uplink}, netlab.End{Host: sw, Dev: "uplink"}); err != nil {
		return err
	}
	if err := sw.IP("link add name br0 type bridge", "link set dev br0 up", "link set dev uplink master br0"); err != nil {
		return err
	}
	return n.router.IP(fmt.Sprintf("addr add 10.77.%d.1/24 dev %s", r, uplink))
}

// addHost makes a worker on its rack's bridge, or a master on the router.
func (n *Network) addHost(name string) error {
	h, err := netlab.NewHost(name)
	if err != nil {
		return err
	}
	n.hosts[name] = h
	subnet := subnetOf(name)
	if rackNumber(name) == 0 {
		port := fmt.Sprintf("m%d", subnet)
		if err := netlab.Join(netlab.End{Host: n.router, Dev: port}, netlab.End{Host: h, Dev: "eth0"}); err != nil {
			return err
		}
		if err := n.router.IP(fmt.Sprintf("addr add 10.77.%d.1/24 dev %s", subnet, port)); err != nil {
			return err
		}
	} else {
		sw := n.switches[subnet-1]
		if err := netlab.Join(netlab.End{Host: sw, Dev: name}, netlab.End{Host: h, Dev: "eth0"}); err != nil {
			return err
		}
		if err := sw.IP("link set dev " + name + " master br0"); err != nil {
			return err
		}
	}
	return h.IP(fmt.Sprintf("addr add %s/24 dev eth0", n.Addr(name)), fmt.Sprintf("route add default via 10.77.%d.1", subnet))
}

// close kills whatever runs on the hosts and takes the cables away.
func (n *Network) close() error {
	var errs []error
	for _, h := range n.hosts {
		errs = append(errs, h.Kill())
		h.Close()
	}
	clear(n.hosts)
	for _, sw := range n.switches {
		sw.Close()
	}
	n.switches = nil
	if n.router != nil {
		// A cable that was never laid cannot be taken away; everything else goes with its namespace.
		_ = netlab.IP("link del dev " + wire)
		n.router.Close()
		n.router = nil
	}
	return errors.Join(errs...)
}

// all is the names of the masters and of the workers.
func (n *Network) all() []string { return append(n.RMHosts(), n.Hosts()...) }

// RMHosts is the names of the hosts that have a ResourceManager: [Master] and,
// where two were asked for, [Standby].
func (n *Network) RMHosts() []string { return []string{Master, Standby}[:n.rms] }

// Hosts is the names of the workers, each with a DataNode and a NodeManager, rack by rack.
func (n *Network) Hosts() []string {
	names := make([]string, 0, n.racks*n.perRack)
	for r := 1; r <= n.racks; r++ {
		for h := 1; h <= n.perRack; h++ {
			names = append(names, fmt.Sprintf("w%d%d", r, h))
		}
	}
	return names
}

// HostsOf is the names of a rack's workers; none when there is no such rack.
func (n *Network) HostsOf(rack string) []string {
	return slices.DeleteFunc(n.Hosts(), func(h string) bool { return n.RackOf(h) != rack })
}

// GatewayAddr is the IP address at which every host of the cluster reaches what
// the test process, or a process that it starts, listens on. It is behind the
// router: what a worker sends there crosses the uplink of its rack.
func (n *Network) GatewayAddr() string { return gateway }

// Racks returns the names of the workers' racks, as Hadoop has them: /rack1, /rack2, ...
func (n *Network) Racks() []string {
	names := make([]string, 0, n.racks)
	for r := 1; r <= n.racks; r++ {
		names = append(names, fmt.Sprintf("/rack%d", r))
	}
	return names
}

// RackOf is a host's rack; the masters are on /rack0, which has no uplink of its own.
func (n *Network) RackOf(host string) string { return fmt.Sprintf("/rack%d", rackNumber(host)) }

// Addr is a host's IP address.
func (n *Network) Addr(host string) string {
	if r := rackNumber(host); r > 0 {
		return fmt.Sprintf("10.77.%d.%d", r, 10+int(host[2]-'0'))
	}
	return fmt.Sprintf("10.77.%d.10", subnetOf(host))
}

// subnetOf is the third number of a host's address.
func subnetOf(host string) int {
	if host == Standby {
		return standbyNet
	}
	return rackNumber(host)
}

// rackNumber is the rack in a worker's name w<rack><host>, and 0 for a master.
func rackNumber(host string) int {
	if len(host) != 3 || host[0] != 'w' {
		return 0
	}
	return int(host[1] - '0')
}

// UplinkBytes reads the router's interface counters, by rack.
func (n *Network) UplinkBytes() (map[string]Traffic, error) {
	all, err := n.router.Traffic()
	if err != nil {
		return nil, err
	}
	racks := make(map[string]Traffic, n.racks)
	for _, rack := range n.Racks() {
		c, ok := all[rack[1:]]
		if !ok {
			return nil, fmt.Errorf("read uplink counters: the router has no interface %s", rack[1:])
		}
		racks[rack] = Traffic{Out: c.Received, In: c.Sent} // as the router sees it
	}
	return racks, nil
}

// UplinkBytesSince is what the uplinks have carried since an answer of
// [Network.UplinkBytes], by rack.
func (n *Network) UplinkBytesSince(before map[string]Traffic) (map[string]Traffic, error) {
	racks, err := n.UplinkBytes()
	if err != nil {
		return nil, err
	}
	for rack, now := range racks {
		racks[rack] = Traffic{Out: now.Out - before[rack].Out, In: now.In - before[rack].In}
	}
	return racks, nil
}

// Shape limits every rack's uplink, each direction for itself, to a rate in
// Mbit/s, decimal. Zero takes the limits away.
func (n *Network) Shape(mbit int) error {
	for i, sw := range n.switches {
		if err := errors.Join(n.router.Shape(fmt.Sprintf("rack%d", i+1), mbit), sw.Shape("uplink", mbit)); err != nil {
			return fmt.Errorf("shape the uplinks to %d Mbit/s: %w", mbit, err)
		}
	}
	return nil
}
