//go:build linux

package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/rmmodel"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/wire"
)

// This file sends generated mixes of ask rows to the real schedulers, with an
// ApplicationMaster of its own, and holds the model of the ResourceManager that
// the relay's unit tests use (package rmmodel) against what they make of them.

// modelRM is the model beside the ResourceManager: one for each scheduler key,
// because the order of grants across keys is the real scheduler's choice.
type modelRM struct {
	scheduler rmmodel.Scheduler
	keys      map[asks.Key]*keyModel
}

type keyModel struct {
	rm          *rmmodel.RM
	cluster     *rmmodel.Cluster
	response    int32
	strictRacks []model.RackID // where strict asks may be met
}

// applyRows applies the rows of a call to the model.
func (m *modelRM) applyRows(call *rmmodel.Call) error {
	byKey := map[asks.Key][]asks.Row{}
	for _, r := range call.Rows {
		byKey[r.Key] = append(byKey[r.Key], r)
	}
	for key, rows := range byKey { // order-free: keys know nothing of each other
		k := m.keys[key]
		if k == nil {
			k = &keyModel{cluster: rmmodel.NewCluster(racks, perRack, rmmodel.Slot())}
			k.rm = rmmodel.NewRM(k.cluster, rmmodel.Defaults(m.scheduler))
			k.rm.Register()
			k.fill(rmmodel.Slot())
			m.keys[key] = k
		}
		answer, err := k.rm.Allocate(&asks.Request{ResponseID: k.response, Rows: rows})
		if err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		k.response = answer.ResponseID
		if slices.ContainsFunc(rows, func(r asks.Row) bool { return r.Name == wire.Any }) {
			k.strictRacks = call.Racks[key]
		}
	}
	return nil
}

func (k *keyModel) fill(used model.Resource) {
	for _, n := range k.cluster.Nodes {
		n.Used = used
	}
}

// grant has the model grant a container of a key on a host, and nowhere else.
func (m *modelRM) grant(g grant) error {
	k := m.keys[g.key]
	if k == nil {
		return fmt.Errorf("%+v: nothing was asked for at %v", g, g.key)
	}
	k.cluster.Node(g.host).Used = model.Resource{}
	defer k.fill(rmmodel.Slot())
	for range 100 { // longer than any delay for locality
		if got := k.rm.Heartbeat(g.host); len(got) == 1 {
			if rack := k.cluster.RackOf(g.host); got[0].Strict && !slices.Contains(k.strictRacks, rack) {
				return fmt.Errorf("%+v is on %s, and was to be on %v", g, rack, k.strictRacks)
			}
			return nil
		}
	}
	return fmt.Errorf("the ResourceManager granted %+v, and the model does not: it has %v", g, k.rm.Pending())
}

// remainingGrants returns the containers that the model would still grant if every node were empty.
func (m *modelRM) remainingGrants() (more []*rmmodel.Container) {
	for _, k := range m.keys { // any order: there should be none
		for range 100 {
			k.fill(model.Resource{})
			for _, n := range k.cluster.Nodes {
				more = append(more, k.rm.Heartbeat(n.Host)...)
			}
		}
	}
	return more
}

// compareRows returns an error that shows both if the ResourceManager's rows are not the model's.
func (m *modelRM) compareRows(shown []model.AskRow) error {
	type name struct {
		key  asks.Key
		name string
	}
	type said struct {
		count int
		relax bool
	}
	index := func(rows []model.AskRow) map[name]said {
		all := map[name]said{}
		for _, r := range rows {
			if r.Count > 0 {
				all[name{asks.Key{Priority: int32(r.Priority), RequestID: r.RequestID}, r.ResourceName}] = said{r.Count, r.RelaxLocality}
			}
		}
		return all
	}
	var modelled []model.AskRow
	for _, k := range m.keys { // order-free: they are indexed below
		modelled = append(modelled, k.rm.Pending()...)
	}
	if got, want := index(shown), index(modelled); !maps.Equal(got, want) {
		return fmt.Errorf("the ResourceManager shows %v, the model %v", got, want)
	}
	return nil
}

// scenarios are the first generated ones that fit into the cluster, are not
// about labels and in which more than one ask is steered, with what is asked for in them.
func scenarios(t *testing.T, s rmmodel.Scheduler, n int) [][]rmmodel.Call {
	t.Helper()
	var all [][]rmmodel.Call
	for seed := uint64(1); len(all) < n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		sc := rmmodel.Generate(func(lo, hi int) int { return lo + rng.IntN(hi-lo+1) }, s)
		if sc.Racks > racks || sc.Hosts > perRack || slices.ContainsFunc(sc.App.Tasks, func(t rmmodel.Task) bool { return t.Labelled }) {
			continue
		}
		calls := slices.DeleteFunc(rmmodel.Sample(&sc, rmmodel.NewRelay(sc.Limits, sc.Plans)), func(c rmmodel.Call) bool { return len(c.Rows) == 0 })
		calls = calls[:min(len(calls), 6)]
		steered := 0
		for _, c := range calls {
			steered += len(c.Racks)
		}
		if steered >= 2 {
			all = append(all, calls)
		}
	}
	return all
}

// askMixes sends generated mixes of asks to a scheduler, two at a time, and
// compares what it shows as pending with the model after each call.
func askMixes(t *testing.T, c *hadoop.Cluster, s hadoop.Scheduler) {
	t.Helper()
	turns := make(chan struct{}, 2)
	t.Run("mixes", func(t *testing.T) {
		for i, calls := range scenarios(t, rmmodel.Scheduler(s), 8) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				turns <- struct{}{}
				t.Cleanup(func() { <-turns })
				runMix(newTestApp(t, c, s, "MAPREDUCE", rmScheduler), rmmodel.Scheduler(s), uint64(i), calls)
			})
		}
	})
}

// runMix makes calls one after the other, at any time after the last one was answered.
func runMix(a *testApp, s rmmodel.Scheduler, seed uint64, calls []rmmodel.Call) {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &modelRM{scheduler: s, keys: map[asks.Key]*keyModel{}}
	granted, strict := 0, 0
	replay := func(fresh []grant) {
		for _, g := range fresh {
			granted++
			if err := m.grant(g); err != nil {
				a.t.Error(err)
			}
		}
	}
	heartbeats := func(patience time.Duration) { // until nothing is granted for so long
		for quiet := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			if fresh := a.releaseAll(); len(fresh) > 0 {
				replay(fresh)
				quiet = time.Now()
			}
			if len(a.held) == 0 && time.Since(quiet) >= patience {
				return
			}
		}
	}
	say := func(call *rmmodel.Call) {
		a.t.Helper()
		replay(a.call(unmanaged.Call{Rows: a.sized(call.Rows)})) // granted before the rows came
		if err := m.applyRows(call); err != nil {
			a.t.Fatalf("%v: %v", call, err)
		}
		for start := time.Now(); ; replay(a.releaseAll()) { // until the answers have reported every grant
			shown, err := a.pending(withTimeout(a.t, 10*time.Second))
			if err == nil {
				err = m.compareRows(shown)
			}
			if err == nil {
				return
			}
			if time.Since(start) > 10*time.Second {
				a.t.Fatalf("%v: %v", call, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	for i := range calls {
		say(&calls[i])
		strict += len(calls[i].Racks)
		heartbeats(time.Duration(rng.IntN(800)) * time.Millisecond)
	}
	heartbeats(nodeHeartbeats)
	if more := m.remainingGrants(); len(more) > 0 {
		a.t.Errorf("the ResourceManager grants nothing more, the model %+v", more[0])
	}
	a.relax(say)
	heartbeats(nodeHeartbeats)
	a.waitReleased()
	a.t.Logf("%d calls, %d strict asks, %d containers", len(calls), strict, granted)
}

// sized are the rows of a scenario with containers of the application's size.
func (a *testApp) sized(rows []asks.Row) []wire.NewRow {
	sized := make([]wire.NewRow, 0, len(rows))
	for _, r := range rows {
		sized = append(sized, wire.NewRow{
			Priority: r.Priority, RequestID: r.RequestID, Name: r.Name, Count: r.Count, Relax: r.Relax, Memory: a.size, VCores: 1,
		})
	}
	return sized
}

// relax ends every strict ask that waits, as a fall back does: its ANY becomes a relaxed one.
func (a *testApp) relax(say func(*rmmodel.Call)) {
	a.t.Helper()
	rows, err := a.pending(withTimeout(a.t, 10*time.Second))
	if err != nil {
		a.t.Fatal(err)
	}
	var call rmmodel.Call
	for _, r := range rows {
		if r.ResourceName == wire.Any {
			key := asks.Key{Priority: int32(r.Priority), RequestID: r.RequestID}
			call.Rows = append(call.Rows, asks.Row{Key: key, Name: wire.Any, Count: int32(r.Count), Relax: true, Capability: rmmodel.Slot()})
		}
	}
	if len(call.Rows) > 0 {
		say(&call)
	}
}
