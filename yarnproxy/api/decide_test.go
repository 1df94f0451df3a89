package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

type wish struct {
	Stage string `json:"stage"`
	Racks []struct {
		Rack      model.RackID   `json:"rack"`
		Count     int            `json:"count"`
		Launched  int            `json:"launched"`
		Remaining int            `json:"remaining"`
		Free      model.Resource `json:"free"`
		Saturated bool           `json:"uplink_saturated"`
	} `json:"racks"`
	Nodes []struct {
		Host     string         `json:"host"`
		Rack     model.RackID   `json:"rack"`
		Locality string         `json:"locality"`
		Free     model.Resource `json:"free"`
		Fits     bool           `json:"fits"`
	} `json:"nodes"`
	Hold   bool   `json:"hold"`
	Until  int64  `json:"until_ms"`
	Relax  bool   `json:"relax_locality"`
	Rank   int    `json:"rank"`
	Reason string `json:"reason"`
}

func (w *wish) hosts() []string {
	var out []string
	for _, n := range w.Nodes {
		h, _, _ := strings.Cut(n.Host, ".")
		out = append(out, h)
	}
	return out
}

func preferences(id model.AppID, query string) string {
	return "/v1/applications/" + string(id) + "/preferences" + query
}

const (
	preferencesPath = "/v1/applications/{id}/preferences"
	explainPath     = "/v1/applications/{id}/explain"
)

// TestReducePreferences: 90 % of the map output lies on rack1, so do 9 of 10
// reduces; two of them run there already.
func TestReducePreferences(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var got wish
	r.get(t, preferencesPath, preferences(sorting, "?stage=reduce")).into(t, &got)
	if len(got.Racks) != 2 || got.Racks[0].Rack != "/dc1/rack1" || got.Racks[0].Count != 9 || got.Racks[0].Launched != 2 || got.Racks[0].Remaining != 7 || got.Racks[1].Count != 1 {
		t.Errorf("racks %+v, want 9 on rack1 with 2 launched, 1 on rack2", got.Racks)
	}
	// rack1 has w11 to w13 with 7, 6 and 5 GiB free (w14 is lost), rack2 one more.
	if diff := cmp.Diff([]string{"w11", "w21", "w12", "w22", "w13", "w23", "w24"}, got.hosts()); diff != "" {
		t.Errorf("nodes of the wanted racks by what is free (-want +got):\n%s", diff)
	}
	if got.Racks[0].Free.MemoryMiB != (7+6+5)*1024 || got.Reason != "map_output" || got.Rank < 1 || !got.Relax || got.Hold || got.Until != 0 {
		t.Errorf("%+v", got)
	}
	r.get(t, preferencesPath, preferences(sorting, "?stage=reduce&limit=2")).into(t, &got)
	if len(got.Nodes) != 2 {
		t.Errorf("%d nodes, want the limit of 2", len(got.Nodes))
	}
}

// TestMapPreferences: rack2 holds all of the input.
func TestMapPreferences(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var got wish
	r.get(t, preferencesPath, preferences(reading, "?stage=map")).into(t, &got)
	if len(got.Racks) == 0 || len(got.Nodes) == 0 {
		t.Fatalf("%+v", got)
	}
	for _, rack := range got.Racks {
		if rack.Rack != "/dc1/rack2" && rack.Rack != "/dc1/rack3" {
			t.Errorf("rack %s holds no input", rack.Rack)
		}
	}
}

// withPlan gives the snapshot's first application another plan.
func (r *rig) withPlan(p model.Plan) {
	old := r.snap.Load()
	s := r.snapshot()
	s.Plans[p.App] = append(slices.DeleteFunc(slices.Clone(s.Plans[p.App]), func(q *model.Plan) bool { return q.Stage == p.Stage }), &p)
	r.snap.Store(s)
	if old.Seq == r.snap.Load().Seq {
		panic("the snapshot did not change")
	}
}

// TestHoldAndPinEnd: a hold and a pin are passed on until they end, and not
// one millisecond longer, even if no newer snapshot comes (I9).
func TestHoldAndPinEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	until := start + 2000
	plan := model.Plan{App: sorting, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonHoldWhileSaturated, Hold: true, Until: until}
	r.withPlan(plan)
	ask := func() (w wish) {
		a := r.get(t, preferencesPath, preferences(sorting, "?stage=reduce"))
		a.into(t, &w)
		if (a.header.Get("ETag") == "") != (w.Until > 0) {
			t.Errorf("ETag %q while it ends at %d: a kept answer would outlive it", a.header.Get("ETag"), w.Until)
		}
		return w
	}
	if w := ask(); !w.Hold || w.Until != int64(until) || !w.Relax || len(w.Nodes) != 11 {
		t.Errorf("a hold: %+v", w)
	}
	plan.Hold, plan.Racks = false, []model.RackTarget{{Rack: "/dc1/rack3", Count: 10, Share: 1}}
	r.withPlan(plan)
	if w := ask(); w.Hold || w.Relax || w.Until != int64(until) || !slices.Equal(w.hosts(), []string{"w31", "w32", "w33", "w34"}) {
		t.Errorf("a pin: %+v", w)
	}
	r.later(1999 * time.Millisecond)
	if w := ask(); w.Relax {
		t.Errorf("1 ms before its end: %+v", w)
	}
	r.later(time.Millisecond)
	if w := ask(); !w.Relax || w.Until != 0 {
		t.Errorf("at its end: %+v", w)
	}
}

// TestMetCountsKeepTheirRacks: when as many tasks run as are wanted, the racks
// of the plan stay the best ones.
func TestMetCountsKeepTheirRacks(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.withPlan(model.Plan{App: sorting, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput, Racks: []model.RackTarget{{Rack: "/dc1/rack1", Count: 2}}})
	var w wish
	r.get(t, preferencesPath, preferences(sorting, "?stage=reduce")).into(t, &w)
	if !slices.Equal(w.hosts(), []string{"w11", "w12", "w13"}) || w.Racks[0].Remaining != 0 {
		t.Errorf("%+v", w)
	}
	if w.Nodes[0].Locality != "" || !w.Nodes[0].Fits {
		t.Errorf("node %+v: no ask named a place, and a task fits", w.Nodes[0])
	}
}

func TestNoPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.get(t, preferencesPath, preferences(finished, "?stage=map")).problem(t, http.StatusNotFound, "no-plan")
	if p.Hint != "it has ended" {
		t.Errorf("hint %q", p.Hint)
	}
	p = r.get(t, preferencesPath, preferences(sorting, "?stage=shuffle")).problem(t, http.StatusNotFound, "no-plan")
	if !strings.Contains(p.Hint, "map and reduce") {
		t.Errorf("hint %q", p.Hint)
	}
	r.get(t, explainPath, "/v1/applications/"+string(finished)+"/explain").problem(t, http.StatusNotFound, "no-plan")
	r.get(t, explainPath, "/v1/applications/application_1_0077/explain").problem(t, http.StatusNotFound, "not-found")
	observe := newRig(t, func(o *api.Options) {
		o.Policies = func() []api.PolicyInfo { return nil }
	})
	p = observe.get(t, preferencesPath, preferences(finished, "?stage=map")).problem(t, http.StatusNotFound, "no-plan")
	if !strings.Contains(p.Detail, "observe") || !strings.Contains(p.Hint, "advise") {
		t.Errorf("%+v", p)
	}
}

// TestExplain: inputs, alternatives with what they would cost, and the reason
// in words; the figures follow from the map output by hand.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	type explained struct {
		Policy string `json:"policy"`
		Live   string `json:"live"`
		Stages []struct {
			Stage  string `json:"stage"`
			Reason string `json:"reason"`
			Text   string `json:"text"`
			Inputs struct {
				Heavy     bool            `json:"shuffle_heavy"`
				Measured  bool            `json:"ratio_measured"`
				MapOutput snapshot.Output `json:"map_output"`
				Launched  map[string]int  `json:"launched"`
			} `json:"inputs"`
			Alternatives []struct {
				Name    string      `json:"name"`
				Cross   model.Bytes `json:"cross_rack_bytes"`
				Busiest model.Bytes `json:"busiest_uplink_bytes"`
				Extra   model.Bytes `json:"extra_bytes"`
				Text    string      `json:"text"`
			} `json:"alternatives"`
		} `json:"stages"`
		Uplinks   []any `json:"uplinks"`
		Decisions []struct {
			Seq uint64 `json:"seq"`
		} `json:"decisions"`
	}
	var got explained
	r.get(t, explainPath, "/v1/applications/"+string(sorting)+"/explain?stage=reduce").into(t, &got)
	if len(got.Stages) != 1 || got.Policy != policy || len(got.Uplinks) != 3 || len(got.Decisions) == 0 {
		t.Fatalf("%+v", got)
	}
	if !strings.Contains(got.Live, "sets map racks, holds;") {
		t.Errorf("live: %q", got.Live)
	}
	s := got.Stages[0]
	if s.Stage != "reduce" || s.Reason != "map_output" || !strings.Contains(s.Text, "map output") || !s.Inputs.Heavy || !s.Inputs.Measured || s.Inputs.Launched["/dc1/rack1"] != 2 {
		t.Errorf("%+v", s)
	}
	// 9 U on rack1, 1 U on rack2, 9 + 1 reduces: 9*0.1 + 1*0.9 = 1.8 U cross.
	// Evenly, 4 + 3 + 3: 9*0.6 + 1*0.7 = 6.1 U.
	const u = float64(model.GiB + model.GiB/8)
	for name, want := range map[string]float64{"plan": 1.8 * u, "proportional": 1.8 * u, "fewest_bytes": 1 * u, "uniform": 6.1 * u} {
		i := slices.IndexFunc(s.Alternatives, func(a struct {
			Name    string      `json:"name"`
			Cross   model.Bytes `json:"cross_rack_bytes"`
			Busiest model.Bytes `json:"busiest_uplink_bytes"`
			Extra   model.Bytes `json:"extra_bytes"`
			Text    string      `json:"text"`
		},
		) bool {
			return a.Name == name
		})
		if i < 0 {
			t.Errorf("no alternative %s", name)
			continue
		}
		a := s.Alternatives[i]
		if d := float64(a.Cross) - want; d > 1 || d < -1 {
			t.Errorf("%s sends %d across racks, want %.0f", name, a.Cross, want)
		}
		if d := float64(a.Extra) - (want - 1.8*u); d > 2 || d < -2 || a.Text == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	ranking := newRig(t, func(o *api.Options) {
		o.Policies = func() []api.PolicyInfo { return []api.PolicyInfo{{Name: "num", Active: true}} }
	})
	got = explained{}
	ranking.get(t, explainPath, "/v1/applications/"+string(sorting)+"/explain?stage=reduce").into(t, &got)
	if !strings.Contains(got.Live, "ranks jobs only, and no ask carries a rank") {
		t.Errorf("live with a policy that ranks only: %q", got.Live)
	}
	got = explained{}
	r.get(t, explainPath, "/v1/applications/"+string(sorting)+"/explain").into(t, &got)
	if len(got.Stages) < 1 {
		t.Errorf("without a stage: %+v", got)
	}
}

// TestExplainUnsteered: why nothing of an application is steered is said of that application alone.
func TestExplainUnsteered(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	snap := *r.snap.Load()
	snap.Guard.Unsteered = map[model.AppID]model.PassCause{sorting: model.PassGuard}
	r.snap.Store(&snap)
	for app, want := range map[model.AppID]model.PassCause{sorting: model.PassGuard, reading: ""} {
		var got struct {
			Unsteered struct {
				Cause model.PassCause `json:"cause"`
				Text  string          `json:"text"`
			} `json:"unsteered"`
		}
		r.get(t, explainPath, "/v1/applications/"+string(app)+"/explain").into(t, &got)
		if got.Unsteered.Cause != want || strings.Contains(got.Unsteered.Text, "steering is off for the application's queue") != (want != "") {
			t.Errorf("%s: %+v", app, got)
		}
	}
}

type placed struct {
	Policy     string `json:"policy"`
	Placements []wish `json:"placements"`
	Ignored    []string
	IgnoredH   []string `json:"ignored_hosts"`
	Unanswered []struct {
		Stage string `json:"stage"`
	} `json:"unanswered"`
}

func (p *placed) stage(name string) *wish {
	for i := range p.Placements {
		if p.Placements[i].Stage == name {
			return &p.Placements[i]
		}
	}
	return nil
}

// TestPlacementsOfReduces: map output 1 : 3 on rack2 and rack3 gives 2 and 6 of
// 8 reduces, and leaves nothing behind.
func TestPlacementsOfReduces(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	before := fmt.Sprint(r.cluster.View().Jobs(), len(r.cluster.View().Racks()))
	a := r.post(t, `{"user":"eve","asks":[{"stage":"reduce","count":8,"capability":{"memory_mib":6500,"vcores":1}}],
		"map_output_bytes":{"/dc1/rack2":1000000,"/dc1/rack3":3000000},"maps_completed":20,"limit":5}`)
	var got placed
	a.into(t, &got)
	w := got.stage("reduce")
	if a.status != http.StatusOK || w == nil || len(w.Racks) != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if w.Racks[0].Rack != "/dc1/rack3" || w.Racks[0].Count != 6 || w.Racks[1].Count != 2 || w.Reason != "map_output" {
		t.Errorf("racks %+v reason %s, want 6 on rack3 and 2 on rack2", w.Racks, w.Reason)
	}
	if !slices.Equal(w.hosts(), []string{"w21", "w31", "w22", "w32", "w23"}) || !w.Nodes[0].Fits || w.Nodes[2].Fits {
		t.Errorf("nodes %+v", w.Nodes)
	}
	if after := fmt.Sprint(r.cluster.View().Jobs(), len(r.cluster.View().Racks())); after != before || r.cluster.View().Job("what-if") != nil {
		t.Errorf("the question was stored: %s, then %s", before, after)
	}
	if a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v: an answer to a question is not to be kept", a.header)
	}
}

// TestPlacementsOfMaps: nodes that hold the input come first, then nodes of its
// racks; hosts nobody knows are named and left out.
func TestPlacementsOfMaps(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for name, body := range map[string]string{
		"by host":  `{"asks":[{"stage":"map","count":4,"capability":{"memory_mib":1024,"vcores":1},"hosts":["w32.example.com","w34.example.com","ghost"]}],"input_blocks":[{"length":5,"hosts":["w32.example.com","w34.example.com","ghost"]}]}`,
		"by block": `{"asks":[{"stage":"map","count":4,"capability":{"memory_mib":1024,"vcores":1}}],"input_blocks":[{"length":5,"hosts":["w32.example.com","ghost"]},{"length":6,"hosts":["w34.example.com"]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got placed
			a := r.post(t, body)
			a.into(t, &got)
			w := got.stage("map")
			if w == nil {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if len(w.Nodes) < 4 || !slices.Equal(w.hosts()[:4], []string{"w32", "w34", "w31", "w33"}) {
				t.Errorf("nodes %v, want the two with the input, then their rack", w.hosts())
			}
			if w.Nodes[0].Locality != "NODE_LOCAL" || w.Nodes[2].Locality != "RACK_LOCAL" {
				t.Errorf("localities %+v", w.Nodes)
			}
			if !slices.Equal(got.IgnoredH, []string{"ghost"}) {
				t.Errorf("ignored %v", got.IgnoredH)
			}
		})
	}
}

// TestPlacementsLookUpPaths: the blocks of a path are found and used.
func TestPlacementsLookUpPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Timeout = 100 * time.Millisecond })
	ask := func(path string) *answer {
		return r.post(t, `{"asks":[{"stage":"map","count":4,"capability":{"memory_mib":1024,"vcores":1}}],"input_paths":["`+path+`"],
			"map_output_bytes":{"/dc1/rack2":2000},"map_input_bytes":1000,"maps_completed":1}`)
	}
	var got placed
	ask("/data/in").into(t, &got)
	w := got.stage("map")
	if w == nil || len(w.Racks) == 0 || (w.Racks[0].Rack != "/dc1/rack2" && w.Racks[0].Rack != "/dc1/rack3") {
		t.Errorf("%+v", got)
	}
	for path, want := range map[string]struct {
		status int
		kind   string
	}{"/none": {404, "not-found"}, "/secret": {403, "permission-denied"}, "/broken": {502, "name-node"}, "/slow": {504, "timeout"}} {
		p := ask(path).problem(t, want.status, want.kind)
		if len(p.Errors) != 1 || p.Errors[0].Field != "input_paths[0]" {
			t.Errorf("%s: %+v", path, p.Errors)
		}
	}
	off := newRig(t, func(o *api.Options) { o.Blocks = nil })
	off.post(t, `{"asks":[{"stage":"map","count":4,"capability":{"memory_mib":1,"vcores":1}}],"input_paths":["/a"]}`).problem(t, 400, "bad-request")
}

// capture keeps the request it is asked.
type capture struct {
	request api.Request
	err     error
}

func (c *capture) Advise(_ context.Context, r api.Request) (api.Advice, error) {
	c.request = r
	return api.Advice{Policy: "p"}, c.err
}

// TestPlacementsBecomeFacts: the supposed application has in the cluster the
// demand, the input and the map output that were asked about.
func TestPlacementsBecomeFacts(t *testing.T) {
	t.Parallel()
	c := &capture{}
	r := newRig(t, func(o *api.Options) { o.Advisor = c })
	var got placed
	r.post(t, `{"user":"eve","queue":"root.q","asks":[
		{"stage":"map","count":3,"capability":{"memory_mib":512,"vcores":1},"hosts":["w11.example.com","w12.example.com","w11.example.com"]},
		{"stage":"map","count":2,"capability":{"memory_mib":512,"vcores":1},"racks":["/dc1/rack2"]},
		{"stage":"reduce","count":7,"capability":{"memory_mib":2048,"vcores":2}}],
		"input_blocks":[{"length":100,"hosts":["w11.example.com"]}],"map_output_bytes":{"/dc1/rack3":50,"/dc1/rack1":0},"maps_completed":9}`).into(t, &got)
	if len(got.Unanswered) != 2 || len(got.Placements) != 0 {
		t.Errorf("an advisor without plans: %+v", got)
	}
	q := c.request
	if q.App.User != "eve" || q.App.Queue != "root.q" || !slices.Equal(q.Stages, []model.Stage{model.StageMap, model.StageReduce}) {
		t.Errorf("%+v", q.App)
	}
	r.cluster.Suppose(q.App, q.Facts, func(j *state.Job) {
		type job struct {
			Pending, Total, Done, OnHost, InRack1, InRack2, Reduces int
			MapTask, ReduceTask                                     model.Resource
			Input, Output                                           model.Bytes
			OutputRack3                                             model.Bytes
		}
		v := r.cluster.View()
		rack := func(id model.RackID) int { return v.RackOf(id).Index }
		w11 := v.Nodes()[slices.IndexFunc(v.Nodes(), func(n *state.Node) bool { return n.Host == "w11.example.com" })]
		have := job{
			j.Map.Pending, j.Map.Total, j.Map.Completed, j.Map.PendingOn(w11), j.Map.PendingIn(rack("/dc1/rack1")), j.Map.PendingIn(rack("/dc1/rack2")), j.Reduce.Pending,
			j.Map.Capability, j.Reduce.Capability, j.Input.Bytes, j.Output.Total, j.Output.ByRack[rack("/dc1/rack3")],
		}
		want := job{5, 14, 9, 3, 3, 2, 7, model.Resource{MemoryMiB: 512, VCores: 1}, model.Resource{MemoryMiB: 2048, VCores: 2}, 100, 50, 50}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("the supposed job (-want +got):\n%s", diff)
		}
	})
}

// TestPlacementsRefused: what is wrong with a body is said field by field.
func TestPlacementsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const ok = `{"stage":"map","count":1,"capability":{"memory_mib":1,"vcores":1}}`
	for _, tc := range []struct{ name, body, field, detail string }{
		{"empty", ``, "", "the body is empty"},
		{"not JSON", `{asks}`, "", "byte 2"},
		{"half", `{"asks":[`, "", "ends in the middle"},
		{"twice", `{"asks":[` + ok + `]}{}`, "", "something after"},
		{"a list", `[]`, "", "is a array, want an object"},
		{"no asks", `{}`, "asks", "at least one"},
		{"unknown field", `{"ask":[]}`, "ask", "not known"},
		{"unknown field inside", `{"asks":[{"cuont":1}]}`, "cuont", "not known"},
		{"text for a number", `{"asks":[{"count":"3"}]}`, "asks.count", "is a string, want a whole number"},
		{"a fraction", `{"asks":[{"count":1.5}]}`, "asks.count", "whole number"},
		{"stage", `{"asks":[{"stage":"am","count":1,"capability":{"memory_mib":1}}]}`, "asks[0].stage", "map or reduce"},
		{"count", `{"asks":[` + ok + `,{"stage":"map","count":0,"capability":{"memory_mib":1,"vcores":1}}]}`, "asks[1].count", "1 to 100000"},
		{"too many tasks", `{"asks":[{"stage":"map","count":100000,"capability":{"memory_mib":1}},` + ok + `]}`, "asks", "at most 100000"},
		{"capability", `{"asks":[{"stage":"map","count":1}]}`, "asks[0].capability", "at least 1 MiB"},
		{"rack", `{"asks":[{"stage":"map","count":1,"capability":{"memory_mib":1},"racks":["rack1"]}]}`, "asks[0].racks[0]", "no rack of the cluster"},
		{"output rack", `{"asks":[` + ok + `],"map_output_bytes":{"/x":1}}`, "map_output_bytes./x", "no rack of the cluster"},
		{"output", `{"asks":[` + ok + `],"map_output_bytes":{"/dc1/rack1":-1}}`, "map_output_bytes./dc1/rack1", "is -1"},
		{"block", `{"asks":[` + ok + `],"input_blocks":[{"length":-1,"hosts":[]}]}`, "input_blocks[0].length", "is -1"},
		{"paths and blocks", `{"asks":[` + ok + `],"input_blocks":[{"length":1,"hosts":[]}],"input_paths":["/a"]}`, "input_blocks", "one of them"},
		{"relative path", `{"asks":[` + ok + `],"input_paths":["a"]}`, "input_paths[0]", "from the root"},
		{"limit", `{"asks":[` + ok + `],"limit":1001}`, "limit", "1 to 1000"},
		{"completed", `{"asks":[` + ok + `],"maps_completed":-1}`, "maps_completed", "0 to 100000"},
		{"many asks", `{"asks":[` + strings.Repeat(`{},`, 1001) + `{}]}`, "asks", "at most 1000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := r.post(t, tc.body).problem(t, http.StatusBadRequest, "bad-request")
			if tc.field == "" {
				if !strings.Contains(p.Detail, tc.detail) {
					t.Errorf("detail %q, want …%s…", p.Detail, tc.detail)
				}
				return
			}
			for _, e := range p.Errors {
				if e.Field == tc.field && strings.Contains(e.Detail, tc.detail) {
					return
				}
			}
			t.Errorf("errors %+v, want %s: …%s…", p.Errors, tc.field, tc.detail)
		})
	}
	r.do(t, "/v1/placements", request(http.MethodPost, "/v1/placements", `{}`)).problem(t, http.StatusUnsupportedMediaType, "unsupported-media-type")
	r.do(t, "/v1/placements", request(http.MethodPost, "/v1/placements", `{}`, "Content-Type", "text/json")).problem(t, http.StatusUnsupportedMediaType, "unsupported-media-type")
	r.do(t, "/v1/placements", request(http.MethodPost, "/v1/placements?x=1", `{}`, "Content-Type", "application/json")).problem(t, http.StatusBadRequest, "bad-request")
}

// TestAdvisorFails: no policy, a policy that fails, a loop that does not answer.
func TestAdvisorFails(t *testing.T) {
	t.Parallel()
	const body = `{"asks":[{"stage":"map","count":1,"capability":{"memory_mib":1,"vcores":1}}]}`
	c := &capture{}
	r := newRig(t, func(o *api.Options) { o.Advisor = c })
	c.err = api.ErrNoPolicy
	r.post(t, body).problem(t, http.StatusConflict, "no-policy")
	c.err = fmt.Errorf("ask the loop: %w", context.DeadlineExceeded)
	r.post(t, body).problem(t, http.StatusGatewayTimeout, "timeout")
	c.err = errors.New("the policy panicked")
	r.post(t, body).problem(t, http.StatusInternalServerError, "internal")
	if !strings.Contains(r.log.String(), "the policy panicked") {
		t.Errorf("log %q", r.log.String())
	}
	observe := newRig(t, func(o *api.Options) { o.Advisor = nil })
	observe.post(t, body).problem(t, http.StatusConflict, "no-policy")
}
