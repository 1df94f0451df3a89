// Package settings turns the configuration into the options of the core and of the
// relay.
package settings

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"heddle/cmd/heddle/internal/loop"
	"heddle/configs"
	"heddle/configs/strict"
	"heddle/core/asks"
	"heddle/core/engine"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/yarnproxy/amrm"
)

// State returns the settings of the cluster state.
func State(c *configs.Config) (state.Config, error) {
	s := state.DefaultConfig()
	s.Saturation = Saturation(c)
	if c.Policy.Name == shufflewatcher.Name { // the only parameter that the cluster state uses
		entry, p := shufflewatcher.Entry(), shufflewatcher.DefaultParams()
		params, err := entry.Expand(c.Policy.Params.JSON())
		if err == nil {
			err = policy.Decode(params, &p)
		}
		if err != nil {
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
	both := func(r strict.Rate) topology.Link {
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

// readTable reads a table of two columns, host and rack, as Hadoop's TableMapping
// does. Unlike there, a malformed line is an error.
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

// Engine builds the configured policy around a cluster.
func Engine(c *configs.Config, cluster *state.Cluster) (*engine.Engine, error) {
	p, err := builtin.Registry().New(c.Policy.Name, c.Policy.Params.JSON())
	if err != nil {
		return nil, err
	}
	return engine.New(EngineOptions(c), p, cluster), nil
}

// Shadows builds the policies that are only compared, around a cluster.
func Shadows(c *configs.Config, cluster *state.Cluster) ([]loop.Shadow, error) {
	var all []loop.Shadow
	for i := range c.Shadow.Policies {
		of := &c.Shadow.Policies[i]
		p, err := builtin.Registry().New(of.Name, of.Params.JSON())
		if err != nil {
			return nil, fmt.Errorf("shadow.policies: %w", err)
		}
		o := EngineOptions(c)
		o.Name, o.HoldByRank = of.Called(), false // its plans are compared, and hold nothing
		all = append(all, loop.Shadow{Label: of.Called(), Engine: engine.New(o, p, cluster)})
	}
	return all, nil
}

// EngineOptions returns the settings of the configured policy's engine.
func EngineOptions(c *configs.Config) engine.Options {
	o := engine.DefaultOptions(c.Policy.Name)
	o.MaxAge = c.State.MaxAge.Model()
	o.HoldByRank = c.Relay.Limits.HoldByRank
	return o
}

// Guard returns the settings of the guard.
func Guard(c *configs.Config) guard.Params {
	g := &c.Guard
	return guard.Params{
		Enabled: g.Enabled, Control: g.Control, Window: g.Window.Model(), MinApplications: g.MinApplications, Margin: g.Margin, OffFor: g.OffFor.Model(),
	}
}

// KnownPolicy checks the name and the parameters of a policy for configs.Load.
func KnownPolicy(name string, params []byte) error {
	_, err := builtin.Registry().New(name, params)
	return err
}

// Saturation returns the settings of NetSat.
func Saturation(c *configs.Config) shuffle.SaturationParams {
	return shuffle.SaturationParams{
		Threshold: c.Network.Saturation, Period: c.Network.Period.Model(),
		EWMA: c.Network.EWMA.Model(), Hysteresis: c.Network.Hysteresis,
	}
}

// RelayRules returns those of the relay's options that may change while it runs.
func RelayRules(cfg *configs.Config) amrm.Options {
	l := &cfg.Relay.Limits
	o := amrm.Options{
		Enforce: cfg.Mode == configs.ModeEnforce, OptOutTag: cfg.Relay.OptOutTag, DecideIn: l.DecideIn.Std(),
		Limits: asks.Limits{
			PinDeadline: l.PinDeadline.Model(), TrimDeadline: l.TrimDeadline.Model(), WaitMax: l.WaitMax.Model(), HoldMax: l.HoldMax.Model(),
			WidenAfter: l.WidenAfter.Model(), FullAfter: l.FullAfter.Model(), Spread: asks.Spread(l.Spread),
			MaxKeys: l.MaxKeys, MaxRows: l.MaxRows,
		},
	}
	for _, s := range cfg.Relay.Scopes {
		o.Scopes = append(o.Scopes, amrm.Scope{Queues: s.Queues, Users: s.Users, Types: s.Types, Tags: s.Tags})
	}
	for i := range cfg.Relay.Stages {
		r := &cfg.Relay.Stages[i]
		o.Stages = append(o.Stages, amrm.StageRule{Type: r.Type, Priorities: r.Priorities, Local: r.Local(), Stage: r.Stage})
	}
	return o
}

// Relay returns the options of the relay that a configuration gives.
func Relay(cfg *configs.Config) amrm.Options {
	o := RelayRules(cfg)
	c := &cfg.Relay
	o.DialTimeout = c.DialTimeout.Std()
	o.Conns = amrm.ConnLimits{
		Total: c.MaxConnections, Unauthenticated: c.MaxUnauthenticated, PerAddress: c.MaxConnectionsPerAddress, AuthTimeout: c.AuthTimeout.Std(),
	}
	for _, l := range c.Listeners {
		o.Listeners = append(o.Listeners, amrm.Listener{RM: l.RM, Address: l.Address, Upstream: l.Upstream})
	}
	return o
}
