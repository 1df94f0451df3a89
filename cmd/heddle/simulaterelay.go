package main

import (
	"errors"
	"fmt"
	"time"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/capacity"
	"heddle/core/sim"
	"heddle/core/workload"
)

// relayFlags are the flags of a simulated relay.
type relayFlags struct {
	scheduler string
	pin, trim time.Duration
}

// simRelay is a relay between applications and a scheduler: the policies' plans
// limit what is asked for.
type simRelay struct {
	scheduler string
	build     policy.Factory
	steering  sim.Steering // without a policy
}

// relayEvery is how often plans are made: about as often as the service makes them.
const relayEvery = 2 * model.Second

// open looks the scheduler up; nil without one. A policy that is steered is
// labelled POLICY@SCHEDULER.
func (f *relayFlags) open(policies []simPolicy) (*simRelay, error) {
	if f.scheduler == "" {
		return nil, nil //nolint:nilnil // no relay is none
	}
	if f.pin <= 0 || f.trim <= 0 {
		return nil, errors.New("--relay-pin and --relay-trim: must be above 0")
	}
	if _, err := builtin.Registry().New(f.scheduler, nil); err != nil {
		return nil, fmt.Errorf("--relay: %w", err)
	}
	e, _ := builtin.Registry().Lookup(f.scheduler)
	for i := range policies {
		if policies[i].name != f.scheduler {
			policies[i].label += "@" + f.scheduler
		}
	}
	return &simRelay{
		scheduler: f.scheduler, build: e.New,
		steering: sim.Steering{Every: relayEvery, Pin: model.Duration(f.pin.Milliseconds()), Trim: model.Duration(f.trim.Milliseconds())},
	}, nil
}

// world prepares a run: the policy is the scheduler, or a relay in front of the
// scheduler makes its plans known.
func (r *simRelay) world(params sim.Params, c sim.Cluster, w *workload.Workload, p *simPolicy, pol policy.Policy) (*sim.Sim, error) {
	relayed := r != nil && r.scheduler != p.name
	// CapacityScheduler fills a node in one heartbeat (per-node-heartbeat.multiple-assignments-enabled).
	params.Multiple = params.Multiple || p.name == capacity.Name && !relayed || relayed && r.scheduler == capacity.Name
	if !relayed {
		return sim.New(params, c, w, p.name, pol)
	}
	scheduler, err := r.build(nil)
	if err != nil {
		return nil, err
	}
	world, err := sim.New(params, c, w, p.name+"@"+r.scheduler, scheduler)
	if err != nil {
		return nil, err
	}
	by := r.steering
	by.Name, by.Policy = p.name, pol
	world.Steer(by)
	return world, nil
}
