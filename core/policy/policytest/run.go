package policytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Run holds every policy of a registry to the suite, at its default parameters:
// each property on seeded scenes and on rapid's, which are smaller and shrink well.
func Run(t *testing.T, registry policy.Registry) {
	t.Helper()
	for _, e := range registry {
		for _, p := range properties() {
			t.Run(e.Name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				if err := p.seeded(e, 1, 100); err != nil {
					t.Fatal(err)
				}
				rapid.Check(t, func(rt *rapid.T) {
					if err := p.check(newTrial(e, p.shape, func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") })); err != nil {
						rt.Fatal(err)
					}
				})
			})
		}
	}
}

// Check holds a policy to the suite on scenes of the seeds from the first on,
// and returns the first breach. It is what the suite's own tests use.
func Check(e policy.Entry, first uint64, scenes int) error {
	for _, p := range properties() {
		if err := p.seeded(e, first, scenes); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

type property struct {
	name  string
	shape Shape
	check func(*trial) error
}

func (p *property) seeded(e policy.Entry, first uint64, scenes int) error {
	for i := range uint64(scenes) { //nolint:gosec // never negative
		if err := p.check(newTrial(e, p.shape, Seeded(first+i))); err != nil {
			return fmt.Errorf("scene of seed %d: %w", first+i, err)
		}
	}
	return nil
}

func properties() []property {
	small, uniform := DefaultShape(), DefaultShape()
	uniform.Uniform = true
	busy := Shape{Racks: 4, Nodes: 8, Users: 2, Apps: 8, Maps: 12, Reduces: 8, Uniform: true}
	return []property{
		{"placements are possible", small, placementsPossible},
		{"the input is unchanged", small, inputUnchanged},
		{"a fresh instance answers the same", small, answersRepeat},
		{"renamed nodes rename the answer", small, answersFollowNames},
		{"an idle node never lowers what is placed", uniform, idleNodeHelps},
		{"state shrinks when jobs leave", small, stateShrinks},
		{"plans are valid", small, plansValid},
		{"plans are valid when inputs are read again", small, plansValidWithInputsReadAgain},
		{"the engine rejects nothing, and asking changes nothing", small, askingChangesNothing},
		{"an offer is answered as a question about it is", busy, offersAnsweredAsAsked},
		{"an offer of a mixed cluster is answered as a question about it is", small, offersAnsweredAsAsked},
	}
}

// trial is a policy with a drawn scene and drawn offers.
type trial struct {
	entry policy.Entry
	shape Shape
	draw  Draw
	drawn []int // for the scene and the offers
	scene Scene
	steps []step
}

// step is one drawn offer.
type step struct {
	node  model.NodeID
	kinds model.Stage
	after model.Duration
}

func newTrial(e policy.Entry, shape Shape, draw Draw) *trial {
	t := &trial{entry: e, shape: shape, draw: draw}
	recording := func(lo, hi int) int {
		n := draw(lo, hi)
		t.drawn = append(t.drawn, n)
		return n
	}
	t.scene = Generate(recording, shape)
	t.steps = make([]step, recording(1, 12))
	for i := range t.steps {
		t.steps[i] = step{
			node:  t.scene.Nodes[recording(0, len(t.scene.Nodes)-1)].ID,
			kinds: []model.Stage{"", "", model.StageMap, model.StageReduce}[recording(0, 3)],
			after: model.Duration(recording(0, 4)) * 2 * model.Second,
		}
	}
	return t
}

// build makes the policy at its defaults; one that cannot be built breaks the
// registry itself.
func (t *trial) build() policy.Policy {
	p, err := t.entry.New(nil)
	if err != nil {
		panic(fmt.Errorf("build at the defaults: %w", err))
	}
	return p
}

func (t *trial) open() *Session { return NewSession(t.build(), t.scene) }

// placementsPossible: no over-commitment, no invented job, ask or node, and a
// true locality label.
func placementsPossible(t *trial) error {
	s, fresh := t.open(), true
	for _, st := range t.steps {
		for _, p := range s.Offer(st.node, st.kinds, st.after) {
			if err := possible(s, st, &p); err != nil {
				return fmt.Errorf("placement %+v: %w", p, err)
			}
			if err := labelled(t.scene, &p); fresh && err != nil {
				return fmt.Errorf("placement %+v: %w", p, err)
			}
			fresh = false
			s.Assume(p)
			if free := s.View().Node(p.Node).Free; free.MemoryMiB < 0 {
				return fmt.Errorf("placement %+v: leaves %+v free", p, free)
			}
		}
	}
	return nil
}

func possible(s *Session, st step, p *model.Placement) error {
	j := s.View().Job(p.App)
	if j == nil || j.State.Final() {
		return errors.New("no such job")
	}
	stage := j.Stage(p.Stage)
	n := s.View().Node(p.Node)
	switch {
	case stage == nil || stage.Pending <= 0:
		return errors.New("no such ask")
	case st.kinds != "" && st.kinds != p.Stage:
		return fmt.Errorf("the offer is for a %s", st.kinds)
	case p.Node != st.node || n == nil || !n.State.Usable():
		return errors.New("not the offered node, or not usable")
	case j.Blacklisted(n.Host):
		return errors.New("the job refuses the node")
	case !s.View().Fits(stage, n.Free):
		return fmt.Errorf("does not fit into %+v", n.Free)
	}
	return nil
}

// labelled compares the label with the scene itself, which only the first
// placement of a session can be: later ones are made on what is left.
func labelled(scene Scene, p *model.Placement) error {
	want := model.OffSwitch
	for i := range scene.Apps {
		for k := range scene.Nodes {
			if a, n := &scene.Apps[i], &scene.Nodes[k]; a.ID == p.App && n.ID == p.Node && p.Stage == model.StageMap {
				want, _ = scene.Locality(a, n)
			}
		}
	}
	if p.Locality != want {
		return fmt.Errorf("is %s by the scene", want)
	}
	return nil
}

// inputUnchanged: a policy changes nothing it is shown.
func inputUnchanged(t *trial) error {
	s := t.open()
	for _, st := range t.steps {
		s.Pass(st.after)
		before := fingerprint(s.cluster)
		placed := s.Ask(st.node, st.kinds)
		if after := fingerprint(s.cluster); after != before {
			return fmt.Errorf("the cluster is changed by Place: %s", difference(before, after))
		}
		s.Plan()
		if after := fingerprint(s.cluster); after != before {
			return fmt.Errorf("the cluster is changed by Plan: %s", difference(before, after))
		}
		for _, p := range placed {
			s.Assume(p)
		}
	}
	return nil
}

// fingerprint renders everything a policy can reach through a view, and the
// snapshot without its sequence number.
func fingerprint(c *state.Cluster) string {
	type stage struct {
		Stage  *state.Stage
		OnHost []int
		InRack []int
		Launch []int
	}
	type job struct {
		Job     model.App
		Owner   model.UserID
		Heavy   bool
		Ratio   float64
		Input   *state.Input
		Output  state.MapOutput
		Refuses []string
		Stages  []stage
	}
	type node struct {
		Node model.Node
		Free model.Resource
		Rack int
	}
	v := c.View()
	snap := *c.Snapshot()
	snap.Seq = 0
	var nodes []node
	for _, n := range v.Nodes() {
		nodes = append(nodes, node{n.Node, n.Free, n.Rack.Index})
	}
	var jobs []job
	for _, j := range v.Jobs() {
		k := job{Job: j.App, Owner: j.Owner.ID, Heavy: j.Heavy, Ratio: j.Ratio, Input: j.Input, Output: j.Output, Refuses: j.Blacklist()}
		for _, s := range []*state.Stage{j.Map, j.Reduce} {
			st := stage{Stage: s, Launch: s.LaunchedByRack()}
			for _, n := range v.Nodes() {
				st.OnHost = append(st.OnHost, s.PendingOn(n))
			}
			for r := range v.Racks() {
				st.InRack = append(st.InRack, s.PendingIn(r))
			}
			k.Stages = append(k.Stages, st)
		}
		jobs = append(jobs, k)
	}
	var users []any
	for _, u := range v.Users() {
		var ids []model.AppID
		for _, j := range u.Jobs() {
			ids = append(ids, j.ID)
		}
		users = append(users, []any{u.ID, u.Usage, ids})
	}
	return rendered([]any{snap, nodes, jobs, users})
}

// around is how much of two texts difference shows on either side.
const around = 60

// difference shows where two texts part.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(i-around, 0)
	return fmt.Sprintf("…%s… became …%s…", a[from:min(i+around, len(a))], b[from:min(i+around, len(b))])
}

// answersRepeat: the answers are a function of parameters and inputs.
func answersRepeat(t *trial) error {
	first := t.answers()
	for range 2 {
		if again := t.answers(); first != again {
			return fmt.Errorf("two instances differ: %s", difference(first, again))
		}
	}
	return nil
}

// answersFollowNames: nothing but the order of node names matters.
func answersFollowNames(t *trial) error {
	shape, drawn := t.shape, t.drawn
	shape.Prefix = "x"
	renamed := newTrial(t.entry, shape, func(int, int) int {
		n := drawn[0]
		drawn = drawn[1:]
		return n
	})
	want, got := strings.ReplaceAll(t.answers(), `"n0`, `"xn0`), renamed.answers()
	if got != want {
		return fmt.Errorf("renamed nodes change the answer: %s", difference(want, got))
	}
	return nil
}

// answers renders every placement and plan of a session.
func (t *trial) answers() string {
	s := t.open()
	var all []any
	for _, st := range t.steps {
		for _, p := range s.Offer(st.node, st.kinds, st.after) {
			s.Assume(p)
			all = append(all, p)
		}
		all = append(all, s.Plan())
	}
	return rendered(all)
}

// rendered is a value as text that can be compared.
func rendered(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// idleNodeHelps: with one more idle node at least as many tasks find a place,
// once every wait is over. All tasks are of one size here: with several, which
// of them are started first decides how many fit. No uplink has load: a policy may
// start on a saturated rack what has to wait on another, and then which tasks the
// idle node takes decides too.
//
// Nor does an application have reduces before its maps are complete: no map ends here,
// and until one does it depends on the time whether a reduce may start.
func idleNodeHelps(t *trial) error {
	t.scene.Loads = nil
	for i := range t.scene.Apps {
		if a := &t.scene.Apps[i]; Count(a.Maps, model.TaskSucceeded) < len(a.Maps) {
			a.Reduces = nil
		}
	}
	without, err := drain(t)
	if err != nil {
		return err
	}
	t.scene.Nodes = append(t.scene.Nodes, model.Node{
		ID: "n999:45454", Host: "n999", Rack: t.scene.Nodes[t.draw(0, len(t.scene.Nodes)-1)].Rack, State: model.NodeRunning,
		Total: model.Resource{MemoryMiB: 1024 * int64(t.draw(1, 4)), VCores: 4},
	})
	with, err := drain(t)
	if err != nil {
		return err
	}
	if with < without {
		return fmt.Errorf("%d tasks find a place, one node more and %d do", without, with)
	}
	return nil
}

// The budget of drain: no wait of a policy or variant is longer than patient passes of a
// second, and no scene has room for busy placements.
const (
	patient = 150
	busy    = 10_000
)

// drain offers every node in turn, a second a pass, until nothing has been
// placed for a while, and returns how many tasks were. Needing more passes than
// the budget is an error: every pass but the patient ones places something.
func drain(t *trial) (int, error) {
	s, placed, idle := t.open(), 0, 0
	for pass := 0; idle < patient; pass++ {
		if pass > busy {
			return 0, fmt.Errorf("still placing after %d passes", pass)
		}
		s.Pass(model.Second)
		idle++
		for i := range t.scene.Nodes {
			for _, p := range s.Ask(t.scene.Nodes[i].ID, "") {
				s.Assume(p)
				placed++
				idle = 0
			}
		}
	}
	return placed, nil
}

// stateShrinks: what a policy keeps of jobs and users goes with them.
func stateShrinks(t *trial) error {
	s := t.open()
	for _, st := range t.steps {
		for _, p := range s.Offer(st.node, st.kinds, st.after) {
			s.Assume(p)
		}
		s.Plan()
	}
	if t.draw(0, 1) == 0 {
		s.cluster.Apply(model.Observation{Source: model.SourceRM, At: s.View().Now(), Fact: model.AppsFact{}})
	} else { // another cluster: nothing says that the jobs have left
		t.scene.Apps = nil
		s = NewSession(s.policy, t.scene)
	}
	s.Offer(t.scene.Nodes[0].ID, "", model.Second)
	if what := remembered(reflect.ValueOf(s.policy), map[uintptr]bool{}); what != "" {
		return fmt.Errorf("keeps%s when every job has left", what)
	}
	return nil
}

// remembered names the first thing that can be reached from a value and is of a
// job or user: an id, or a part of the cluster state. Slices are searched up to
// their capacity; settings, which may name users, are not.
func remembered(v reflect.Value, seen map[uintptr]bool) string {
	t := v.Type()
	switch t {
	case reflect.TypeFor[model.AppID](), reflect.TypeFor[model.UserID](),
		reflect.TypeFor[*state.Job](), reflect.TypeFor[*state.User](), reflect.TypeFor[*state.Stage](), reflect.TypeFor[*state.QueueUser]():
		if v.IsZero() {
			return ""
		}
		return fmt.Sprintf(": a %s", t)
	}
	if v.Kind() == reflect.Pointer {
		if seen[v.Pointer()] {
			return ""
		}
		t, seen[v.Pointer()] = t.Elem(), true
	}
	if strings.HasPrefix(t.PkgPath(), "heddle/core/state") {
		return "" // such as a mark, which shares the list of changes
	}
	for _, p := range parts(v) {
		if what := remembered(p.value, seen); what != "" {
			return p.name + what
		}
	}
	return ""
}

// part is something a value holds, with its name if it is a field.
type part struct {
	name  string
	value reflect.Value
}

func parts(v reflect.Value) (all []part) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			all = append(all, part{"", v.Elem()})
		}
	case reflect.Struct:
		for field, f := range v.Fields() {
			if field.Name != "params" {
				all = append(all, part{"." + field.Name, f})
			}
		}
	case reflect.Slice:
		v = v.Slice(0, v.Cap())
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			all = append(all, part{"", v.Index(i)})
		}
	case reflect.Map:
		for k, e := range v.Seq2() {
			all = append(all, part{"", k}, part{"", e})
		}
	default:
	}
	return all
}

// plansValid: known racks, counts within the stage that sum to it or to
// nothing, shares that sum to one, ranks from 1 up that order jobs, and holds
// that end.
func plansValid(t *trial) error {
	s := t.open()
	for _, st := range t.steps {
		s.Pass(10 * st.after)
		seen := map[string]bool{}
		for _, p := range s.Plan() {
			key := string(p.App) + string(p.Stage)
			if seen[key] {
				return fmt.Errorf("two plans for %s of %s", p.Stage, p.App)
			}
			seen[key] = true
			if err := validPlan(s, &p); err != nil {
				return fmt.Errorf("plan %+v: %w", p, err)
			}
		}
	}
	return nil
}

// plansValidWithInputsReadAgain: the blocks of a path may all lie elsewhere when it is read again,
// or be fewer.
func plansValidWithInputsReadAgain(t *trial) error {
	s := t.open()
	s.Plan()
	for i := range t.scene.Apps {
		a := &t.scene.Apps[i]
		blocks := slices.Clone(a.Input)
		for k := range blocks { // all on one node
			blocks[k].Hosts, blocks[k].Racks = []string{t.scene.Nodes[0].Host}, []model.RackID{t.scene.Nodes[0].Rack}
		}
		blocks = blocks[:len(blocks)-min(len(blocks), i%3)]
		s.cluster.Apply(observed(model.SourceHDFS, model.BlocksFact{Path: "/in/" + string(a.ID), Files: 1, Blocks: blocks}))
	}
	for _, st := range t.steps {
		s.Offer(st.node, st.kinds, st.after)
		for _, p := range s.Plan() {
			if err := validPlan(s, &p); err != nil {
				return fmt.Errorf("plan %+v: %w", p, err)
			}
		}
	}
	return nil
}

// longestHold is the engine's own limit.
func longestHold() model.Duration { return engine.DefaultOptions("").MaxHold }

func validPlan(s *Session, p *model.Plan) error {
	v := s.View()
	j := v.Job(p.App)
	if j == nil || j.Stage(p.Stage) == nil {
		return errors.New("no such stage")
	}
	if p.Rank < 1 || p.Rank > len(v.Jobs()) {
		return fmt.Errorf("rank is not one of %d jobs", len(v.Jobs()))
	}
	if p.Hold && (p.Until <= v.Now() || p.Until.Sub(v.Now()) > longestHold()) {
		return fmt.Errorf("the hold does not end between %d and %d", v.Now(), v.Now().Add(longestHold()))
	}
	tasks, share := 0, 0.0
	for i, t := range p.Racks {
		rack := v.RackOf(t.Rack)
		switch {
		case rack == nil || rack.Total.MemoryMiB == 0:
			return fmt.Errorf("rack %s has no nodes", t.Rack)
		case t.Count < 0:
			return errors.New("a count below zero")
		case i > 0 && t.Count > p.Racks[i-1].Count:
			return errors.New("racks are not by falling count")
		}
		tasks += t.Count
		share += t.Share
	}
	if len(p.Racks) == 0 {
		return nil
	}
	if want := j.Stage(p.Stage).Total; tasks != want {
		return fmt.Errorf("counts sum to %d, want %d", tasks, want)
	}
	if share > 1+1e-9 || math.IsNaN(share) {
		return fmt.Errorf("shares sum to %g", share)
	}
	return nil
}
