package importing

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/configs/strict"
	"heddle/core/lab/measured"
	"heddle/core/model"
)

// cluster describes the nodes that jobs ran on, as 'heddle simulate' takes it.
type cluster struct {
	racks       []measured.Rack
	containers  int // of a node
	nic, uplink strict.Rate
}

// mostAtOnce returns the most tasks that ran on one host at a time, at least 1.
func mostAtOnce(jobs []measured.Job) int {
	type change struct {
		at    model.Time
		delta int
	}
	byHost := map[string][]change{}
	for i := range jobs {
		for _, tasks := range [][]measured.Task{jobs[i].Maps, jobs[i].Reduces} {
			for k := range tasks {
				if t := &tasks[k]; t.Host != "" {
					byHost[t.Host] = append(byHost[t.Host], change{t.Launched, 1}, change{t.Finished, -1})
				}
			}
		}
	}
	most := 1
	for _, changes := range byHost { // order-free: the maximum of all
		slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.delta, b.delta)) })
		n := 0
		for _, c := range changes {
			n += c.delta
			most = max(most, n)
		}
	}
	return min(most, 1000)
}

// groups returns the numbers of nodes of neighbouring racks that have as many.
func (c *cluster) groups() [][]measured.Rack {
	var groups [][]measured.Rack
	for i := range c.racks {
		if last := len(groups) - 1; last >= 0 && len(groups[last][0].Hosts) == len(c.racks[i].Hosts) {
			groups[last] = append(groups[last], c.racks[i])
			continue
		}
		groups = append(groups, c.racks[i:i+1:i+1])
	}
	return groups
}

// line returns the cluster as key=value pairs, "" where racks differ, which only a file can say.
func (c *cluster) line() string {
	if groups := c.groups(); len(groups) == 1 {
		return fmt.Sprintf("racks=%d,nodes=%d,containers=%d,nic=%v,uplink=%v", len(c.racks), len(c.racks[0].Hosts), c.containers, c.nic, c.uplink)
	}
	return ""
}

// write writes the cluster as YAML.
func (c *cluster) write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# The nodes that the imported workload names. How fast the network was, and how many\n# containers a node had, it does not say: set them to those of the cluster.\n")
	fmt.Fprintf(&b, "containers: %d\nnic: %v\nuplink: %v\ngroups:\n", c.containers, c.nic, c.uplink)
	for _, g := range c.groups() {
		fmt.Fprintf(&b, "  - racks: %d\n    nodes: %d\n", len(g), len(g[0].Hosts))
		for i := range g {
			fmt.Fprintf(&b, "    # %s: %s\n", comment(string(g[i].ID)), comment(strings.Join(g[i].Hosts, " ")))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// comment keeps a name within a line of YAML.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
