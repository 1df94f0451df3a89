//go:build linux

package integration

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// repeatIDs lists the relay so many times in all before the ResourceManager itself.
func repeatIDs(with hadoop.Settings, times int) hadoop.Settings {
	all, order := hadoop.Settings{}, []string{}
	for key, value := range with {
		if !strings.Contains(key, ".heddle-") {
			all[key] = value
		}
	}
	for n := 1; n <= times; n++ {
		id := "heddle"
		if n > 1 {
			id = fmt.Sprintf("heddle-%d", n)
		}
		order = append(order, id)
		for key, value := range with {
			if rest, ok := strings.CutSuffix(key, ".heddle"); ok {
				all[rest+"."+id] = value
			}
		}
	}
	all["yarn.resourcemanager.ha.rm-ids"] = strings.Join(append(order, "direct"), ",")
	return all
}

// waysTaken counts the ways that applications took after a disturbance, and how long they were without a call.
type waysTaken struct {
	heddle, direct int
	gaps           []time.Duration
}

// returning are jobs that only call, with the relay in their lists so many times, by attempt.
type returning struct {
	t     *testing.T
	c     *hadoop.Cluster
	s     *service
	calls *callLog
	with  hadoop.Settings
	times map[string]int
	jobs  []<-chan jobResult
}

// start starts three jobs for each number of times, which call for as long as they are left alone.
func (r *returning) start(name string, numbers ...int) {
	t, c, calls, with := r.t, r.c, r.calls, r.with
	t.Helper()
	small := hadoop.Settings{"yarn.app.mapreduce.am.resource.mb": "384", "mapreduce.map.memory.mb": "384"} // all run at once
	tags := map[string]int{}
	for i := range 6 {
		times := numbers[i%len(numbers)]
		tag := fmt.Sprintf("returning-%s-%d", name, i)
		tags[tag] = times
		r.jobs = append(r.jobs, startJob(t, c, tagged(allOf(repeatIDs(with, times), small), tag),
			"sleep", "-m", "1", "-r", "1", "-mt", "330000", "-rt", "1000"))
	}
	for tag, times := range tags {
		r.times[waitAttempt(t, c, tag)] = times
	}
	for a := range r.times {
		if way := calls.waitWay(t, 2*time.Minute, a, time.Now().Add(-10*time.Second)); way != "heddle" {
			t.Errorf("%s begins by way of %s", a, way)
		}
	}
}

// end ends the jobs.
func (r *returning) end() {
	r.t.Helper()
	for a := range r.times {
		app := strings.Split(a, "_")
		killApp(r.t, r.c, "application_"+app[1]+"_"+app[2])
	}
	for _, done := range r.jobs {
		<-done
	}
}

// disturb does what a measurement is of.
func (r *returning) disturb(what string) {
	r.t.Helper()
	switch what {
	case "upgrade":
		r.s.relay.stop()
		r.s.relay.launch()
	case "kill":
		r.s.relay.kill()
		r.s.relay.launch()
	case "gone":
		r.s.relay.kill()
	case "restart":
		if err := r.c.KillDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
			r.t.Fatal(err)
		}
		if err := r.c.StartDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
			r.t.Fatal(err)
		}
		eventually(r.t, 2*time.Minute, "the cluster works again", r.c.Health)
	}
}

// measure disturbs once, and counts which way each job takes then. Jobs that did not come through the relay have nothing
// to do with a disturbance of it.
func (r *returning) measure(what string, to map[int]*waysTaken) {
	r.t.Helper()
	before := map[string]string{}
	for a := range r.times {
		last, _ := r.calls.last(a)
		before[a] = last.way
	}
	from := time.Now()
	r.disturb(what)
	back := time.Now()
	for a, times := range r.times {
		way := r.calls.waitWay(r.t, time.Minute, a, back.Add(time.Second))
		if what != "restart" && before[a] == "direct" {
			continue
		}
		of := to[times]
		if of == nil {
			of = &waysTaken{}
			to[times] = of
		}
		if way == "heddle" {
			of.heddle++
		} else {
			of.direct++
		}
		of.gaps = append(of.gaps, r.calls.gap(a, from))
	}
}

// TestReturns measures which way applications take after the relay was upgraded or killed and started again, and after
// the ResourceManager was started again, by how often the relay is in their list. Jobs of both lists run at once.
// HEDDLE_RUNS disturbances each; jobs are started anew after four.
func TestReturns(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("HEDDLE_EXPERIMENT is not set: it takes ten minutes, and asserts nothing")
	}
	c := cluster(t)
	calls := newCallLog()
	settings, direct := throughGates(t, c, calls)
	s := startConfigured(t, c, settings)
	with := s.clientConfig(t, "--direct", direct)
	for _, what := range []string{"upgrade", "kill", "gone", "restart"} {
		t.Run(what, func(t *testing.T) {
			taken := map[int]*waysTaken{}
			for n := 0; n < repetitions(t, 4); {
				r := &returning{t: t, c: c, s: s, calls: calls, with: with, times: map[string]int{}}
				r.start(fmt.Sprint(what, n), 1, 3)
				for round := 0; round < 4 && n < repetitions(t, 4); round++ {
					r.measure(what, taken)
					n++
					if what == "gone" {
						s.relay.launch()
						eventually(t, time.Minute, "the relay is back", s.ready)
					}
				}
				r.end()
			}
			for _, times := range slices.Sorted(maps.Keys(taken)) {
				w := taken[times]
				slices.Sort(w.gaps)
				t.Logf("%s, the relay %d times in the list: %d through heddle and %d directly; longest time between two calls, sorted: %s", what, times, w.heddle, w.direct, inSeconds(w.gaps))
			}
		})
	}
}

// upgradeLimit is how much later than a heartbeat the next call may come when the relay is upgraded.
const upgradeLimit = time.Second

// TestRelayUpgraded: an application with the settings of client-config outlives an upgrade and a kill of the relay: it is
// back at the relay, and has lost a second of allocation at most.
func TestRelayUpgraded(t *testing.T) {
	c := cluster(t)
	calls := newCallLog()
	settings, direct := throughGates(t, c, calls)
	s := startConfigured(t, c, settings)
	done, attempt := startTagged(t, c, tagged(s.clientConfig(t, "--direct", direct), "upgraded"), "sleep", "-m", "1", "-r", "1", "-mt", "30000", "-rt", "1000")
	calls.waitWay(t, 2*time.Minute, attempt, time.Now().Add(-10*time.Second))
	r := &returning{t: t, c: c, s: s, calls: calls, times: map[string]int{attempt: 3}}
	for _, what := range []string{"upgrade", "kill"} {
		taken := map[int]*waysTaken{}
		r.measure(what, taken)
		w := taken[3]
		if w == nil || w.heddle != 1 {
			t.Fatalf("%s: the application took %+v, want to be back at the relay", what, w)
		}
		t.Logf("%s: longest time between two calls %.1f s", what, w.gaps[0].Seconds())
		if w.gaps[0] > heartbeat+upgradeLimit {
			t.Errorf("%s: %v between two calls", what, w.gaps[0])
		}
	}
	waitSucceeded(t, c, done, "the relay upgraded and killed")
}

// killApp ends an application.
func killApp(t *testing.T, c *hadoop.Cluster, app string) {
	t.Helper()
	req, err := http.NewRequestWithContext(withTimeout(t, time.Minute), http.MethodPut, c.RMURL()+"/ws/v1/cluster/apps/"+app+"/state", strings.NewReader(`{"state":"KILLED"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode/100 != 2 {
		t.Errorf("kill %s: %s, %v", app, resp.Status, err)
	}
}
