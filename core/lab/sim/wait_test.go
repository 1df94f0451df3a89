package sim_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"heddle/core/asks"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// backlog is a hundred jobs within 70 s, with sixteen times the tasks that the cluster
// runs at once. The input of each lies on so many racks; 0 is all of them.
func backlog(racks int) *workload.Workload {
	r := rand.New(rand.NewPCG(2, 0))
	w := &workload.Workload{}
	for i := range 100 {
		maps := 8 * (1 + r.IntN(4))
		in := model.Bytes(maps) * 128 * model.MiB
		out := in * []model.Bytes{2, 10, 10, 15}[r.IntN(4)] / 10
		j := mapReduce(strconv.Itoa(i), model.Time(i)*700, maps, max(2, maps/3), out)
		j.User = model.UserID("u" + strconv.Itoa(r.IntN(6)))
		j.Stages[0].Cost = workload.Cost{Fixed: 4 * model.Second, PerGiB: 96 * model.Second}
		j.Stages[1].Cost = workload.Cost{Fixed: 4 * model.Second, PerGiB: 32 * model.Second}
		j.Stages[1].Output = out / 3
		if racks > 0 {
			j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Racks = workload.OnRacks, racks
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// steered is what a relay made of a backlogged cluster, in percent of the scheduler alone.
type steered struct {
	jct   float64 // mean completion time above that of the scheduler alone
	saved float64 // bytes that did not cross racks
}

// nodeRate is the rate of a node's interface; ten are on a rack.
const nodeRate model.BytesPerSecond = 125e6

// backlogCase is a run: the rate of the uplinks, on how many racks the inputs lie (0: everywhere), the planner of the relay and the scheduler.
type backlogCase struct {
	uplink             model.BytesPerSecond
	racks              int
	planner, scheduler string
}

// backlogged runs the jobs under a scheduler with a relay before it, and alone.
func backlogged(t *testing.T, tc backlogCase, l *asks.Limits, seeds int) (sum steered) {
	t.Helper()
	c := sim.Uniform(4, 10, 4, tc.uplink, nodeRate)
	if tc.racks > 0 {
		c.Replication = 1
	}
	w := backlog(tc.racks)
	for seed := range seeds {
		p := sim.DefaultParams()
		p.Seed, p.AMStart, p.Multiple = uint64(seed)+1, 5*model.Second, tc.scheduler == "capacity"
		runs := [2]sim.Run{}
		for i := range runs {
			s, err := sim.New(p, c, w, tc.scheduler, built(t, tc.scheduler, ""))
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				params := ""
				if tc.planner == "shufflewatcher" {
					params = `{"assume_unknown":true}`
				}
				s.Steer(sim.Steering{Name: tc.planner, Policy: built(t, tc.planner, params), Every: 2 * model.Second, Limits: *l})
			}
			if runs[i], err = s.Run(nil); err != nil || runs[i].Finished != len(w.Jobs) {
				t.Fatal(runs[i].Finished, err)
			}
		}
		sum.jct += 100 * (runs[1].JCT.Mean/runs[0].JCT.Mean - 1) / float64(seeds)
		sum.saved += 100 * (1 - float64(runs[1].CrossRack.Total)/float64(runs[0].CrossRack.Total)) / float64(seeds)
	}
	return sum
}

// On a backlogged cluster, 10:1 and 5:1 oversubscribed, the relay's defaults cost no more than 2 % of
// the mean completion time and save most of the bytes that waiting without an end saves;
// deadlines that count from the ask, and are over before the first container comes, save much less.
//
//	go test -run TestWaitOnABacklog -v ./core/lab/sim
func TestWaitOnABacklog(t *testing.T) {
	t.Parallel()
	defaults := limits(30*model.Second, 10*model.Second)
	endless := limits(60*model.Minute, 60*model.Minute)
	endless.WaitMax, endless.FullAfter = 60*model.Minute, 60*model.Minute
	fromAsk := defaults
	fromAsk.WaitMax = 10 * model.Second
	var cases []backlogCase
	for _, uplink := range []model.BytesPerSecond{nodeRate, 2 * nodeRate} {
		cases = append(cases,
			backlogCase{uplink, 2, "shufflewatcher", "fair"},
			backlogCase{uplink, 0, "shufflewatcher", "fair"},
			backlogCase{uplink, 2, "shufflewatcher", "capacity"},
			backlogCase{uplink, 0, "shufflewatcher", "capacity"},
			backlogCase{uplink, 1, "shufflewatcher", "fair"},
			backlogCase{uplink, 1, "shufflewatcher", "capacity"},
			backlogCase{uplink, 2, "dawn", "fair"},
			backlogCase{uplink, 0, "dawn", "fair"},
			backlogCase{uplink, 2, "dawn", "capacity"},
			backlogCase{uplink, 0, "dawn", "capacity"})
	}
	for _, tc := range cases {
		seeds := 3
		if testing.Short() {
			seeds = 1
		}
		got := backlogged(t, tc, &defaults, seeds)
		before := backlogged(t, tc, &fromAsk, seeds)
		least := before.saved
		if tc.racks != 1 { // jobs that wait for one rack for ever take several times as long
			best := backlogged(t, tc, &endless, seeds)
			least = max(least, 0.8*best.saved)
			t.Logf("%+v: without an end %+.1f %%, %.1f %% saved", tc, best.jct, best.saved)
		}
		t.Logf("%+v: %+.1f %%, %.1f %% saved; from the ask %+.1f %%, %.1f %%", tc, got.jct, got.saved, before.jct, before.saved)
		worst := 2.0
		if tc == (backlogCase{2 * nodeRate, 0, "dawn", "fair"}) { // what its map plans save in bytes costs time, whatever the deadlines
			worst = 6
		}
		if got.jct > worst {
			t.Errorf("%+v: the mean completion time is %.1f %% longer", tc, got.jct)
		}
		if got.saved < least {
			t.Errorf("%+v: %.1f %% of the bytes are saved, want %.1f %%", tc, got.saved, least)
		}
		if testing.Short() {
			return
		}
	}
}
