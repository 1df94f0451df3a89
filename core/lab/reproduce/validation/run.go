package validation

import (
	"encoding/json"
	"fmt"
	"slices"

	"heddle/core/asks"
	"heddle/core/lab/sim"
	"heddle/core/model"
	"heddle/core/policy/builtin"
)

// The scheduler as the experiment's cluster is configured (integration/hadoop/config.go).
const capacity = `{"queues":{"default":{"capacity":60,"maximum-capacity":100,"user-limit-factor":10,"maximum-am-resource-percent":0.5},
"batch":{"capacity":40,"maximum-capacity":100,"user-limit-factor":10,"maximum-am-resource-percent":0.5}},
"minimum-allocation-mb":128,"am-resource-mb":512}`

// The relay as the experiment has it: plans every two seconds (decide_in), with
// its deadlines.
const (
	planEvery = 2 * model.Second
	pin       = 3 * model.Minute
	trim      = 1 * model.Minute
)

// Figures are one arm's: a figure for each column of the scenario in seconds,
// then the bytes that crossed racks.
type Figures struct {
	Seconds   []float64
	CrossRack float64
}

// Run simulates one arm of a scenario with one seed.
func (s *Scenario) Run(arm string, seed uint64) (Figures, error) {
	var run sim.Run
	world, err := s.world(arm, seed)
	if err == nil {
		run, err = world.Run(nil)
	}
	if err != nil {
		return Figures{}, fmt.Errorf("%s, arm %q, seed %d: %w", s.Name, arm, seed, err)
	}
	f := Figures{CrossRack: float64(run.CrossRack.Total)*wire + float64(s.Beside)}
	for _, c := range s.Columns {
		f.Seconds = append(f.Seconds, c.seconds(run.Responses))
	}
	return f, nil
}

func (s *Scenario) world(arm string, seed uint64) (*sim.Sim, error) {
	registry := builtin.Registry()
	scheduler, err := registry.New("capacity", json.RawMessage(capacity))
	if err != nil {
		return nil, err
	}
	name := "capacity"
	if arm != "" {
		name = arm + "@capacity"
	}
	world, err := sim.New(rules(seed), s.cluster, s.work(arm), name, scheduler)
	if err != nil || arm == "" {
		return world, err
	}
	var params json.RawMessage
	if arm == "shufflewatcher" {
		params = json.RawMessage(`{"assume_unknown":true}`)
	}
	policy, err := registry.New(arm, params)
	if err != nil {
		return nil, err
	}
	world.Steer(sim.Steering{Name: arm, Policy: policy, Every: planEvery, Limits: asks.Limits{
		PinDeadline: pin, TrimDeadline: trim, WidenAfter: 3 * model.Second, FullAfter: 5 * model.Second, Spread: asks.SpreadPack,
	}})
	return world, nil
}

// Spread is a median with the least and the most.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// Runs simulates one arm with seeds from 1 on and returns the spread of each of
// its columns in seconds, then of the bytes that crossed racks in MB.
func (s *Scenario) Runs(arm string, seeds int) ([]Spread, error) {
	all := make([][]float64, len(s.Columns)+1)
	for seed := range seeds {
		f, err := s.Run(arm, uint64(seed)+1)
		if err != nil {
			return nil, err
		}
		for i, v := range append(f.Seconds, f.CrossRack/megabyte) {
			all[i] = append(all[i], v)
		}
	}
	out := make([]Spread, 0, len(all))
	for _, v := range all {
		out = append(out, spreadOf(v))
	}
	return out, nil
}

func spreadOf(v []float64) Spread {
	slices.Sort(v)
	n := len(v)
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}
