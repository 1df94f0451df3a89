package importing

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/core/model"
)

// readTopology reads hosts and their racks, a host and its rack a line, as Hadoop's table
// (net.topology.table.file.name) has them.
func readTopology(in io.Reader, name string) (map[model.RackID][]string, error) {
	racks := map[model.RackID][]string{}
	seen := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		switch {
		case len(words) != 2:
			return nil, fmt.Errorf("%s:%d: want a host and its rack, has %q", name, number, line)
		case !strings.HasPrefix(words[1], "/"):
			return nil, fmt.Errorf("%s:%d: rack %q: want a name such as /rack1", name, number, words[1])
		case seen[words[0]]:
			return nil, fmt.Errorf("%s:%d: host %s is there twice", name, number, words[0])
		}
		seen[words[0]] = true
		rack := model.RackID(words[1])
		racks[rack] = append(racks[rack], words[0])
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s, after line %d: %w", name, number, err)
	}
	if len(racks) == 0 {
		return nil, fmt.Errorf("%s has no host", name)
	}
	for _, hosts := range racks { // order-free: each sorted on its own
		slices.Sort(hosts)
	}
	return racks, nil
}

// topology reads the racks that --topology names.
func (o *Options) topology(ctx context.Context) (map[model.RackID][]string, error) {
	if o.Topology == "" {
		return nil, nil
	}
	in, err := openFile(ctx, o.Topology, o.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("--topology: %w", err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	racks, err := readTopology(in, o.Topology)
	if err != nil {
		return nil, fmt.Errorf("--topology: %w", err)
	}
	return racks, nil
}
