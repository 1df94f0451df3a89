package account_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/account"
	"heddle/core/model"
	"heddle/core/state"
)

const app = model.AppID("application_1_0001")

// cluster is a job on some racks, fed fact by fact to the state and to its accounts.
type cluster struct {
	state    *state.Cluster
	accounts account.Accounts
	plans    []*model.Plan
	done     []*account.Job
	at       model.Time
}

func newCluster() *cluster {
	c := &cluster{state: state.New(state.DefaultConfig()), at: 1_000_000}
	c.accounts = account.New(c.state.View())
	return c
}

func (c *cluster) apply(facts ...model.Fact) {
	for _, f := range facts {
		c.state.Apply(model.Observation{Source: model.SourceRM, At: c.at, Fact: f})
		c.done = append(c.done, c.accounts.Observe(f, func(model.AppID) []*model.Plan { return c.plans })...)
	}
}

func rack(i int) model.RackID { return model.RackID(fmt.Sprintf("/r%03d", i)) }

func host(i int) string { return fmt.Sprintf("h%03d", i) }

func task(stage model.Stage, i, on int, out model.Bytes) model.Task {
	return model.Task{Stage: stage, Index: i, State: model.TaskSucceeded, Host: host(on), Rack: rack(on), Progress: 1, Input: out, Output: out, Shuffled: model.Unknown}
}

// What an account says of a job is the sum of its flows, on few racks and on many, wherever
// its tasks ran and the policy wanted them, and blocks that nobody knows of count for nothing.
func TestFlowsSumToTheAccount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.SampledFrom([]int{1, 2, 3, 7, 200}).Draw(t, "racks")
		on := rapid.IntRange(0, racks-1)
		c := newCluster()
		var nodes model.NodesFact
		for i := range racks {
			nodes.Nodes = append(nodes.Nodes, model.Node{ID: model.NodeID(host(i) + ":1"), Host: host(i), Rack: rack(i), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}})
		}
		maps, reduces := rapid.IntRange(0, 12).Draw(t, "maps"), rapid.IntRange(0, 6).Draw(t, "reduces")
		blocks := model.BlocksFact{Path: "/in", Files: 1}
		known := 0
		for i := range rapid.IntRange(0, 20).Draw(t, "blocks") {
			b := model.Block{Offset: model.Bytes(i), Length: model.Bytes(rapid.IntRange(0, 1000).Draw(t, "length"))}
			for range rapid.IntRange(0, 3).Draw(t, "replicas") {
				r := on.Draw(t, "replica")
				b.Hosts, b.Racks = append(b.Hosts, host(r)), append(b.Racks, rack(r))
			}
			if len(b.Hosts) > 0 {
				known++
			}
			blocks.Blocks = append(blocks.Blocks, b)
		}
		running := model.App{ID: app, User: "u", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1}
		c.apply(nodes, model.AppsFact{Apps: []model.App{running}}, model.JobConfFact{App: app, Inputs: []string{"/in"}}, blocks, model.JobFact{App: app, MapsTotal: maps, MapsPending: maps, ReducesTotal: reduces, ReducesPending: reduces})
		for _, stage := range []model.Stage{model.StageMap, model.StageReduce} {
			c.plans = append(c.plans, &model.Plan{App: app, Stage: stage, Rank: 1, Racks: []model.RackTarget{{Rack: rack(on.Draw(t, "wanted")), Count: rapid.IntRange(0, 12).Draw(t, "count")}}})
		}
		var output model.Bytes
		for i := range maps {
			bytes := model.Bytes(rapid.IntRange(0, 1000).Draw(t, "output"))
			output += bytes
			c.apply(model.TasksFact{App: app, Tasks: []model.Task{task(model.StageMap, i, on.Draw(t, "map"), bytes)}})
		}
		for i := range reduces {
			c.apply(model.TasksFact{App: app, Tasks: []model.Task{task(model.StageReduce, i, on.Draw(t, "reduce"), model.Unknown)}})
		}
		running.State = model.AppFinished
		c.apply(model.AppsFact{Apps: []model.App{running}}, model.JobFact{App: app, MapsTotal: maps, MapsCompleted: maps, ReducesTotal: reduces, ReducesCompleted: reduces, Done: true})
		if len(c.done) != 1 {
			t.Fatalf("%d accounts of one job", len(c.done))
		}
		j := c.done[0]
		for _, wanted := range []bool{false, true} {
			sums := map[account.Kind]float64{}
			for _, f := range j.Flows(wanted) {
				if f.Src == f.Dst {
					t.Fatalf("%+v stays on its rack", f)
				}
				sums[f.Kind] += f.Bytes
			}
			shuffle, read := j.Shuffle.Recorded, j.MapRead.Recorded
			if wanted {
				shuffle, read = j.Shuffle.Policy, j.MapRead.Policy
			}
			if math.Abs(sums[account.Shuffled]-float64(shuffle)) > 1 || sums[account.MapRead] != float64(read) {
				t.Fatalf("wanted %v: flows of %v, the account says %+v and %+v", wanted, sums, j.Shuffle, j.MapRead)
			}
			if shuffle < j.Shuffle.Least || shuffle > output {
				t.Fatalf("%d bytes of shuffle across racks, at least %d, in all %d", shuffle, j.Shuffle.Least, output)
			}
		}
		if b := j.Blocks; maps > 0 && b.All != known || maps == 0 && b.All != 0 || b.Recorded > b.All || b.Policy > b.All {
			t.Fatalf("%+v of %d blocks with a known place", b, known)
		}
	})
}
