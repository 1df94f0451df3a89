package simulation

import (
	"errors"
	"fmt"
	"time"

	"heddle/cmd/heddle/internal/policyflag"
	"heddle/core/asks"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/capacity"
)

// relay stands between applications and a scheduler: the policies' plans restrict the
// applications' asks.
type relay struct {
	scheduler string
	build     policy.Factory
	steering  sim.Steering // without a policy
}

// How long a relay lets reduces and maps wait for their planned racks, as a simulation has it by
// default.
const (
	RelayPin  = 30 * time.Second
	RelayTrim = 10 * time.Second
	RelayMax  = 10 * time.Minute // whatever other racks could do
)

// relayEvery is how often plans are made: about as often as the service makes them.
const relayEvery = 2 * model.Second

// The service's defaults of what else limits a relay.
const (
	relayWiden = 3 * model.Second
	relayFull  = 5 * model.Second
)

// openRelay looks up the scheduler of --relay; it returns nil without one. A policy in
// the relay is labelled POLICY@SCHEDULER.
func (o *Options) openRelay(policies []policyflag.Policy) (*relay, error) {
	if o.Relay == "" {
		return nil, nil // no relay is none
	}
	if o.RelayHold < 0 || o.RelayOrder && o.RelayHold == 0 {
		return nil, errors.New("--relay-hold: must not be below 0, and above 0 with --relay-order")
	}
	if o.RelayPin <= 0 || o.RelayTrim <= 0 || o.RelayMax <= 0 {
		return nil, errors.New("--relay-pin, --relay-trim and --relay-max: must be above 0")
	}
	if _, err := builtin.Registry().New(o.Relay, nil); err != nil {
		return nil, fmt.Errorf("--relay: %w", err)
	}
	e, _ := builtin.Registry().Lookup(o.Relay)
	for i := range policies {
		if policies[i].Name != o.Relay && policies[i].Name != sim.AsRan {
			policies[i].Label += "@" + o.Relay
		}
	}
	return &relay{
		scheduler: o.Relay, build: e.New,
		steering: sim.Steering{Every: relayEvery, HoldByRank: o.RelayOrder, Limits: asks.Limits{
			PinDeadline: model.Duration(o.RelayPin.Milliseconds()), TrimDeadline: model.Duration(o.RelayTrim.Milliseconds()),
			WaitMax: model.Duration(o.RelayMax.Milliseconds()), HoldMax: model.Duration(o.RelayHold.Milliseconds()),
			WidenAfter: relayWiden, FullAfter: relayFull, Spread: asks.SpreadPack,
		}},
	}, nil
}

// newSim prepares a run in which the policy is the scheduler, or in which it makes the
// plans of a relay before the scheduler.
func (r *relay) newSim(params sim.Params, c sim.Cluster, w *workload.Workload, p *policyflag.Policy) (*sim.Sim, error) {
	if p.Name == sim.AsRan {
		return sim.NewAsRan(params, c, w)
	}
	pol, err := p.Build()
	if err != nil {
		return nil, err
	}
	relayed := r != nil && r.scheduler != p.Name
	// CapacityScheduler fills a node in one heartbeat (per-node-heartbeat.multiple-assignments-enabled).
	params.Multiple = params.Multiple || p.Name == capacity.Name && !relayed || relayed && r.scheduler == capacity.Name
	if !relayed {
		return sim.New(params, c, w, p.Name, pol)
	}
	scheduler, err := r.build(nil)
	if err != nil {
		return nil, err
	}
	world, err := sim.New(params, c, w, p.Name+"@"+r.scheduler, scheduler)
	if err != nil {
		return nil, err
	}
	by := r.steering
	by.Name, by.Policy = p.Name, pol
	world.Steer(by)
	return world, nil
}
