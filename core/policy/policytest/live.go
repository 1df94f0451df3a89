package policytest

import (
	"fmt"
	"strings"
	"testing"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// liveScenes are enough for every policy's rarest plan.
const liveScenes = 200

// RunLive holds what every policy of a registry does live against its plans.
func RunLive(t *testing.T, registry policy.Registry) {
	t.Helper()
	for _, e := range registry {
		t.Run(e.Name+"/plans do live what is declared", func(t *testing.T) {
			t.Parallel()
			if err := CheckLive(e, 1, liveScenes); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// CheckLive compares what a policy does live at its default parameters with what is in its
// plans on scenes of the seeds from the first on: what is declared is in one of them, and
// nothing else is in any.
func CheckLive(e policy.Entry, first uint64, scenes int) error {
	declared, err := e.LiveAtDefaults()
	if err != nil {
		return err
	}
	var seen policy.Live
	for i := range uint64(scenes) { //nolint:gosec // never negative
		found, err := newTrial(e, DefaultShape(), Seeded(first+i)).live()
		if err != nil {
			return fmt.Errorf("scene of seed %d: %w", first+i, err)
		}
		if more := found &^ declared; more != 0 {
			return fmt.Errorf("scene of seed %d: plans do %s, which is not declared", first+i, named(more))
		}
		seen |= found
	}
	if missing := declared &^ seen; missing != 0 {
		return fmt.Errorf("declares %s, which no plan of %d scenes does", named(missing), scenes)
	}
	return nil
}

func named(l policy.Live) string { return strings.Join(l.Names(), ", ") }

// liveOf returns what a plan does live.
func liveOf(p *model.Plan) (l policy.Live) {
	if p.Hold {
		l |= policy.Holds
	}
	if len(p.Racks) == 0 {
		return l
	}
	switch p.Stage {
	case model.StageMap:
		l |= policy.MapRacks
	case model.StageReduce:
		l |= policy.ReduceRacks
	case model.StageOther, model.StageAM:
		l |= policy.ExecutorRacks
	}
	return l
}

// live returns what the plans of a session do, those that the engine counts from offers
// included.
func (t *trial) live() (seen policy.Live, err error) {
	c := t.scene.Cluster()
	t.addExecutors(c)
	opts := engine.DefaultOptions(t.entry.Name)
	opts.Recover, opts.MaxAge = false, 0
	eng := engine.New(opts, t.build(), c)
	now := Epoch
	for _, st := range t.steps {
		now = now.Add(st.after)
		c.Advance(now)
		placed, err := eng.Offer(policy.Offer{Node: c.View().Node(st.node), Kinds: st.kinds})
		if err != nil {
			return 0, err
		}
		for _, p := range placed {
			c.Assume(p)
		}
		plans, err := eng.PlanJobs(c.View().Jobs())
		if err != nil {
			return 0, err
		}
		for i := range plans {
			seen |= liveOf(&plans[i])
		}
	}
	return seen, nil
}

// addExecutors adds two applications whose containers are neither maps nor reduces: one
// of which nothing is known, and one whose graph of stages is.
func (t *trial) addExecutors(c *state.Cluster) {
	var facts []model.Observation
	apps := model.AppsFact{}
	for i := range t.scene.Apps {
		apps.Apps = append(apps.Apps, t.scene.Apps[i].App)
	}
	for _, kind := range []string{"SPARK", "TEZ"} {
		id := model.AppID("application_2_" + kind)
		apps.Apps = append(apps.Apps, model.App{ID: id, Type: kind, User: "ann", State: model.AppRunning, Submitted: Epoch})
		facts = append(facts, observed(model.SourceRM, model.AsksFact{App: id, Rows: []model.AskRow{{
			ResourceName: model.AnyName, Count: 2, Capability: model.Resource{MemoryMiB: 1024, VCores: 1}, Stage: model.StageOther,
		}}}))
		if kind == "TEZ" {
			facts = append(facts, observed(model.SourceTez, model.GraphFact{
				App: id, Stages: []model.GraphStage{
					{Name: "read", Tasks: 2, Input: 100, InputAt: []model.RackBytes{{Rack: t.scene.Nodes[0].Rack, Bytes: 100}}, Output: 80}, {Name: "join", Tasks: 2, Output: 50},
				},
				Edges: []model.GraphEdge{{From: "read", To: "join", Kind: model.ScatterGather}},
			}))
		}
	}
	c.Apply(observed(model.SourceRM, apps))
	for _, o := range facts {
		c.Apply(o)
	}
}
