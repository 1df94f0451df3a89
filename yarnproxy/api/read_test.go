package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

func serve(h http.Handler, q *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w
}

// TestEveryReadSaysItsSnapshot: each answer echoes number, time and age of the
// snapshot in headers and body, and is 304 to its own ETag until there is
// another snapshot.
func TestEveryReadSaysItsSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.later(1500 * time.Millisecond)
	for _, tc := range []struct {
		path, target string
		tagged       bool
	}{
		{"/v1/cluster", "/v1/cluster", true},
		{"/v1/racks", "/v1/racks", true},
		{"/v1/racks/{rack}", "/v1/racks/dc1/rack1", true},
		{"/v1/nodes", "/v1/nodes?limit=5", true},
		{"/v1/policies", "/v1/policies", false},
		{"/v1/traffic", "/v1/traffic", true},
		{"/v1/shadow", "/v1/shadow", true},
		{"/v1/applications", "/v1/applications", true},
		{"/v1/applications/{id}", "/v1/applications/" + string(sorting), true},
		{"/v1/applications/{id}/preferences", "/v1/applications/" + string(sorting) + "/preferences?stage=reduce", true},
		{"/v1/applications/{id}/explain", "/v1/applications/" + string(sorting) + "/explain", true},
		{"/v1/decisions", "/v1/decisions", true},
		{"/v1/blocks", "/v1/blocks?path=/data/in", false},
	} {
		a := r.get(t, tc.path, tc.target)
		var body struct {
			Snapshot struct {
				Seq   uint64 `json:"seq"`
				AtMS  int64  `json:"at_ms"`
				AgeMS int64  `json:"age_ms"`
			} `json:"snapshot"`
		}
		a.into(t, &body)
		if s := body.Snapshot; a.status != http.StatusOK || s.Seq != 1 || s.AtMS != int64(start) || s.AgeMS != 1500 {
			t.Errorf("%s: %d, snapshot %+v", tc.target, a.status, s)
		}
		if h := a.header; h.Get("Heddle-Snapshot-Seq") != "1" || h.Get("Heddle-Snapshot-Age-Ms") != "1500" || h.Get("Heddle-Snapshot-Time") != "2023-11-14T22:15:00.000Z" {
			t.Errorf("%s: headers %v", tc.target, h)
		}
		tag := a.header.Get("ETag")
		if (tag != "") != tc.tagged {
			t.Errorf("%s: ETag %q, want one: %v", tc.target, tag, tc.tagged)
		}
		if tag == "" {
			continue
		}
		if b := r.get(t, tc.path, tc.target, "If-None-Match", `"x", `+tag); b.status != http.StatusNotModified || len(b.body) > 0 {
			t.Errorf("%s: with its own ETag: %d %s", tc.target, b.status, b.body)
		}
		if b := r.get(t, tc.path, tc.target, "If-None-Match", `W/"other"`); b.status != http.StatusOK {
			t.Errorf("%s: with another ETag: %d", tc.target, b.status)
		}
	}
	tag := r.get(t, "/v1/racks", "/v1/racks").header.Get("ETag")
	r.publish(t)
	if a := r.get(t, "/v1/racks", "/v1/racks", "If-None-Match", tag); a.status != http.StatusOK {
		t.Errorf("a new snapshot is answered %d to the ETag of the old one", a.status)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, target := range []string{"/v1/racks", "/healthz", "/readyz", "/openapi.json", "/", "/v1/racks/none"} {
		get, head := serve(r, request(http.MethodGet, target, "")), serve(r, request(http.MethodHead, target, ""))
		if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != get.Header().Get("Content-Length") {
			t.Errorf("%s: HEAD %d with %d bytes %q, GET %d %q", target, head.Code, head.Body.Len(), head.Header().Get("Content-Length"), get.Code, get.Header().Get("Content-Length"))
		}
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var got struct {
		Version string         `json:"version"`
		Racks   int            `json:"racks"`
		Nodes   int            `json:"nodes"`
		Policy  string         `json:"policy"`
		Total   model.Resource `json:"total"`
		Sources []struct {
			Source string           `json:"source"`
			Polls  map[string]int64 `json:"polls"`
		} `json:"sources"`
	}
	r.get(t, "/v1/cluster", "/v1/cluster").into(t, &got)
	if got.Version != "3.4.3" || got.Racks != 3 || got.Nodes != 12 || got.Policy != policy || got.Total.MemoryMiB != 11*8192 {
		t.Errorf("%+v", got)
	}
	if len(got.Sources) != 1 || got.Sources[0].Polls["ok"] != 1 {
		t.Errorf("sources %+v", got.Sources)
	}
}

// TestRackNames: the slashes of a rack's name may be escaped or not.
func TestRackNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, target := range []string{"/v1/racks/%2Fdc1%2Frack1", "/v1/racks/dc1/rack1", "/v1/racks/dc1%2Frack1", "/v1/racks//dc1/rack1"} {
		var got struct {
			Rack struct {
				ID    string         `json:"id"`
				Nodes map[string]int `json:"nodes"`
			} `json:"rack"`
			Nodes []struct {
				ID    string         `json:"id"`
				State string         `json:"state"`
				Free  model.Resource `json:"free"`
			} `json:"nodes"`
		}
		r.get(t, "/v1/racks/{rack}", target).into(t, &got)
		if got.Rack.ID != "/dc1/rack1" || got.Rack.Nodes["LOST"] != 1 || len(got.Nodes) != 4 || got.Nodes[0].Free.MemoryMiB != 7168 {
			t.Errorf("%s: %+v", target, got)
		}
	}
	for _, target := range []string{"/v1/racks/dc1", "/v1/racks/%2Fdc1%2Frack9", "/v1/racks/..%2F..%2Fetc"} {
		if p := r.get(t, "/v1/racks/{rack}", target).problem(t, http.StatusNotFound, "not-found"); !strings.Contains(p.Hint, "/v1/racks") {
			t.Errorf("%s: hint %q", target, p.Hint)
		}
	}
	r.get(t, "/v1/racks/{rack}", "/v1/racks/dc1?limit=1").problem(t, http.StatusBadRequest, "bad-request")
}

// TestPagesCoverTheList: following next visits every entry once, with the filter kept.
func TestPagesCoverTheList(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	seen := map[string]int{}
	target, pages := "/v1/nodes?state=running&limit=4", 0
	for target != "" {
		var got struct {
			Total int    `json:"total"`
			Next  string `json:"next"`
			Nodes []struct {
				ID string `json:"id"`
			} `json:"nodes"`
		}
		r.get(t, "/v1/nodes", target).into(t, &got)
		for _, n := range got.Nodes {
			seen[n.ID]++
		}
		if got.Total != 11 {
			t.Errorf("%s: total %d, want the 11 that run", target, got.Total)
		}
		target = got.Next
		pages++
	}
	if len(seen) != 11 || pages != 3 || seen["w11.example.com:45454"] != 1 {
		t.Errorf("%d pages, saw %v", pages, seen)
	}
	var far struct {
		Nodes []any  `json:"nodes"`
		Next  string `json:"next"`
	}
	r.get(t, "/v1/nodes", "/v1/nodes?offset=500").into(t, &far)
	if len(far.Nodes) != 0 || far.Next != "" {
		t.Errorf("beyond the end: %+v", far)
	}
}

func TestApplicationFilters(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for query, want := range map[string][]model.AppID{
		"":                              {sorting, reading, finished},
		"?state=live":                   {sorting, reading},
		"?state=ended":                  {finished},
		"?state=FINISHED":               {finished},
		"?state=KILLED":                 nil,
		"?user=ann":                     {sorting, finished},
		"?user=ann&state=live":          {sorting},
		"?queue=root.default&limit=1":   {sorting},
		"?queue=root.other":             nil,
		"?type=mapreduce&offset=1":      {reading, finished},
		"?type=spark":                   nil,
		"?user=bob&queue=root.default&": {reading},
	} {
		var got struct {
			Applications []struct {
				ID model.AppID `json:"id"`
			} `json:"applications"`
		}
		r.get(t, "/v1/applications", "/v1/applications"+query).into(t, &got)
		var ids []model.AppID
		for _, a := range got.Applications {
			ids = append(ids, a.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func TestApplication(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var got struct {
		Application struct {
			Name      string          `json:"name"`
			Heavy     bool            `json:"shuffle_heavy"`
			MapOutput snapshot.Output `json:"map_output"`
			Plans     []model.Plan    `json:"plans"`
			Input     struct {
				Paths []string `json:"paths"`
			} `json:"input"`
		} `json:"application"`
	}
	r.get(t, "/v1/applications/{id}", "/v1/applications/"+string(sorting)).into(t, &got)
	a := got.Application
	if a.Name != "terasort" || !a.Heavy || a.MapOutput.ByRack["/dc1/rack1"] != 9*(model.GiB+model.GiB/8) || len(a.Plans) == 0 {
		t.Errorf("%+v", a)
	}
	p := r.get(t, "/v1/applications/{id}", "/v1/applications/application_1_0009").problem(t, http.StatusNotFound, "not-found")
	if !strings.Contains(p.Hint, "/v1/applications") {
		t.Errorf("hint %q", p.Hint)
	}
	if p := r.get(t, "/v1/applications/{id}", "/v1/applications/job_1_2").problem(t, http.StatusNotFound, "not-found"); !strings.Contains(p.Hint, "looks like") {
		t.Errorf("hint %q", p.Hint)
	}
}

// TestTraffic: matrices are square, in the order of racks, and what stays on a
// rack does not cross.
func TestTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.snap.Store(&snapshot.Snapshot{Seq: 9, At: start, Traffic: snapshot.Traffic{
		Racks: []model.RackID{"/a", "/b", "/c"},
		Bytes: map[snapshot.TrafficKind][][]float64{snapshot.TrafficShuffle: {{5, 7.9}, nil, {1}}},
	}})
	var got struct {
		Bytes map[string][][]int64 `json:"bytes"`
		Cross map[string]int64     `json:"cross_rack_bytes"`
	}
	r.get(t, "/v1/traffic", "/v1/traffic").into(t, &got)
	if diff := cmp.Diff([][]int64{{5, 7, 0}, {0, 0, 0}, {1, 0, 0}}, got.Bytes["shuffle"]); diff != "" {
		t.Errorf("shuffle (-want +got):\n%s", diff)
	}
	if got.Cross["shuffle"] != 8 || len(got.Bytes["write"]) != 3 {
		t.Errorf("%+v", got)
	}
	got.Bytes = nil
	r.get(t, "/v1/traffic", "/v1/traffic?kind=write").into(t, &got)
	if len(got.Bytes) != 1 {
		t.Errorf("kinds %v, want write alone", got.Bytes)
	}
}

// TestShadow: each policy's account, as the snapshot has it.
func TestShadow(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	want := []snapshot.PolicyAccount{
		{Policy: "nas", Decides: true, Since: start, Jobs: 2, Planned: 1, Recorded: snapshot.CrossRack{Shuffle: 30, MapRead: 12, Total: 42}, Wanted: snapshot.CrossRack{Shuffle: 20, Total: 20}, Saved: 25, Lost: 3,
			Recent: []snapshot.JobAccount{{App: "application_1_0001", Ended: start, Recorded: 30, Policy: 5, Least: 4}}},
		{Policy: "dawn", Skipped: 7, Recent: []snapshot.JobAccount{}},
	}
	guarded := snapshot.Guard{Enabled: true, Queues: []snapshot.GuardedQueue{
		{Queue: "root.q", Off: true, Until: start + 5, Trips: 2, Why: snapshot.GuardMeasured, Steered: 11, Unsteered: 12, Ran: 100, Uplink: 1, Stock: 2, CrossRack: 3, StockCrossRack: 4, Waited: 5, Predicted: -0.5, Measured: 0.25, Chance: 0.00005},
		{Queue: "root.r", Chance: 1},
	}}
	r.snap.Store(&snapshot.Snapshot{Seq: 9, At: start, Accounts: want, Guard: guarded})
	var got struct {
		Policies []snapshot.PolicyAccount
		Guard    snapshot.Guard
	}
	r.get(t, "/v1/shadow", "/v1/shadow").into(t, &got)
	if diff := cmp.Diff(want, got.Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(guarded, got.Guard); diff != "" {
		t.Errorf("guard (-want +got):\n%s", diff)
	}
}

// TestDecisions: the log is read in parts without losing or repeating any, and
// says how many are gone.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	snap := &snapshot.Snapshot{Seq: 9, At: start}
	for i := 5; i <= 11; i++ {
		id := sorting
		if i%2 == 0 {
			id = reading
		}
		snap.Decisions = append(snap.Decisions, model.Decision{Seq: uint64(i), At: start, Policy: policy, Plan: &model.Plan{App: id, Stage: model.StageMap, Rank: 1, Reason: model.ReasonNoInput}})
	}
	snap.Decisions = append(snap.Decisions, model.Decision{Seq: 12, Policy: policy, Placement: &model.Placement{App: sorting, Stage: model.StageMap, Node: "n:1", Reason: model.ReasonAnyMap}})
	r.snap.Store(snap)
	type log struct {
		Decisions []model.Decision `json:"decisions"`
		Next      uint64           `json:"next"`
		More      bool             `json:"more"`
		Oldest    uint64           `json:"oldest"`
		Missed    uint64           `json:"missed"`
	}
	read := func(query string) (seqs []uint64, l log) {
		r.get(t, "/v1/decisions", "/v1/decisions"+query).into(t, &l)
		for _, d := range l.Decisions {
			seqs = append(seqs, d.Seq)
		}
		return seqs, l
	}
	var all []uint64
	since, missed := uint64(2), uint64(0)
	for range 10 {
		seqs, l := read(fmt.Sprintf("?since=%d&limit=3", since))
		all = append(all, seqs...)
		since, missed = l.Next, missed+l.Missed
		if !l.More {
			break
		}
	}
	if diff := cmp.Diff([]uint64{5, 6, 7, 8, 9, 10, 11, 12}, all); diff != "" || missed != 2 || since != 12 {
		t.Errorf("missed %d, next %d (-want +got):\n%s", missed, since, diff)
	}
	if seqs, l := read("?since=12"); len(seqs) != 0 || l.Next != 12 || l.More || l.Missed != 0 || l.Oldest != 5 {
		t.Errorf("at the end: %v %+v", seqs, l)
	}
	if seqs, _ := read("?application=" + string(reading)); !slices.Equal(seqs, []uint64{6, 8, 10}) {
		t.Errorf("of one application: %v", seqs)
	}
	r.snap.Store(&snapshot.Snapshot{Seq: 10})
	if _, l := read("?since=3"); l.Next != 3 || l.Oldest != 0 || l.Missed != 0 {
		t.Errorf("an empty log: %+v", l)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Timeout = 50 * time.Millisecond })
	var got struct {
		Bytes model.Bytes `json:"bytes"`
		Total int         `json:"total"`
		Next  string      `json:"next"`
		Racks []struct {
			Rack   model.RackID `json:"rack"`
			Bytes  model.Bytes  `json:"bytes"`
			Blocks int          `json:"blocks"`
		} `json:"racks"`
		Blocks []model.Block `json:"blocks"`
	}
	r.get(t, "/v1/blocks", "/v1/blocks?path=/data/in&limit=3").into(t, &got)
	if got.Total != 4 || got.Bytes != 512*model.MiB || len(got.Blocks) != 3 || got.Next != "/v1/blocks?limit=3&offset=3&path=%2Fdata%2Fin" {
		t.Errorf("%+v", got)
	}
	if len(got.Racks) != 2 || got.Racks[0].Rack != "/dc1/rack2" || got.Racks[0].Blocks != 4 || got.Racks[0].Bytes != 512*model.MiB {
		t.Errorf("racks %+v: a block counts once on each of its racks", got.Racks)
	}
	if a := r.get(t, "/v1/blocks", "/v1/blocks?path=/empty"); a.status != http.StatusOK {
		t.Errorf("an empty directory: %d", a.status)
	}
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/none":   {http.StatusNotFound, "not-found"},
		"/secret": {http.StatusForbidden, "permission-denied"},
		"/bad[":   {http.StatusBadRequest, "bad-request"},
		"/broken": {http.StatusBadGateway, "name-node"},
		"/slow":   {http.StatusGatewayTimeout, "timeout"},
		"data":    {http.StatusBadRequest, "bad-request"},
		"":        {http.StatusBadRequest, "bad-request"},
	} {
		r.get(t, "/v1/blocks", "/v1/blocks?path="+path).problem(t, want.status, want.kind)
	}
	off := newRig(t, func(o *api.Options) { o.Blocks = nil })
	off.get(t, "/v1/blocks", "/v1/blocks?path=/data/in").problem(t, http.StatusBadGateway, "name-node")
}

// TestBadParameters: every wrong parameter is named, with what is wanted.
func TestBadParameters(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	prefs := "/v1/applications/" + string(sorting) + "/preferences"
	for _, tc := range []struct{ path, target, field, detail string }{
		{"/v1/nodes", "/v1/nodes?limit=0", "limit", "1 to 1000"},
		{"/v1/nodes", "/v1/nodes?limit=1001", "limit", "1 to 1000"},
		{"/v1/nodes", "/v1/nodes?offset=-1", "offset", "whole number"},
		{"/v1/nodes", "/v1/nodes?limit=1&limit=2", "limit", "2 times"},
		{"/v1/nodes", "/v1/nodes?sort=free", "sort", "want one of rack, state, limit, offset"},
		{"/v1/nodes", "/v1/nodes?rack=" + strings.Repeat("x", 5000), "rack", "longer"},
		{"/v1/racks", "/v1/racks?x=1", "x", "no parameters"},
		{"/v1/traffic", "/v1/traffic?kind=all", "kind", "shuffle, map_read, write"},
		{"/v1/applications", "/v1/applications?state=running", "state", "RUNNING"},
		{"/v1/decisions", "/v1/decisions?since=x", "since", "whole number"},
		{"/v1/blocks", "/v1/blocks", "path", "missing"},
		{"/v1/applications/{id}/preferences", prefs, "stage", "missing"},
		{"/v1/applications/{id}/preferences", prefs + "?stage=%00", "stage", "map, reduce"},
		{"/v1/applications/{id}/preferences", prefs + "?stage=map&limit=x", "limit", "1 to 1000"},
		{"/v1/applications/{id}/explain", "/v1/applications/" + string(sorting) + "/explain?stage=", "stage", "missing"},
	} {
		p := r.get(t, tc.path, tc.target).problem(t, http.StatusBadRequest, "bad-request")
		if len(p.Errors) == 0 || p.Errors[0].Field != tc.field || !strings.Contains(p.Errors[0].Detail, tc.detail) {
			t.Errorf("%.60s: %+v, want %s: …%s…", tc.target, p.Errors, tc.field, tc.detail)
		}
	}
	if p := r.get(t, "/v1/nodes", "/v1/nodes?limit=0&offset=x&y=1").problem(t, http.StatusBadRequest, "bad-request"); len(p.Errors) != 3 {
		t.Errorf("errors %+v, want all three", p.Errors)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	a := newRig(t, nil).get(t, "/", "/")
	for _, path := range []string{"/v1/racks", "POST /v1/placements", "/metrics", "/openapi.json"} {
		if !strings.Contains(string(a.body), path) {
			t.Errorf("no %s in the index:\n%s", path, a.body)
		}
	}
	if a := newRig(t, nil).get(t, "/metrics", "/metrics"); string(a.body) != "heddle_build_info 1\n" {
		t.Errorf("metrics: %s", a.body)
	}
}
