package policytest

import (
	"fmt"
	"slices"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// askingChangesNothing: two engines take the same decisions whether or not
// questions are put to one of them in between, and a question that is put twice
// at one instant gets one answer (I11). Neither has to reject anything.
func askingChangesNothing(t *trial) error {
	ends := make([]int, len(t.steps)) // the application of which a map ends before each step
	for i := range ends {
		ends[i] = t.draw(-1, len(t.scene.Apps)-1)
	}
	quiet, err := t.decisions(ends, func(*engine.Engine, *state.Cluster) error { return nil })
	if err != nil {
		return err
	}
	asked, err := t.decisions(ends, askEverything)
	if err != nil {
		return err
	}
	if quiet != asked {
		return fmt.Errorf("a question changes a later decision: %s", difference(quiet, asked))
	}
	return nil
}

// decisions renders what an engine decides over the steps. It calls between
// before each decision.
func (t *trial) decisions(ends []int, between func(*engine.Engine, *state.Cluster) error) (string, error) {
	apps, c := slices.Clone(t.scene.Apps), t.scene.Cluster()
	opts := engine.DefaultOptions(t.entry.Name)
	opts.Recover, opts.MaxAge = false, 0
	eng := engine.New(opts, t.build(), c)
	now := Epoch
	var all []any
	for i, st := range t.steps {
		now = now.Add(st.after)
		c.Advance(now)
		if ends[i] >= 0 {
			apps[ends[i]].endMap(c, now)
		}
		if err := between(eng, c); err != nil {
			return "", err
		}
		placed, err := eng.Offer(policy.Offer{Node: c.View().Node(st.node), Kinds: st.kinds})
		if err != nil {
			return "", err
		}
		for _, p := range placed {
			c.Assume(p)
		}
		all = append(all, slices.Clone(placed))
		if err := between(eng, c); err != nil {
			return "", err
		}
		made, err := eng.Plan(now)
		if err != nil {
			return "", err
		}
		all = append(all, made)
	}
	if rejected := eng.Log().Rejected(); len(rejected) > 0 {
		return "", fmt.Errorf("the engine rejected %v", rejected)
	}
	return rendered(all), nil
}

// offersAnsweredAsAsked: what a policy has noted to spare itself a search changes no
// answer. A question about an offer goes by none of it.
func offersAnsweredAsAsked(t *trial) error {
	apps, c := slices.Clone(t.scene.Apps), t.scene.Cluster()
	p, in := t.build(), &policy.Input{View: c.View(), Journal: &policy.Journal{}}
	now := Epoch
	for range 60 {
		now = now.Add(model.Duration(t.draw(0, 3)) * model.Second)
		c.Advance(now)
		if i := t.draw(-8, len(apps)-1); i >= 0 {
			apps[i].endMap(c, now)
		}
		in.Offer.Node = c.View().Node(t.scene.Nodes[t.draw(0, len(t.scene.Nodes)-1)].ID)
		question := in.Journal.Begin(true)
		asked := rendered(p.Place(in))
		in.Journal.Discard(question)
		placed := p.Place(in)
		if given := rendered(placed); asked != given {
			return fmt.Errorf("at %d an offer of %s: asked %s, given %s", now, in.Offer.Node.ID, asked, given)
		}
		for _, l := range placed {
			c.Assume(l)
		}
	}
	return nil
}

// endMap has the application report one more complete map, with output.
func (a *App) endMap(c *state.Cluster, now model.Time) {
	i := slices.IndexFunc(a.Maps, func(t model.Task) bool { return t.State != model.TaskSucceeded && t.Host != "" })
	if i < 0 {
		return
	}
	a.Maps = slices.Clone(a.Maps)
	a.Maps[i].State, a.Maps[i].Output = model.TaskSucceeded, 100*model.MiB
	if a.MapOutput >= 0 {
		a.MapOutput += 100 * model.MiB
	}
	for _, o := range a.observations() {
		o.At = now
		c.Apply(o)
	}
}

// askEverything puts every kind of question, each twice.
func askEverything(eng *engine.Engine, c *state.Cluster) error {
	jobs := slices.Clone(c.View().Jobs())
	questions := [][]*state.Job{jobs}
	for _, j := range jobs {
		questions = append(questions, []*state.Job{j})
	}
	for _, q := range questions {
		if err := askTwice(func() ([]model.Plan, error) { return eng.WhatIf(q) }); err != nil {
			return err
		}
	}
	app := model.App{ID: "application_9_0001", User: "user1", Type: "MAPREDUCE", State: model.AppRunning, Submitted: c.View().Now()}
	facts := []model.Fact{model.JobFact{App: app.ID, MapsTotal: 3, MapsPending: 3, ReducesTotal: 2, ReducesPending: 2}}
	return askTwice(func() (plans []model.Plan, err error) {
		c.Suppose(app, facts, func(j *state.Job) { plans, err = eng.WhatIf([]*state.Job{j}) })
		return plans, err
	})
}

func askTwice(ask func() ([]model.Plan, error)) error {
	var answers [2]string
	for i := range answers {
		plans, err := ask()
		if err != nil {
			return err
		}
		answers[i] = rendered(plans)
	}
	if answers[0] != answers[1] {
		return fmt.Errorf("one question, two answers: %s", difference(answers[0], answers[1]))
	}
	return nil
}
