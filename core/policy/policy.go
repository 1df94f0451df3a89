// Package policy defines what a placement algorithm implements, and the
// registry that names the algorithms.
//
// A policy speaks two languages. Place answers one offer, as the schedulers of
// the papers answer a node heartbeat. Plan gives targets per job and stage,
// which is what an outside service can put into the asks of an application.
package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// Policy chooses what to start on the offered node. It is called from one
// goroutine, does no I/O, reads no clock (time is in.View.Now) and draws nothing at
// random. It may keep state between calls, but only as a function of its
// parameters and the inputs so far, keyed by ids and pruned when they leave;
// losing it costs quality, never safety.
//
// Returning nothing is normal and means "wait". The engine verifies whatever is
// returned (I3).
type Policy interface {
	Place(in *Input) []model.Placement
}

// Planner is implemented by policies that can say more than the next launch:
// racks and counts per job and stage, hold, rank. It returns at most one plan
// for each stage of each job in in.Jobs, and leaves out stages it has nothing
// to say about.
type Planner interface {
	Plan(in *Input) []model.Plan
}

// MaxBusier is how many times what an even spread of a job's reduces sends over the busiest uplink a plan may send
// over its own. The engine lets no other plan tie reduces to racks.
const MaxBusier = 1.1

// Input is everything a decision may depend on.
type Input struct {
	View  state.View
	Offer Offer        // of Place; zero in Plan
	Jobs  []*state.Job // of Plan: the jobs to plan, by arrival
	// Limits is where what stages ask for is limited to racks; nil limits nothing.
	Limits Limits
	// HoldByRank is set in Plan where the engine holds stages by the ranks of plans: then a plan may limit how many tasks of a
	// stage run.
	HoldByRank bool
	// Journal records what the policy remembers before it changes; nil records nothing.
	Journal *Journal

	out []model.Placement // what Launch returns, used again for the next offer
}

// Launch returns the placement of any task of a stage on the offered node, at
// the best locality it can have there. The slice is valid until the next offer.
func (in *Input) Launch(j *state.Job, s *state.Stage, reason model.Reason) []model.Placement {
	level, _ := s.Locality(in.Offer.Node)
	in.out = append(in.out[:0], model.Placement{
		App: j.ID, Stage: s.Kind, Task: model.AnyTask, Node: in.Offer.Node.ID, Locality: level, Reason: reason,
	})
	return in.out
}

// Offer is a node with free resources at a moment.
type Offer struct {
	Node *state.Node // its Free is what is offered
	// Kinds restricts the offer to one kind of task, as Hadoop 1's typed slots
	// do (algorithms.md 2.1.1a). Empty means any: YARN's containers are untyped.
	Kinds model.Stage
}

// Limits says on which nodes a stage may still have tasks, where something
// between an application and its scheduler limits its asks to racks.
type Limits interface {
	Admits(s *state.Stage, n *state.Node) bool
	// Locality is that of the rows the scheduler has of a stage, which may name other hosts than the stage does.
	Locality(s *state.Stage, n *state.Node) model.Locality
}

// Admits reports whether a task of the stage may be started on the offer as far
// as kind, size and limits go.
func (in *Input) Admits(s *state.Stage) bool {
	return s.Pending > 0 && in.Within(s) && in.View.Fits(s, in.Offer.Node.Free)
}

// Locality returns the locality at which the scheduler would allocate a task of the
// stage on the offered node.
func (in *Input) Locality(s *state.Stage) model.Locality {
	if in.Limits != nil {
		return in.Limits.Locality(s, in.Offer.Node)
	}
	level, _ := s.Locality(in.Offer.Node)
	return level
}

// Within reports the same whatever the size of the stage's tasks.
func (in *Input) Within(s *state.Stage) bool {
	return (in.Offer.Kinds == "" || in.Offer.Kinds == s.Kind) && (in.Limits == nil || in.Limits.Admits(s, in.Offer.Node))
}

// Factory builds a policy from its own section of the configuration, strictly:
// an unknown key or a value out of range is an error. Nil or empty raw gives
// the defaults.
type Factory func(raw json.RawMessage) (Policy, error)

// Entry is one registered policy. The texts are Markdown: heddle policies prints
// them, and docs/policies.md is made of them. A parameter is described in its tag:
//
//	WindowS float64 `json:"window_s" doc:"width of the starvation window in seconds (3.4); 0 is none"`
type Entry struct {
	Name    string
	Summary string   // one line for people
	Paper   string   // where it comes from
	About   string   // what it does, in a paragraph or two
	Changed []string // where it differs from the paper, and why; the larger points only
	Params  any      // the defaults, a struct encodable as JSON
	Printed any      // the parameters as the paper prints the rule, of the same type; nil where the defaults are
	New     Factory
	Live    Live // what its plans do to asks; read of a Planner alone
}

// Preset is the parameter that stands for all of Entry.Printed if it is "paper". What
// else is given goes before.
const Preset = "preset"

// Expand returns parameters with the preset in them replaced by what it stands for.
func (e *Entry) Expand(raw json.RawMessage) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if !json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{' { // what is no object is for New to refuse
		return raw, nil
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, err
	}
	if given[Preset] == nil {
		return raw, nil
	}
	var preset string
	if json.Unmarshal(given[Preset], &preset) != nil || preset != "paper" {
		return nil, fmt.Errorf("%s: want %q, is %s", Preset, "paper", given[Preset])
	}
	delete(given, Preset)
	all := map[string]json.RawMessage{}
	if e.Printed != nil {
		printed, err := json.Marshal(e.Printed)
		if err == nil {
			err = json.Unmarshal(printed, &all)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Preset, err)
		}
	}
	maps.Copy(all, given)
	return json.Marshal(all)
}

// Registry lists policies by name. Built in package builtin and nowhere else.
type Registry []Entry

// New builds the named policy, or says which names there are.
func (r Registry) New(name string, raw json.RawMessage) (Policy, error) {
	e, ok := r.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("policy %q: unknown, want one of %v", name, r.Names())
	}
	raw, err := e.Expand(raw)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", name, err)
	}
	p, err := e.New(raw)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", name, err)
	}
	return p, nil
}

// Lookup returns the named entry.
func (r Registry) Lookup(name string) (Entry, bool) {
	i := slices.IndexFunc(r, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return r[i], true
}

// Names lists the registered policies in order.
func (r Registry) Names() []string {
	names := make([]string, 0, len(r))
	for _, e := range r {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}
