package weave

import (
	"heddle/core/model"
)

// rates are what complete tasks of all jobs took and put out for what they read. Old ones fade: the sums are halved once there
// is as much in them as some 8,000 maps of a block read.
type rates struct {
	seconds, mib float64 // container seconds, and MiB read with Params.TaskMiB more for each map
	maps         outputs
	gathered     outputs // of complete stages that read other stages and are read by others
}

// outputs is what tasks read and put out, in bytes.
type outputs struct{ in, out float64 }

// ratio returns what is put out for a byte that is read, 1 until that is known.
func (o *outputs) ratio() float64 { return (o.out + 1) / (o.in + 1) }

// add counts tasks. Old ones fade: both sums are halved once there are fadeBytes.
func (o *outputs) add(in, out float64) {
	if o.in, o.out = o.in+in, o.out+out; o.in > fadeBytes {
		o.in, o.out = o.in/2, o.out/2
	}
}

const (
	fadeMiB   = 1 << 20
	fadeBytes = fadeMiB << 20
)

// startMiB is how many MiB a second a task works off until the first are complete.
const startMiB = 8

// begin sets the rate that holds until maps are complete: it counts as one map.
func (r *rates) begin(p *Params) {
	r.mib = p.BlockMiB + p.TaskMiB
	r.seconds = r.mib / startMiB
}

// complete counts complete maps of a job: how many, and the seconds they took in all.
func (r *rates) complete(n int, seconds float64, z *size, p *Params) {
	maps := float64(n)
	r.seconds += seconds
	r.mib += maps * (z.input/float64(z.maps)/float64(model.MiB) + p.TaskMiB)
	if z.predicted {
		r.maps.add(maps*z.input/float64(z.maps), maps*z.outputOfMap())
	}
	if r.mib > fadeMiB {
		r.seconds, r.mib = r.seconds/2, r.mib/2
	}
}

// of returns how long a task takes that works off so many bytes.
func (r *rates) of(bytes float64, p *Params) float64 {
	return (bytes/float64(model.MiB) + p.TaskMiB) * r.seconds / max(r.mib, 1e-9)
}

// timer is how long the tasks of a stage take. Which task it was that ended is not told: it is taken for the one that ran
// longest, which is right for the sum once all have ended.
type timer struct {
	launches []launch // of those that run, from first on, oldest first
	first    int
	running  int
	done     int
	seconds  float64 // of those that are done
}

// launch is tasks that were started at one time.
type launch struct {
	at    model.Time
	tasks int
}

// follow takes note of how many tasks run and are complete now, and returns how many ended since and the seconds they took.
func (t *timer) follow(now model.Time, running, completed int) (ended int, seconds float64) {
	ended = max(completed-t.done, 0)
	t.start(now, running-t.running+ended)
	t.running, t.done = running, completed
	for left := ended; left > 0 && t.first < len(t.launches); {
		l := &t.launches[t.first]
		n := min(left, l.tasks)
		seconds += float64(n) * max(now.Sub(l.at).Seconds(), 0)
		left -= n
		if l.tasks -= n; l.tasks == 0 {
			t.first++
		}
	}
	if 2*t.first > len(t.launches) {
		t.launches = t.launches[:copy(t.launches, t.launches[t.first:])]
		t.first = 0
	}
	t.seconds += seconds
	return ended, seconds
}

// start adds tasks that were started now, or removes those started last.
func (t *timer) start(now model.Time, tasks int) {
	last := len(t.launches) - 1
	switch {
	case tasks > 0 && last >= t.first && t.launches[last].at == now:
		t.launches[last].tasks += tasks
	case tasks > 0:
		t.launches = append(t.launches, launch{now, tasks})
	}
	for ; tasks < 0 && last >= t.first; last-- {
		n := min(-tasks, t.launches[last].tasks)
		tasks += n
		if t.launches[last].tasks -= n; t.launches[last].tasks > 0 {
			return
		}
		t.launches = t.launches[:last]
	}
}

// mean returns how long a task takes: as those that are done, and one more that took as long as expected.
func (t *timer) mean(expected float64) float64 {
	return (t.seconds + expected) / float64(t.done+1)
}
