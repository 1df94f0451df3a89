package capacity

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// scene is 40 GiB and users of one queue with what they have; who asks has a
// pending map.
func scene(users map[string]int64, asks ...string) state.View {
	s := policytest.Scene{Config: state.DefaultConfig(), Nodes: []model.Node{
		{ID: "n1:1", Host: "n1", Rack: "/r1", State: model.NodeRunning, Total: model.Resource{MemoryMiB: 40 * 1024, VCores: 40}},
	}}
	for _, u := range []string{"ann", "bob", "eve"} {
		if gib, ok := users[u]; ok {
			s.Apps = append(s.Apps, policytest.App{
				App:     model.App{ID: model.AppID(u), User: model.UserID(u), Queue: "root.q", State: model.AppRunning, Allocated: model.Resource{MemoryMiB: gib * 1024}},
				MapTask: model.Resource{MemoryMiB: 1024, VCores: 1}, MapOutput: model.Unknown,
			})
		}
	}
	for _, u := range asks {
		for i := range s.Apps {
			if string(s.Apps[i].ID) == u {
				s.Apps[i].Maps = []model.Task{{Stage: model.StageMap, State: model.TaskPending, Preferred: []string{"n1"}, Input: -1, Output: -1, Shuffled: -1}}
			}
		}
	}
	return s.Cluster().View()
}

// UsersManager.computeUserLimit, worked by hand in GiB. The queue has 25 % of 40:
// 10. The smallest container is 1.
func TestUserLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		percent, factor float64
		users           map[string]int64
		asks            []string
		want            float64
	}{
		{"the whole queue at the defaults", 100, 1, map[string]int64{"ann": 3}, []string{"ann"}, 10},
		{"the factor bounds it", 100, 0.5, map[string]int64{"ann": 3}, []string{"ann"}, 5},
		{"100 % of a queue that has not grown", 100, 2, map[string]int64{"ann": 3}, []string{"ann"}, 10},
		{"100 % of a queue that has: what it uses and one more", 100, 2, map[string]int64{"ann": 12}, []string{"ann"}, 13},
		{"bounded by twice the capacity", 100, 2, map[string]int64{"ann": 30}, []string{"ann"}, 20},
		{"no factor: bounded by the maximum capacity", 100, -1, map[string]int64{"ann": 39}, []string{"ann"}, 40},
		{"25 % of 10, rounded up", 25, 1, map[string]int64{"ann": 1, "bob": 1}, []string{"ann", "bob"}, 3},
		{"an equal part of what two who ask have, and one more: (4 + 5 + 1) / 2", 25, 1, map[string]int64{"ann": 4, "bob": 5}, []string{"ann", "bob"}, 5},
		{"eve does not ask", 25, 1, map[string]int64{"ann": 2, "bob": 1, "eve": 6}, []string{"ann", "bob"}, 3},
		{"one alone asks: (4 + 1) / 1", 25, 1, map[string]int64{"ann": 4, "bob": 5}, []string{"ann"}, 5},
	} {
		q := DefaultQueue()
		q.Capacity, q.MinimumUserLimit, q.UserLimitFactor = 25, tc.percent, tc.factor
		params := DefaultParams()
		params.Queues = map[string]Queue{"q": q}
		p, err := NewWith(params)
		if err != nil {
			t.Fatal(err)
		}
		p.rank(scene(tc.users, tc.asks...))
		if got := p.normalized(p.userLimit(&p.queues[0])) / 1024; got != tc.want {
			t.Errorf("%s: %g GiB, want %g", tc.name, got, tc.want)
		}
	}
}

// LeafQueue.activateApplications: a tenth of what the queue could have now is for
// ApplicationMasters, and of its capacity for those of one user.
func TestActivation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		percent float64 // of the queue for ApplicationMasters
		user    float64 // minimum-user-limit-percent
		each    int64   // MiB
		want    int     // active of ann, bob, eve
	}{
		{"one in any case", 0.01, 100, 9000, 1},
		{"4 GiB are a tenth of 40", 0.1, 100, 2048, 2},
		{"and 4.4 of 44 round up to 5", 0.11, 100, 1536, 3},
		{"all", 1, 100, 1536, 3},
		{"not bounded by a third each", 0.3, 10, 4096, 3},
	} {
		q := DefaultQueue()
		q.Capacity, q.MaximumAM, q.MinimumUserLimit = 100, tc.percent, tc.user
		params := DefaultParams()
		params.Queues, params.AMMemory = map[string]Queue{"q": q}, tc.each
		p, err := NewWith(params)
		if err != nil {
			t.Fatal(err)
		}
		v := scene(map[string]int64{"ann": 0, "bob": 0, "eve": 0}, "ann", "bob", "eve")
		p.rank(v)
		got := 0
		for _, j := range p.queues[0].Jobs() {
			if p.isActive(&policy.Input{}, &p.queues[0], j) {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d active, want %d", tc.name, got, tc.want)
		}
	}
}
