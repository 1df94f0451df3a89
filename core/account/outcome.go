package account

import (
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// Outcomes follow what a relay did for jobs and how long their tasks took, until the jobs end.
type Outcomes struct {
	view state.View
	jobs map[model.AppID]*outcome
}

// outcome follows one job.
type outcome struct {
	earlier, newest model.Relayed // of attempts of which the relay had to learn anew, and since
	maps, reduces   mean          // seconds: of whole maps; of reduces once they had all map output
}

// mean is a mean of seconds.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(d model.Duration) {
	if d >= 0 {
		m.sum, m.n = m.sum+d.Seconds(), m.n+1
	}
}

func (m *mean) value() float64 { return m.sum / max(float64(m.n), 1) }

// NewOutcomes returns the outcomes of the jobs of a cluster.
func NewOutcomes(v state.View) Outcomes { return Outcomes{view: v, jobs: map[model.AppID]*outcome{}} }

// Observe takes note of a fact that the cluster has applied.
func (o *Outcomes) Observe(fact model.Fact) {
	switch f := fact.(type) {
	case model.AsksFact:
		if f.Relayed.Granted > 0 {
			if of := o.of(f.App); of != nil {
				of.relayed(f.Relayed)
			}
		}
	case model.TasksFact:
		if of := o.of(f.App); of != nil {
			of.took(f.Tasks)
		}
	}
}

// of returns the outcome of a job that the cluster knows, nil for another.
func (o *Outcomes) of(app model.AppID) *outcome {
	of := o.jobs[app]
	if of != nil || o.view.Job(app) == nil {
		return of
	}
	if len(o.jobs) > 2*len(o.view.Jobs())+1000 {
		for id := range o.jobs { // order-free: each on its own
			if o.view.Job(id) == nil {
				delete(o.jobs, id)
			}
		}
	}
	of = &outcome{}
	o.jobs[app] = of
	return of
}

// Of returns what a relay has done so far for a job that has not ended; false of a job of which nothing is known.
func (o *Outcomes) Of(app model.AppID) (model.Relayed, bool) {
	of := o.jobs[app]
	if of == nil {
		return model.Relayed{}, false
	}
	return of.earlier.Add(of.newest), true
}

// relayed takes what a relay has done so far.
func (of *outcome) relayed(r model.Relayed) {
	if was := of.newest; r.Granted < was.Granted || r.Steered < was.Steered || r.Waited < was.Waited {
		of.earlier = of.earlier.Add(was) // another attempt, or the relay began anew
	}
	of.newest = r
}

// took takes the times of tasks that are complete. One that is reported again counts again, which hardly moves a mean.
func (of *outcome) took(tasks []model.Task) {
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.State != model.TaskSucceeded || t.Launched == 0 || t.Finished == 0:
		case t.Stage == model.StageMap:
			of.maps.add(t.Finished.Sub(t.Launched))
		case t.Stage == model.StageReduce && t.Fetched != 0:
			of.reduces.add(t.Finished.Sub(t.Fetched))
		}
	}
}

// End returns what is to be judged of a job that ended; false if no relay carried its asks, or it ended badly.
func (o *Outcomes) End(acc *Job) (guard.Application, bool) {
	of, j := o.jobs[acc.App], o.view.Job(acc.App)
	did, _ := o.Of(acc.App)
	delete(o.jobs, acc.App)
	if of == nil || j == nil || j.Failed() || j.Finished <= j.Submitted {
		return guard.Application{}, false
	}
	a := guard.Application{
		ID: j.ID, Queue: j.Queue, Ended: acc.Ended, Steered: did.Steered > 0, Took: j.Finished.Sub(j.Submitted), Waited: did.Waited,
		CrossRack: acc.Shuffle.Recorded,
	}
	if did.Granted == 0 {
		return a, false
	}
	ran := acc.recorded.reduces
	if n := sum(ran); n > 0 {
		a.Uplink = uplinkSeconds(o.view, acc.output, ran)
		a.Stock, a.StockCrossRack = stock(o.view, acc.output, n)
	}
	a.Reference = of.reference(o.view, j, a.Stock)
	return a, true
}

// reference is what a job takes alone by its own facts, 0 while too little is known: its maps in as many waves as the
// cluster has room for, the busiest uplink of an even spread, and its reduces once they have all map output. Nothing of it
// follows from where a policy puts reduces.
func (of *outcome) reference(v state.View, j *state.Job, uplink float64) model.Duration {
	if of.maps.n == 0 {
		return 0
	}
	seconds := of.maps.value()*waves(v, j.Map) + uplink + of.reduces.value()*waves(v, j.Reduce)
	return model.Duration(seconds * float64(model.Second))
}

// waves is how many waves the tasks of a stage take on the whole cluster: at least 1, and not rounded.
func waves(v state.View, s *state.Stage) float64 {
	room := 0
	for _, r := range v.Racks() {
		room += s.RoomIn(r)
	}
	if room == 0 {
		return 1
	}
	return max(float64(s.Tasks())/float64(room), 1)
}

// uplinkSeconds is how long the busiest uplink takes for a shuffle, in the busier direction, with so many reduces on each
// rack. Uplinks of unknown capacity take no time.
func uplinkSeconds(v state.View, output []model.Bytes, reduces []int) float64 {
	all, n, most := float64(shuffle.Total(output)), float64(sum(reduces)), 0.0
	for i, r := range v.Racks() {
		part, f := float64(topology.At(output, i)), float64(topology.At(reduces, i))/n
		if r.Link.Out > 0 {
			most = max(most, part*(1-f)/float64(r.Link.Out))
		}
		if r.Link.In > 0 {
			most = max(most, f*(all-part)/float64(r.Link.In))
		}
	}
	return most
}

// mostShifts bounds how many even spreads are looked at.
const mostShifts = 32

// stock is what stock's placement of n reduces makes of the busiest uplink, in seconds, and sends across racks: the mean over
// even spreads that differ in the racks that get one reduce more, as stock looks at none.
func stock(v state.View, output []model.Bytes, n int) (seconds float64, crossRack model.Bytes) {
	even := policy.EvenSpread(v, n)
	var open []int
	for i, r := range v.Racks() {
		if r.Runs() {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return 0, 0
	}
	step := (len(open) + mostShifts - 1) / mostShifts
	spread, bytes, looks := make([]int, len(even)), 0.0, 0.0
	for shift := 0; shift < len(open); shift += step {
		for i, rack := range open {
			spread[open[(i+shift)%len(open)]] = even[rack]
		}
		seconds += uplinkSeconds(v, output, spread)
		bytes += float64(shuffle.CrossRack(output, spread))
		looks++
	}
	return seconds / looks, model.Bytes(bytes / looks)
}
