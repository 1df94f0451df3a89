package policytest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/fair"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

func TestBuiltinPoliciesConform(t *testing.T) {
	t.Parallel()
	policytest.Run(t, builtin.Registry())
	policytest.RunLive(t, builtin.Registry())
}

// Settings far from the defaults conform as well.
func TestVariantsConform(t *testing.T) {
	t.Parallel()
	r := builtin.Registry()
	var variants policy.Registry
	for _, v := range []struct{ name, policy, params string }{
		{"shufflewatcher as printed", "shufflewatcher", `{"scan":"greedy","assume_unknown":true,"recompute_at":0,"sarp_refresh":false,"relax_s":0}`},
		{"shufflewatcher timeout", "shufflewatcher", `{"window_mode":"timeout","wait_for_targets_s":5,"window_s":120,"scope":"any","waves":1,"hold_max_s":600}`},
		{"shufflewatcher mean", "shufflewatcher", `{"window_s":0,"scope":"mean","map_completion":0,"recompute_at":0.5,"hold_max_s":0}`},
		{"delay simple", "delay", `{"mode":"simple","d":3}`},
		{"delay automatic", "delay", `{"mode":"simple","d":-1}`},
		{"delay as YARN has it", "delay", `{"mode":"yarn","locality.threshold.node":0.5,"locality.threshold.rack":1}`},
		{"fair with thresholds and shares", "fair", `{"schedulingPolicy":"fifo","minResources":{"user1":4096},"locality.threshold.node":1,"locality.threshold.rack":0.2}`},
		{"fifo without a limit", "fifo", `{"maximum-offswitch-assignments":0}`},
		{"capacity with limits", "capacity", `{"queues":{"":{"capacity":50,"user-limit-factor":2,"minimum-user-limit-percent":30}},"rack-locality-additional-delay":3}`},
		{"drf as printed", "drf", `{"stop":"paper"}`},
		{"drf by vector", "drf", `{"compare":"vector"}`},
		{"shufflewatcher on drf", "shufflewatcher", `{"fairness":"drf"}`},
		{"nas by count", "nas", `{"wait_for_targets_s":5,"skips":"count","map_skips":3,"reduce_skips":2}`},
		{"dawn that waits", "dawn", `{"wait":3}`},
	} {
		variants = append(variants, policy.Entry{Name: v.name, New: func(json.RawMessage) (policy.Policy, error) {
			return r.New(v.policy, json.RawMessage(v.params))
		}})
	}
	policytest.Run(t, variants)
}

// placer makes a policy of a function that may keep state.
type placer struct {
	place func(in *policy.Input, good []model.Placement) []model.Placement
	plan  func(in *policy.Input) []model.Plan
	seen  map[model.AppID]int
	jobs  []*state.Job
}

// Place proposes what fair would, spoiled.
func (p *placer) Place(in *policy.Input) []model.Placement {
	fairly, err := fair.New(nil) // keeps nothing at the defaults
	if err != nil {
		panic(err)
	}
	good := fairly.Place(in)
	if p.place == nil {
		return good
	}
	return p.place(in, good)
}

type planning struct{ *placer }

func (p planning) Plan(in *policy.Input) []model.Plan { return p.plan(in) }

func spoil(change func(in *policy.Input, p *model.Placement)) func() policy.Policy {
	return func() policy.Policy {
		return &placer{place: func(in *policy.Input, good []model.Placement) []model.Placement {
			for i := range good {
				change(in, &good[i])
			}
			return good
		}}
	}
}

func spoilPlan(change func(in *policy.Input, j *state.Job, p *model.Plan)) func() policy.Policy {
	return func() policy.Policy {
		return planning{&placer{plan: func(in *policy.Input) []model.Plan {
			var out []model.Plan
			for i, j := range in.Jobs {
				p := model.Plan{App: j.ID, Stage: model.StageReduce, Rank: i + 1, Reason: model.ReasonRankOnly}
				change(in, j, &p)
				out = append(out, p)
			}
			return out
		}}}
	}
}

// The suite itself has to find what it is there for.
func TestSuiteFindsBreaches(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, tc := range []struct {
		name  string
		build func() policy.Policy
		want  string
	}{
		{"invents a job", spoil(func(_ *policy.Input, p *model.Placement) { p.App = "application_1_9999" }), "no such job"},
		{"another node", spoil(func(in *policy.Input, p *model.Placement) { p.Node = in.View.Nodes()[0].ID }), "not the offered node"},
		{"wrong stage", spoil(func(_ *policy.Input, p *model.Placement) {
			p.Stage = map[model.Stage]model.Stage{model.StageMap: model.StageReduce, model.StageReduce: model.StageMap}[p.Stage]
		}), "placement"},
		{"wrong label", spoil(func(_ *policy.Input, p *model.Placement) { p.Locality = model.RackLocal }), "by the scene"},
		{"over-commits", func() policy.Policy {
			return &placer{place: func(_ *policy.Input, good []model.Placement) []model.Placement {
				for len(good) > 0 && len(good) < 20 {
					good = append(good, good[0])
				}
				return good
			}}
		}, "placement"},
		{"changes the input", spoil(func(in *policy.Input, p *model.Placement) { in.View.Job(p.App).Ratio++ }), "changed by Place"},
		{"changes a node", spoil(func(in *policy.Input, _ *model.Placement) { in.Offer.Node.Free.VCores++ }), "changed by Place"},
		{"depends on more than its input", func() policy.Policy {
			return &placer{place: func(_ *policy.Input, good []model.Placement) []model.Placement {
				if calls++; calls%3 == 0 {
					return nil
				}
				return good
			}}
		}, "two instances differ"},
		{"goes by the name of a node", func() policy.Policy {
			return &placer{place: func(in *policy.Input, good []model.Placement) []model.Placement {
				if strings.HasPrefix(in.Offer.Node.Host, "n") {
					return good
				}
				return nil
			}}
		}, "renamed nodes change the answer"},
		{"gives up on larger clusters", func() policy.Policy {
			return &placer{place: func(in *policy.Input, good []model.Placement) []model.Placement {
				if len(in.View.Nodes()) > 3 {
					return nil
				}
				return good
			}}
		}, "one node more"},
		{"remembers for ever", func() policy.Policy {
			p := &placer{seen: map[model.AppID]int{}}
			p.place = func(_ *policy.Input, good []model.Placement) []model.Placement {
				for _, g := range good {
					p.seen[g.App]++
				}
				return good
			}
			return p
		}, "keeps.seen: a model.AppID when every job has left"},
		{"keeps a job in memory it uses again", func() policy.Policy {
			p := &placer{}
			p.place = func(in *policy.Input, good []model.Placement) []model.Placement {
				p.jobs = append(p.jobs[:0], in.View.Jobs()...)[:0]
				return good
			}
			return p
		}, "keeps.jobs: a *jobs.Job when every job has left"},
		{"names a task that is not there", spoil(func(_ *policy.Input, p *model.Placement) { p.Task = 9999 }), "the engine rejected"},
		{"plans too few", spoilPlan(func(in *policy.Input, j *state.Job, p *model.Plan) {
			if j.Reduce.Total > 1 {
				p.Racks = []model.RackTarget{{Rack: in.View.Racks()[0].ID, Count: 1, Share: 1}}
			}
		}), "plan"},
		{"plans an unknown rack", spoilPlan(func(_ *policy.Input, j *state.Job, p *model.Plan) {
			p.Racks = []model.RackTarget{{Rack: "/nowhere", Count: j.Reduce.Total, Share: 1}}
		}), "has no nodes"},
		{"ranks from zero", spoilPlan(func(_ *policy.Input, _ *state.Job, p *model.Plan) { p.Rank-- }), "rank"},
		{"holds without end", spoilPlan(func(_ *policy.Input, _ *state.Job, p *model.Plan) { p.Hold, p.Until = true, 1<<60 }), "hold does not end"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := policy.Entry{Name: "broken", New: func(json.RawMessage) (policy.Policy, error) { return tc.build(), nil }}
			err := policytest.Check(e, 1, 120)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the suite says %v, want %q", err, tc.want)
			}
		})
	}
}

// What a policy does live is neither more nor less than it declares.
func TestSuiteFindsFalseLive(t *testing.T) {
	t.Parallel()
	onRacks := spoilPlan(func(in *policy.Input, j *state.Job, p *model.Plan) {
		if rack := in.View.Racks()[0]; j.Reduce.Total > 0 && rack.Total.MemoryMiB > 0 {
			p.Racks = []model.RackTarget{{Rack: rack.ID, Count: j.Reduce.Total, Share: 1}}
		}
	})
	for _, tc := range []struct {
		name  string
		build func() policy.Policy
		live  policy.Live
		want  string // "" is no breach
	}{
		{"as declared", onRacks, policy.ReduceRacks, ""},
		{"declares nothing", onRacks, 0, "plans do reduce racks, which is not declared"},
		{"declares more", onRacks, policy.ReduceRacks | policy.Holds, "declares holds, which no plan of 40 scenes does"},
		{"ranks only", spoilPlan(func(*policy.Input, *state.Job, *model.Plan) {}), 0, ""},
		{"does not plan", spoil(func(*policy.Input, *model.Placement) {}), 0, ""},
		{"does not place", func() policy.Policy {
			return &placer{place: func(*policy.Input, []model.Placement) []model.Placement { return nil }}
		}, 0, "declares map racks, reduce racks, which no plan"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := policy.Entry{Name: "broken", Live: tc.live, New: func(json.RawMessage) (policy.Policy, error) { return tc.build(), nil }}
			err := policytest.CheckLive(e, 1, 40)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the suite says %v, want %q", err, tc.want)
			}
		})
	}
}

// Scenes reach every branch the policies have; a generator that stopped doing
// so would let the suite pass for nothing.
func TestGeneratedScenesAreVaried(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(300) {
		s := policytest.Generate(policytest.Seeded(seed), policytest.DefaultShape())
		v := s.Cluster().View()
		for _, r := range v.Racks() {
			if r.Load.Saturated {
				seen["saturated"]++
			}
		}
		for _, j := range v.Jobs() {
			count(seen, "heavy", j.Heavy)
			count(seen, "light measured", j.Predicted && !j.Heavy)
			count(seen, "unpredicted", !j.Predicted)
			count(seen, "map output", len(j.Output.ByRack) > 0)
			count(seen, "pending maps", j.Map.Pending > 0)
			count(seen, "pending reduces", j.Reduce.Pending > 0)
			count(seen, "refuses a node", len(j.Blacklist()) > 0)
			count(seen, "no input", len(j.Input.Blocks) == 0)
		}
		for _, n := range v.Nodes() {
			count(seen, "free node", n.Free.MemoryMiB > 0)
			count(seen, "unusable node", !n.State.Usable())
		}
	}
	for _, what := range []string{
		"saturated", "heavy", "light measured", "unpredicted", "map output", "pending maps", "pending reduces", "refuses a node", "no input",
		"free node", "unusable node",
	} {
		if seen[what] < 10 {
			t.Errorf("%s: in %d of 300 scenes", what, seen[what])
		}
	}
}

func count(seen map[string]int, what string, is bool) {
	if is {
		seen[what]++
	}
}

// What the state says of a scene is what the scene says.
func TestClusterTellsTheScene(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		s := policytest.Generate(policytest.Seeded(seed), policytest.DefaultShape())
		v := s.Cluster().View()
		if len(v.Jobs()) != len(s.Apps) || len(v.Nodes()) != len(s.Nodes) {
			t.Fatalf("seed %d: %d jobs and %d nodes, want %d and %d", seed, len(v.Jobs()), len(v.Nodes()), len(s.Apps), len(s.Nodes))
		}
		for i := range s.Apps {
			a := &s.Apps[i]
			j := v.Job(a.ID)
			maps, reduces := policytest.Count(a.Maps, model.TaskPending), policytest.Count(a.Reduces, model.TaskPending)
			if j.Map.Pending != maps || j.Reduce.Pending != reduces {
				t.Errorf("seed %d: %s has %d maps and %d reduces pending, want %d and %d", seed, a.ID, j.Map.Pending, j.Reduce.Pending, maps, reduces)
			}
			if maps > 0 && j.Map.Capability != a.MapTask {
				t.Errorf("seed %d: %s asks maps of %+v, want %+v", seed, a.ID, j.Map.Capability, a.MapTask)
			}
			for k := range s.Nodes {
				want, ok := s.Locality(a, &s.Nodes[k])
				got, has := j.Map.Locality(v.Node(s.Nodes[k].ID))
				if got != want || ok != has {
					t.Errorf("seed %d: maps of %s on %s are %s, want %s", seed, a.ID, s.Nodes[k].Host, got, want)
				}
			}
		}
	}
}

// BenchmarkPlace offers nodes to 2,000 jobs of 50 users that all have work, and to as
// many that have none, which is the whole search.
func BenchmarkPlace(b *testing.B) {
	for _, e := range builtin.Registry() {
		b.Run("policy="+e.Name+"/work", func(b *testing.B) { policytest.BenchPlace(b, e.New, "", true) })
		b.Run("policy="+e.Name+"/none", func(b *testing.B) { policytest.BenchPlace(b, e.New, "", false) })
	}
}
