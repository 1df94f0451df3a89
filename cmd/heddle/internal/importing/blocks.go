package importing

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"heddle/core/lab/measured"
	"heddle/core/lab/measured/fsck"
	"heddle/core/model"
)

// blocks put the replicas that 'hdfs fsck' reports in place of the hosts that histories name.
type blocks struct {
	in     *imported
	inputs map[string][]string     // by job: the paths that it reads
	files  map[string][]*fsck.File // by job: those that it reads, by path
	names  map[string]string       // of hosts, by address
	paired int                     // addresses without a name
}

// locateBlocks reads the report that --fsck names and gives the maps of each job the replicas of
// their splits. inputs are the paths that jobs read.
func (o *Options) locateBlocks(ctx context.Context, in *imported, inputs map[string][]string, report, hosts string) error {
	b := &blocks{in: in, inputs: inputs, files: map[string][]*fsck.File{}, names: map[string]string{}}
	if hosts != "" {
		names, err := readTrace(ctx, hosts, o, readHosts)
		if err != nil {
			return fmt.Errorf("--hosts: %w", err)
		}
		b.names = *names
	}
	_, err := readTrace(ctx, report, o, func(r io.Reader) (*struct{}, error) { return nil, fsck.Each(r, b.file) })
	if err != nil {
		return fmt.Errorf("--fsck: %w", err)
	}
	b.nameAddresses()
	located, otherCount, otherHosts := 0, 0, 0
	racks := b.rackOf()
	for i := range in.jobs {
		j := &in.jobs[i]
		files := b.files[j.ID]
		if len(files) == 0 {
			continue
		}
		replicas := b.replicas(j, files)
		switch {
		case len(replicas) != len(j.Maps):
			otherCount++
		case !b.agree(j, replicas, racks):
			otherHosts++
		default:
			located++
			for k, hosts := range replicas {
				if len(hosts) > 0 {
					j.Maps[k].Replicas = hosts
				}
			}
		}
	}
	in.notes = append(in.notes, fmt.Sprintf("blocks of %d of %d jobs are where fsck found them; %d read another number of splits than the files have now, the histories of %d name other hosts, %d read no file of the report",
		located, len(in.jobs), otherCount, otherHosts, len(in.jobs)-located-otherCount-otherHosts))
	if b.paired > 0 {
		in.notes = append(in.notes, fmt.Sprintf("%d addresses of the report have no name: they were paired with the hosts of their racks in order, so that racks are right and hosts may not be (--hosts names them)", b.paired))
	}
	return nil
}

// file keeps a file for the jobs that read it.
func (b *blocks) file(f *fsck.File) error {
	for i := range b.in.jobs {
		id := b.in.jobs[i].ID
		if slices.ContainsFunc(b.inputs[id], func(input string) bool { return fsck.Matches(input, f.Path) }) {
			b.files[id] = append(b.files[id], f)
		}
	}
	return nil
}

// replicas returns the hosts of each split of the files that a job reads.
func (b *blocks) replicas(j *measured.Job, files []*fsck.File) [][]string {
	order := func(f *fsck.File) int { // a job lists its inputs one after the other, each by name
		return slices.IndexFunc(b.inputs[j.ID], func(input string) bool { return fsck.Matches(input, f.Path) })
	}
	slices.SortStableFunc(files, func(x, y *fsck.File) int {
		return cmp.Or(cmp.Compare(order(x), order(y)), strings.Compare(x.Path, y.Path))
	})
	sizes := make([][]model.Bytes, len(files))
	for i, f := range files {
		for _, block := range f.Blocks {
			sizes[i] = append(sizes[i], block.Bytes)
		}
	}
	splits := measured.Splits(sizes)
	all := make([][]string, len(splits))
	for i, s := range splits {
		for _, r := range files[s.File].Blocks[s.Block].Replicas {
			if host := b.names[r.Addr]; host != "" {
				all[i] = append(all[i], host)
			}
		}
	}
	return all
}

// agree reports whether a history names, for nine maps of ten, a host that is among the
// replicas; where addresses were paired with hosts, one of the same rack. Else the job
// numbers its maps in its own way, or blocks have moved.
func (b *blocks) agree(j *measured.Job, replicas [][]string, racks map[string]model.RackID) bool {
	differ := 0
	for i, hosts := range replicas {
		named := j.Maps[i].Replicas
		same := func(h string) bool {
			return slices.Contains(hosts, h) || b.paired > 0 && slices.ContainsFunc(hosts, func(o string) bool { return racks[o] == racks[h] })
		}
		if len(named) > 0 && len(hosts) > 0 && !slices.ContainsFunc(named, same) {
			differ++
		}
	}
	return differ*10 <= len(replicas)
}

// rackOf returns the racks of the hosts that are known.
func (b *blocks) rackOf() map[string]model.RackID {
	racks := map[string]model.RackID{}
	for rack, hosts := range b.hosts() { // order-free: a host has one rack
		for h := range hosts { // order-free: a set
			racks[h] = rack
		}
	}
	return racks
}

// nameAddresses names the addresses that --hosts does not. What is no IP address is a name. The
// others of a rack are paired with the hosts that ran tasks in that rack, both in order.
func (b *blocks) nameAddresses() {
	unnamed := map[model.RackID]map[string]bool{}
	for _, files := range b.files { // order-free: sets of addresses
		for _, f := range files {
			for i := range f.Blocks {
				for _, r := range f.Blocks[i].Replicas {
					b.nameAddress(r, unnamed)
				}
			}
		}
	}
	hosts := b.hosts()
	for rack, set := range unnamed { // order-free: each rack on its own
		of := slices.Sorted(maps.Keys(hosts[rack]))
		if len(of) == 0 {
			continue
		}
		b.paired += len(set)
		for i, addr := range inOrder(set) {
			b.names[addr] = of[i%len(of)]
		}
	}
}

// hosts returns the hosts that are known, by rack.
func (b *blocks) hosts() map[model.RackID]map[string]bool {
	hosts := map[model.RackID]map[string]bool{}
	add := func(rack model.RackID, host string) {
		if rack == "" || host == "" {
			return
		}
		if hosts[rack] == nil {
			hosts[rack] = map[string]bool{}
		}
		hosts[rack][host] = true
	}
	for i := range b.in.jobs {
		for _, tasks := range [][]measured.Task{b.in.jobs[i].Maps, b.in.jobs[i].Reduces} {
			for k := range tasks {
				add(tasks[k].Rack, tasks[k].Host)
			}
		}
	}
	for rack, names := range b.in.racks { // order-free: sets of hosts
		for _, host := range names {
			add(rack, host)
		}
	}
	return hosts
}

// nameAddress names an address that is a name, or puts it to those of its rack.
func (b *blocks) nameAddress(r fsck.Replica, unnamed map[model.RackID]map[string]bool) {
	if b.names[r.Addr] != "" {
		if r.Rack != "" && !slices.Contains(b.in.racks[r.Rack], b.names[r.Addr]) {
			if b.in.racks == nil {
				b.in.racks = map[model.RackID][]string{}
			}
			b.in.racks[r.Rack] = append(b.in.racks[r.Rack], b.names[r.Addr])
		}
		return
	}
	if _, err := netip.ParseAddr(r.Addr); err != nil {
		b.names[r.Addr] = r.Addr
		return
	}
	if unnamed[r.Rack] == nil {
		unnamed[r.Rack] = map[string]bool{}
	}
	unnamed[r.Rack][r.Addr] = true
}

// inOrder sorts IP addresses by their numbers.
func inOrder(set map[string]bool) []string {
	all := make([]string, 0, len(set))
	for addr := range set { // order-free: sorted below
		all = append(all, addr)
	}
	slices.SortFunc(all, func(a, b string) int {
		x, _ := netip.ParseAddr(a) // each was parsed before
		y, _ := netip.ParseAddr(b)
		return x.Compare(y)
	})
	return all
}

// readHosts reads names by address from a file in the form of hosts(5): an address and its
// names on each line. The first name counts.
func readHosts(r io.Reader) (*map[string]string, error) {
	names := map[string]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if _, err := netip.ParseAddr(words[0]); err != nil || len(words) < 2 {
			return nil, fmt.Errorf("line %d: want an IP address and a name, has %q", n, line)
		}
		if names[words[0]] == "" {
			names[words[0]] = words[1]
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return &names, nil
}
