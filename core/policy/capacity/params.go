package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/policy"
)

// Off switches a limit or a delay off where YARN's value for that is -1.
const Off = -1

// Params are the policy's own settings, under YARN's names
// (yarn.scheduler.capacity.…) and with YARN's defaults.
type Params struct {
	Queues map[string]Queue `json:"queues" doc:"leaf queues by path with their settings; live queues not listed share what is left of 100 % equally"`

	NodeLocalityDelay int  `json:"node-locality-delay"            doc:"offers a job lets pass before its maps may leave their nodes for their racks, at most as many as there are nodes"`
	RackLocalityDelay int  `json:"rack-locality-additional-delay" doc:"further offers before they may leave their racks; -1 takes as many as the containers asked for, times the share of nodes and racks named"`
	RackFullReset     bool `json:"rack-locality-full-reset"       doc:"a rack-local map starts the count of offers anew"`
	MaxOffSwitch      int  `json:"per-node-heartbeat.maximum-offswitch-assignments" doc:"containers a node is given off-switch in one heartbeat; after the last of them it is given nothing more"`

	MinAllocation int64 `json:"minimum-allocation-mb" doc:"smallest container in MiB: no queue counts as smaller, and limits are rounded up to it"`
	AMMemory      int64 `json:"am-resource-mb"        doc:"size in MiB of an ApplicationMaster (yarn.app.mapreduce.am.resource.mb) for the limit on them"`
}

// Queue is the settings of one leaf queue.
type Queue struct {
	Capacity         float64 `json:"capacity"                    doc:"guaranteed share of the cluster in percent"`
	MaximumCapacity  float64 `json:"maximum-capacity"            doc:"share it may grow to in percent"`
	UserLimitFactor  float64 `json:"user-limit-factor"           doc:"how many times the queue's capacity one user may have; -1 is no limit"`
	MinimumUserLimit float64 `json:"minimum-user-limit-percent"  doc:"what a user is left of the queue in percent, however many share it"`
	MaximumAM        float64 `json:"maximum-am-resource-percent" doc:"share of the queue that ApplicationMasters may have, from 0 to 1"`
}

// DefaultQueue returns YARN's defaults for a leaf queue.
func DefaultQueue() Queue {
	return Queue{MaximumCapacity: 100, UserLimitFactor: 1, MinimumUserLimit: 100, MaximumAM: 0.1}
}

// UnmarshalJSON reads a queue over the defaults, strictly.
func (q *Queue) UnmarshalJSON(raw []byte) error {
	type plain Queue // without this method
	p := plain(DefaultQueue())
	if err := policy.Decode(raw, &p); err != nil {
		return err
	}
	*q = Queue(p)
	return nil
}

// DefaultParams returns YARN's defaults, and no queue by name.
func DefaultParams() Params {
	return Params{
		Queues: map[string]Queue{}, NodeLocalityDelay: 40, RackLocalityDelay: Off, RackFullReset: true, MaxOffSwitch: 1,
		MinAllocation: 1024, AMMemory: 1536,
	}
}

// Bounds of settings.
const (
	maxDelay  = 1_000_000
	maxMemory = 1 << 30 // MiB
	maxFactor = 1000
)

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	var errs []error
	within := func(key string, v, lo, hi float64) {
		errs = append(errs, policy.Within(key, v, lo, hi))
	}
	within("node-locality-delay", float64(p.NodeLocalityDelay), Off, maxDelay)
	within("rack-locality-additional-delay", float64(p.RackLocalityDelay), Off, maxDelay)
	within("per-node-heartbeat.maximum-offswitch-assignments", float64(p.MaxOffSwitch), 1, maxDelay)
	within("minimum-allocation-mb", float64(p.MinAllocation), 1, maxMemory)
	within("am-resource-mb", float64(p.AMMemory), 0, maxMemory)
	sum := 0.0
	short := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Queues)) {
		q := p.Queues[name]
		within("queues."+name+".capacity", q.Capacity, 0, 100)
		within("queues."+name+".maximum-capacity", q.MaximumCapacity, q.Capacity, 100)
		if q.UserLimitFactor != Off {
			within("queues."+name+".user-limit-factor", q.UserLimitFactor, 0, maxFactor)
		}
		within("queues."+name+".minimum-user-limit-percent", q.MinimumUserLimit, 0, 100)
		within("queues."+name+".maximum-am-resource-percent", q.MaximumAM, 0, 1)
		sum += q.Capacity
		if other := short[leaf(name)]; other != "" {
			errs = append(errs, fmt.Errorf("queues: %s and %s are one queue", other, name))
		}
		short[leaf(name)] = name
	}
	if sum > 100+1e-9 {
		errs = append(errs, fmt.Errorf("queues: capacities sum to %g %%, more than 100", sum))
	}
	return errors.Join(errs...)
}

// leaf returns the path of a queue below the root: "root.default" and "default"
// are one queue.
func leaf(name string) string { return strings.TrimPrefix(name, "root.") }

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), NewWith)
}

// NewWith builds the policy from parameters.
func NewWith(p Params) (*Policy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	built := &Policy{
		params: p, named: make(map[string]Queue, len(p.Queues)), left: 100,
		masters: map[model.UserID]float64{},
	}
	for name, q := range p.Queues { // order-free: each is put under its own key
		built.named[leaf(name)] = q
	}
	for _, name := range slices.Sorted(maps.Keys(built.named)) {
		built.left -= built.named[name].Capacity
	}
	built.left = max(built.left, 0)
	return built, nil
}
