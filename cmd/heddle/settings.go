package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"heddle/configs"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/state"
	"heddle/core/topology"
)

// stateConfig is the configuration in the terms of the core.
func stateConfig(c *configs.Config) (state.Config, error) {
	s := state.DefaultConfig()
	s.Saturation = saturation(c)
	if c.Policy.Name == shufflewatcher.Name { // the one parameter that is the cluster state's to use
		p := shufflewatcher.DefaultParams()
		if err := policy.Decode(c.Policy.Params.JSON(), &p); err != nil {
			return s, fmt.Errorf("policy.params: %w", err)
		}
		s.InitialRatio = p.RatioInit
	}
	s.UplinkMethod = string(c.Uplinks.Source)
	s.FinishedJobs = c.State.FinishedJobsKept
	s.CountVCores = c.ResourceManager.CountVCores
	s.Uplinks = uplinks(&c.Uplinks)
	if c.Topology.Table != "" {
		table, err := readTable(c.Topology.Table)
		if err != nil {
			return s, err
		}
		s.Table, s.TableOverrides = table, c.Topology.Use == configs.TopologyOverride
	}
	return s, nil
}

func uplinks(c *configs.UplinksConfig) topology.Uplinks {
	both := func(r configs.Rate) topology.Link {
		return topology.Link{Out: model.BytesPerSecond(r), In: model.BytesPerSecond(r)}
	}
	u := topology.Uplinks{Default: both(c.Capacity), Racks: map[model.RackID]topology.Link{}}
	if o := c.Oversubscription; o.Ratio > 0 {
		u.PerNode = model.BytesPerSecond(float64(o.NodeNIC) / o.Ratio)
	}
	for rack, rate := range c.Racks {
		u.Racks[model.RackID(rack)] = both(rate)
	}
	return u
}

// readTable reads a table of two columns, host and rack, as Hadoop's
// TableMapping does: lines of another shape are an error here, not a warning.
func readTable(path string) (map[string]model.RackID, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("topology.table: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	table := map[string]model.RackID{}
	in := bufio.NewScanner(f)
	for line := 1; in.Scan(); line++ {
		fields := strings.Fields(in.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("topology.table: %s:%d: want two columns, host and rack", path, line)
		}
		rack, err := topology.ParseRack(fields[1])
		if err != nil {
			return nil, fmt.Errorf("topology.table: %s:%d: %w", path, line, err)
		}
		table[fields[0]] = rack
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("topology.table: %s: %w", path, err)
	}
	return table, nil
}

// newEngine builds the configured policy around a cluster.
func newEngine(c *configs.Config, cluster *state.Cluster) (*engine.Engine, error) {
	p, err := builtin.Registry().New(c.Policy.Name, c.Policy.Params.JSON())
	if err != nil {
		return nil, err
	}
	opts := engine.DefaultOptions(c.Policy.Name)
	opts.MaxAge = c.State.MaxAge.Model()
	return engine.New(opts, p, cluster), nil
}
