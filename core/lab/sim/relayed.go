package sim

import (
	"heddle/core/asks"
	"heddle/core/model"
	"heddle/core/state"
)

// relayed is the attempt of a job's ApplicationMaster whose allocate calls go through
// the relay.
type relayed struct {
	attempt  *asks.Attempt
	intent   asks.Intent
	of       *state.Job // nil until the job is reported
	stages   [2]relayedStage
	calls    int32
	response asks.Response // to the last call
	grants   int64
	changed  bool // what the job asks for
}

// relayedStage is one stage of it.
type relayedStage struct {
	of        *state.Stage
	key       asks.Key
	hasAsked  bool
	isPlanned bool
	isBound   bool // the ResourceManager was last reported to hold strict rows of it
	target    asks.Target
	said      askedRows // as the ApplicationMaster last said
	sent      askedRows // as the ResourceManager holds them
}

// place is what a row's name stands for: a host by its number, or a rack.
type place struct{ host, rack int }

// askedRows are the rows of one scheduler key, by number of host and rack.
type askedRows struct {
	anywhere int32
	relaxed  bool // the ANY row
	racks    []int32
	hosts    []int32
}

// sayAgain stands for a row that is to be said whatever its count.
const sayAgain = -1

// newRelayed returns the attempt of a job that begins to ask.
func newRelayed(l asks.Limits) *relayed {
	r := &relayed{attempt: asks.NewAttempt(l)}
	r.intent.Stage = func(k asks.Key, _ bool) (model.Stage, bool) {
		if k.Priority == model.PriorityMap {
			return model.StageMap, true
		}
		return model.StageReduce, true
	}
	r.intent.Target = func(kind model.Stage) (asks.Target, bool) {
		k := r.stage(kind)
		return k.target, k.isPlanned
	}
	for i, priority := range []int32{model.PriorityMap, model.PriorityReduce} {
		r.stages[i].key = asks.Key{Priority: priority, RequestID: -1}
	}
	return r
}

// stage returns the stage of a kind.
func (r *relayed) stage(kind model.Stage) *relayedStage {
	return &r.stages[toInt(kind != model.StageMap)]
}

// meet gives an attempt its job once that is reported; false before.
func (t *steering) meet(r *relayed, of *state.Job) bool {
	if of == nil {
		return false
	}
	r.of, r.changed = of, true
	for i, s := range []*state.Stage{of.Map, of.Reduce} {
		r.stages[i].of = s
		r.stages[i].said = t.noRows()
		r.stages[i].sent = t.noRows()
		t.sent[s] = &r.stages[i].sent
	}
	r.attempt.Register(nil, t.site)
	return true
}

func (t *steering) noRows() askedRows {
	hosts, racks := 0, 0
	for _, at := range t.names { // order-free: the largest
		hosts, racks = max(hosts, at.host+1), max(racks, at.rack+1)
	}
	return askedRows{hosts: make([]int32, hosts), racks: make([]int32, racks)}
}

// allocate makes the call of a job's ApplicationMaster: the relay sees the answer to
// the last one, then what the job asks for now, and the ResourceManager takes what
// the relay makes of it.
func (t *steering) allocate(s *Sim, j *job) {
	r := j.relayed
	room := s.cluster.Container.Times(int64(j.headroom(&s.world)))
	r.response.ResponseID, r.response.Headroom = r.calls, &room
	r.attempt.Response(s.now, &r.response, t.site)
	r.response.Granted, r.response.Ended = r.response.Granted[:0], r.response.Ended[:0]
	t.rows = t.rows[:0]
	if r.changed {
		r.changed = false
		for i := range r.stages {
			t.rows = r.stages[i].say(t.rows, s.state.View())
		}
	}
	r.intent.Site = t.site
	e := r.attempt.Request(s.now, &asks.Request{ResponseID: r.calls, Rows: t.rows}, &r.intent)
	r.calls++
	if e.Same {
		e.Rows = t.rows
	}
	for i := range e.Rows {
		row := &e.Rows[i]
		k := &r.stages[toInt(row.Priority != model.PriorityMap)]
		k.sent.apply(row, t.names)
	}
}

// say appends the rows that have changed since the last call, and ANY with them.
func (k *relayedStage) say(rows []asks.Row, v state.View) []asks.Row {
	first := len(rows)
	pending := max(k.of.Pending, 0)
	row := asks.Row{Key: k.key, Relax: true, Capability: k.of.Capability}
	change := func(name string, have *int32, now int) {
		if n := int32(max(now, 0)); n != *have { //nolint:gosec // of tasks
			*have, row.Name, row.Count = n, name, n
			rows = append(rows, row)
		}
	}
	if k.of.Kind == model.StageMap {
		for _, n := range v.Nodes() {
			change(n.Host, &k.said.hosts[n.HostNumber()], k.of.PendingOn(n))
		}
		for _, r := range v.Racks() {
			change(string(r.ID), &k.said.racks[r.Index], k.of.PendingIn(r.Index))
		}
	}
	if change(model.AnyName, &k.said.anywhere, pending); len(rows) > first && rows[len(rows)-1].Name != model.AnyName {
		row.Name, row.Count = model.AnyName, k.said.anywhere
		rows = append(rows, row)
	}
	return rows
}

// apply takes a row as the ResourceManager does: it replaces the one of its name, and
// an ANY row of 0 drops the key.
func (a *askedRows) apply(row *asks.Row, names map[string]place) {
	if row.Name != model.AnyName {
		if at := names[row.Name]; at.host >= 0 {
			a.hosts[at.host] = row.Count
		} else {
			a.racks[at.rack] = row.Count
		}
		return
	}
	if a.anywhere, a.relaxed = row.Count, row.Relax; row.Count == 0 {
		clear(a.hosts)
		clear(a.racks)
	}
}

// admit reports whether a container may be allocated on a node.
func (a *askedRows) admit(n *state.Node) bool {
	return a.anywhere > 0 && (a.relaxed || a.racks[n.Rack.Index] > 0 && a.hosts[n.HostNumber()] > 0)
}

// take counts the rows of a container down.
func (a *askedRows) take(n *state.Node) {
	a.anywhere = max(a.anywhere-1, 0)
	rack, host := &a.racks[n.Rack.Index], &a.hosts[n.HostNumber()]
	if *rack > 0 {
		*rack--
		if *host > 0 {
			*host--
		}
	}
}

// grant counts a container that was allocated, and returns its number. The
// ApplicationMaster says the rows that the container was taken from again, be the
// task lost meanwhile.
func (r *relayed) grant(kind model.Stage, n *state.Node) int64 {
	k := r.stage(kind)
	k.sent.take(n)
	k.said.anywhere = sayAgain
	if kind == model.StageMap {
		k.said.racks[n.Rack.Index], k.said.hosts[n.HostNumber()] = sayAgain, sayAgain
	}
	r.grants++
	r.response.Granted = append(r.response.Granted, asks.Grant{ID: asks.ContainerID{ID: r.grants}, Key: k.key, Host: n.Host})
	return r.grants
}

// end counts a container that ended.
func (r *relayed) end(container int64, status int32) {
	r.response.Ended = append(r.response.Ended, asks.Ended{ID: asks.ContainerID{ID: container}, ExitStatus: status})
}

// The exit statuses of containers: success, and aborted with the node or by the job.
const (
	exitSuccess int32 = 0
	exitAborted int32 = -100
)
