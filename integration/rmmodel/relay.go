package rmmodel

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
)

// Relay stands between the application and the ResourceManager. It drives an
// asks.Attempt as the relay does, with a cluster and plans of its own, and checks
// what it sends. It is not safe for concurrent use.
type Relay struct {
	Limits asks.Limits
	Plans  []Plan // by time
	Pass   bool   // everything goes on as it came
	Advise bool
	// Tamper changes what is sent, so that a test can see that a wrong relay is found out; nil changes nothing.
	Tamper func(rows []asks.Row) []asks.Row

	asks   *asks.Attempt
	site   *asks.Site
	stages map[asks.Key]model.Stage
	before sent // the last call

	pending []model.AskRow // as last read
	read    model.Time
}

// NewRelay returns a relay with an attempt that has just registered.
func NewRelay(l asks.Limits, plans []Plan) *Relay {
	r := &Relay{Limits: l, Plans: plans, asks: asks.NewAttempt(l)}
	r.register()
	return r
}

// refresh gives the relay a newer picture of the cluster, and of what is pending.
func (r *Relay) refresh(now model.Time, s *asks.Site, pending []model.AskRow) {
	r.site, r.pending, r.read = s, pending, now
}

// target is the plan in force of a stage.
func (r *Relay) target(now model.Time, stage model.Stage) (asks.Target, bool) {
	for _, p := range slices.Backward(r.Plans) {
		if p.Stage == stage && p.At <= now {
			return p.Target, !p.None
		}
	}
	return asks.Target{}, false
}

// sent is a call on its way to the ResourceManager.
type sent struct {
	asks.Request
	same  bool
	steps []asks.Step
	// wanted are the racks where strict asks may be met, of the keys that this call has rows of.
	wanted map[asks.Key][]model.RackID
}

// request is what goes on to the ResourceManager instead of a call.
func (r *Relay) request(now model.Time, call *asks.Request) (sent, error) {
	intent := &asks.Intent{
		Site: r.site, Advise: r.Advise,
		Stage:  func(k asks.Key, _ bool) (model.Stage, bool) { s, known := r.stages[k]; return s, known },
		Target: func(stage model.Stage) (asks.Target, bool) { return r.target(now, stage) },
	}
	if r.Pass {
		intent.Pass = model.PassStale
	}
	given := *call
	given.Rows = slices.Clone(call.Rows) // whoever edits them in place edits a copy
	edit := r.asks.Request(now, &given, intent)
	r.asks.Reconcile(now, r.read, r.pending)
	out := sent{Request: *call, same: edit.Same, steps: slices.Clone(edit.Steps), wanted: map[asks.Key][]model.RackID{}}
	if !edit.Same {
		var err error
		if out.Rows, err = written(edit.Rows, call.Rows); err != nil {
			return sent{}, err
		}
	}
	if r.Tamper != nil {
		out.Rows = r.Tamper(slices.Clone(out.Rows))
	}
	for i := range out.Rows {
		if key := out.Rows[i].Key; out.wanted[key] == nil {
			out.wanted[key] = r.racks(now, key)
		}
	}
	if r.before.ResponseID == out.ResponseID { // a repetition: what was planned then counts too
		for key, racks := range r.before.wanted { // order-free: every key on its own
			out.wanted[key] = append(out.wanted[key], racks...)
		}
	}
	r.before = out
	return out, nil
}

// racks are those where strict asks of a key may be met: those of the plan, and
// the application's own for maps, which are only kept off some of these.
func (r *Relay) racks(now model.Time, key asks.Key) []model.RackID {
	racks := []model.RackID{}
	stage := r.stages[key]
	if target, planned := r.target(now, stage); planned {
		for _, rack := range target.Racks {
			racks = append(racks, rack.Rack)
		}
	}
	if stage != model.StageMap {
		return racks
	}
	for _, own := range r.asks.Table().Own() {
		if own.Priority == int(key.Priority) && own.RequestID == key.RequestID && strings.HasPrefix(own.ResourceName, "/") {
			racks = append(racks, model.RackID(own.ResourceName))
		}
	}
	return racks
}

// written puts the rows of an edit on the wire, as the relay does: a verbatim
// row as the application wrote it, another as an edited copy of its template.
func written(rows, own []asks.Row) ([]asks.Row, error) {
	out := make([]asks.Row, 0, len(rows))
	for i := range rows {
		r := rows[i]
		if r.Raw == nil {
			if r.Verbatim {
				return nil, fmt.Errorf("%w: row %v %s is to be sent verbatim and has no encoding", ErrInvalidAsk, r.Key, r.Name)
			}
			out = append(out, r)
			continue
		}
		template, valid := decodeRow(r.Raw)
		switch {
		case !valid:
			return nil, fmt.Errorf("%w: the encoding of row %v %s was changed", ErrInvalidAsk, r.Key, r.Name)
		case template.Key != r.Key:
			return nil, fmt.Errorf("%w: row %v %s is made from a row of %v", ErrInvalidAsk, r.Key, r.Name, template.Key)
		case r.Verbatim && !slices.ContainsFunc(own, func(o asks.Row) bool { return bytes.Equal(o.Raw, r.Raw) }):
			return nil, fmt.Errorf("%w: row %v %s is sent verbatim and not of this call", ErrInvalidAsk, r.Key, r.Name)
		}
		if !r.Verbatim {
			template.Name, template.Count, template.Relax = r.Name, r.Count, r.Relax
		}
		template.Raw = r.Raw
		out = append(out, template)
	}
	return out, nil
}

// response takes the answer to the last call.
func (r *Relay) response(now model.Time, answer *asks.Response) {
	r.asks.Response(now, answer, r.site)
}

// loseRegistration reports that the ResourceManager does not know the application.
func (r *Relay) loseRegistration() { r.asks.LoseRegistration() }

// register reports that the application has registered.
func (r *Relay) register() { r.asks.Register(nil, r.site) }

// restart replaces the relay by a new one, which knows of the application only
// what the ResourceManager holds.
func (r *Relay) restart() { r.asks, r.read = asks.NewAttempt(r.Limits), -1 }
