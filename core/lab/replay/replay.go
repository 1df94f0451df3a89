// Package replay runs a recording again: its observations through the cluster state
// and the engine, at the instants the recording gives, once for every policy. It asks
// where each policy wanted the containers that the recorded cluster allocated, and
// what the jobs' data would then have sent across racks.
//
// A replay does not know how long tasks would have run elsewhere. Jobs arrive, tasks
// start and end as recorded, whatever a policy wants: what is compared is the
// placement of each stage, by the closed forms of package shuffle, with the plan that
// was in force when a container was allocated. Bytes that a plan would have sent more
// count as much as those it would have sent less.
//
// The records are read once, for all policies together. The memory of a replay is
// that of the cluster's live jobs.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"heddle/core/account"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/trace"
)

// Settings are what a recording's header has of the service that wrote it: what a
// replay needs to take the same decisions (I5).
type Settings struct {
	State  state.Config   `json:"state"`
	Engine engine.Options `json:"engine"` // without a name
}

// Recorded is the name of the policy that the recorded service ran, with its
// parameters, and with the changes of a reload.
const Recorded = "recorded"

// Policy is one policy to replay.
type Policy struct {
	Name   string          // registered, or Recorded
	Label  string          // as results name it
	Params json.RawMessage // as given; none of Recorded
}

// Options say what is replayed.
type Options struct {
	Registry policy.Registry
	Policies []Policy
	// Since and Until bound the jobs that count by their ends; 0 is no bound. All observations before Until are
	// applied whatever Since is.
	Since, Until model.Time
	// Settings are used in place of those in the header; nil uses these.
	Settings *Settings
	// Job is shown the account of each job that counts, when it has ended; nil for nobody.
	Job func(*account.Job)
	// Decision is shown each decision of each policy, by its place in Policies, in order; nil for nobody.
	Decision func(policy int, d *model.Decision)
}

// ErrNoSettings says that a recording's header has no settings, and none were given.
var ErrNoSettings = errors.New("the recording does not have the settings of the service that wrote it, as an earlier heddle wrote it")

// Run replays the records of a recording.
func Run(h *trace.Header, records iter.Seq2[trace.Record, error], o *Options) (*Result, error) {
	s, err := o.settings(h)
	if err != nil {
		return nil, err
	}
	r := &replay{header: h, settings: *s, opts: o, result: &Result{Format: 1}}
	if h.Format == 1 {
		r.result.Recording.Assumed = true
		records = assumeInstants(h, records)
	}
	for i := range o.Policies {
		b := &branch{index: i, policy: &o.Policies[i], run: PolicyRun{Policy: o.Policies[i].Label}}
		if err := r.begin(b); err != nil {
			return nil, err
		}
		r.branches = append(r.branches, b)
	}
	for rec, err := range records {
		if err != nil {
			return nil, err
		}
		if o.Until > 0 && rec.At > o.Until {
			break
		}
		if err := r.record(&rec); err != nil {
			return nil, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
	}
	return r.finish(), nil
}

// settings returns those given, else those of the header.
func (o *Options) settings(h *trace.Header) (*Settings, error) {
	if o.Settings != nil {
		return o.Settings, nil
	}
	if len(h.Settings) == 0 {
		return nil, ErrNoSettings
	}
	s := &Settings{}
	if err := json.Unmarshal(h.Settings, s); err != nil {
		return nil, fmt.Errorf("settings in the recording's header: %w", err)
	}
	return s, nil
}

// replay is a replay on its way.
type replay struct {
	header   *trace.Header
	settings Settings
	opts     *Options
	branches []*branch
	result   *Result
}

// branch is the recording under one policy, with a cluster and an engine of its own.
type branch struct {
	index   int
	policy  *Policy
	cluster *state.Cluster
	engine  *engine.Engine // nil while the recorded service decided nothing
	account.Accounts
	check *check // of Recorded
	run   PolicyRun
}

// begin gives a branch a cluster and an engine that know nothing.
func (r *replay) begin(b *branch) error {
	b.cluster, b.engine = state.New(r.settings.State), nil
	b.Accounts = account.New(b.cluster.View())
	name, params := b.policy.Name, b.policy.Params
	if name == Recorded {
		if b.check == nil && !r.result.Recording.Assumed {
			b.check = &check{}
		}
		if name, params = r.header.Policy, r.header.Params; name == "" { // it observed, and may have begun to decide later
			return nil
		}
	}
	return r.build(b, name, params)
}

// restart begins all branches anew, as the recorded service did.
func (r *replay) restart(h *trace.Header) error {
	s, err := r.opts.settings(h)
	if err != nil {
		return err
	}
	r.header, r.settings = h, *s
	r.result.Recording.Restarts++
	for _, b := range r.branches {
		r.closeEnded(b)
		if err := r.begin(b); err != nil {
			return err
		}
	}
	return nil
}

// plans returns the newest plans of the branch's engine, nil without an engine.
func (b *branch) plans() account.Plans {
	if b.engine == nil {
		return nil
	}
	return b.engine.Log().Plans
}

// build gives a branch an engine of a policy.
func (r *replay) build(b *branch, name string, params json.RawMessage) error {
	p, err := r.opts.Registry.New(name, params)
	if err != nil {
		return err
	}
	opts := r.settings.Engine
	opts.Name, opts.Recover = name, true
	e := engine.New(opts, p, b.cluster)
	if b.engine != nil {
		e.Continue(b.engine)
	}
	b.engine = e
	return nil
}

// record carries out one record in every branch.
func (r *replay) record(rec *trace.Record) error {
	r.result.Recording.add(rec)
	switch {
	case rec.Mark != nil && rec.Mark.Name == trace.MarkRestarted && rec.Mark.Header != nil:
		return r.restart(rec.Mark.Header)
	case rec.Decision != nil:
		for _, b := range r.branches {
			b.check.recorded(rec)
		}
	case rec.Observation != nil:
		for _, b := range r.branches {
			if err := r.step(b, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// step carries out one observation in a branch.
func (r *replay) step(b *branch, rec *trace.Record) error {
	o := rec.Observation
	if f, is := o.Fact.(model.PolicyFact); is && b.policy.Name == Recorded {
		if f.Policy == "" {
			b.engine = nil
		} else if err := r.build(b, f.Policy, json.RawMessage(f.Params)); err != nil {
			return err
		}
	}
	decisions, err := engine.Step(b.cluster, b.engine, *o)
	if err != nil && !errors.Is(err, engine.ErrStale) {
		b.run.Failures++ // the policy panicked: a lost round, as live
	}
	b.run.Decisions += len(decisions)
	b.check.replayed(decisions)
	if r.opts.Decision != nil {
		for i := range decisions {
			r.opts.Decision(b.index, &decisions[i])
		}
	}
	for _, acc := range b.Observe(o.Fact, b.plans()) {
		r.count(b, acc)
	}
	return nil
}
