package state_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// TestShuffleFollowsTheReduces reads the counters three times while one rack's
// reduces run ahead: what each rack gets follows what its reduces lack.
func TestShuffleFollowsTheReduces(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 1), apps(app(1, "ann", 999_000)),
		model.JobFact{App: id, MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 3, ReducesRunning: 2})
	step := func(total model.Bytes, tasks ...model.Task) []float64 {
		f.later(2*model.Second).apply(model.TasksFact{App: id, Tasks: append([]model.Task{mapDone(0, 1, 1000)}, tasks...)}, counters(id, 1000, 1000, total))
		return f.c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle][0]
	}
	if diff := cmp.Diff([]float64{300}, step(300, reduce(0, 1, model.TaskSucceeded, 300)), approx()); diff != "" {
		t.Errorf("one reduce on rack1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{300, 100}, step(400, reduce(1, 2, model.TaskRunning, -1)), approx()); diff != "" {
		t.Errorf("a second starts on rack2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{500, 500}, step(1000, reduce(1, 2, model.TaskSucceeded, 500), reduce(2, 1, model.TaskSucceeded, 200)), approx()); diff != "" {
		t.Errorf("all done (-want +got):\n%s", diff)
	}
}

// TestConservation: over random histories of one job the shuffle matrix sums to
// the largest value its counter had, whatever the tasks say.
func TestConservation(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig()).apply(nodes(3, 1), apps(app(1, "ann", 999_000)),
			model.JobFact{App: id, MapsTotal: 9, MapsCompleted: 9, ReducesTotal: 9, ReducesRunning: 9},
			model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 10), reduce(0, 1, model.TaskRunning, -1)}})
		most := model.Bytes(0)
		var shots []*snapshot.Snapshot
		var texts []string
		for range rapid.IntRange(1, 8).Draw(t, "readings") {
			i, rack := rapid.IntRange(0, 8).Draw(t, "task"), rapid.IntRange(1, 3).Draw(t, "rack")
			f.apply(model.TasksFact{App: id, Tasks: []model.Task{
				mapDone(i, rack, model.Bytes(rapid.IntRange(-1, 1000).Draw(t, "output"))),
				reduce(i, rack, rapid.SampledFrom([]model.TaskState{model.TaskRunning, model.TaskSucceeded}).Draw(t, "state"), model.Bytes(rapid.IntRange(-1, 500).Draw(t, "shuffled"))),
			}})
			now := model.Bytes(rapid.IntRange(0, 5000).Draw(t, "counter"))
			f.later(model.Second).apply(counters(id, 1000, 1000, now))
			most = max(most, now)
			s := f.c.Snapshot()
			b, err := json.Marshal(s.Traffic)
			if err != nil {
				t.Fatal(err)
			}
			shots, texts = append(shots, s), append(texts, string(b))
		}
		sum := 0.0
		for _, row := range f.c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle] {
			for _, b := range row {
				sum += b
			}
		}
		// A reading whose bytes no rack is short of waits for the next one.
		if sum > float64(most)+1e-6 {
			t.Fatalf("matrix sums to %v, the counter never passed %d", sum, most)
		}
		for i, s := range shots { // I2
			if b, err := json.Marshal(s.Traffic); err != nil || string(b) != texts[i] {
				t.Fatalf("a published matrix changed from %s to %s (%v)", texts[i], b, err)
			}
		}
	})
}

// TestOneReplicaStaysHome: output with one replica does not leave its rack.
func TestOneReplicaStaysHome(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	for replication, want := range map[int]model.Bytes{1: 0, 2: 300, 3: 300, 0: 300} {
		f := newFeed(state.DefaultConfig()).apply(nodes(2, 1), apps(app(1, "ann", 999_000)),
			model.DataNodesFact{DataNodes: []model.DataNode{{Host: "w11", Rack: "/rack1", Live: true}, {Host: "w21", Rack: "/rack2", Live: true}}},
			model.JobFact{App: id, MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 1, ReducesCompleted: 1},
			model.JobConfFact{App: id, Replication: replication},
			model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 0), reduce(0, 1, model.TaskSucceeded, 0)}})
		k := counters(id, 0, 800, 0)
		k.HDFSWritten = 300
		f.later(model.Second).apply(k)
		if got := f.c.Snapshot().App(id).CrossRack[snapshot.TrafficWrite]; got != want {
			t.Errorf("replication %d: %d bytes across racks, want %d", replication, got, want)
		}
	}
}
