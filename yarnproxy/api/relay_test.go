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
	"heddle/yarnproxy/api"
)

// relayAnswer is what the tests read of GET /v1/relay.
type relayAnswer struct {
	Total       int                   `json:"total"`
	Next        string                `json:"next"`
	AtMS        model.Time            `json:"at_ms"`
	AgeMS       int64                 `json:"relay_age_ms"`
	Enforcing   bool                  `json:"enforcing"`
	Listeners   []model.RelayListener `json:"listeners"`
	Connections int                   `json:"connections"`
	Blind       int                   `json:"blind_connections"`
	Counts      model.RelayCounts     `json:"counts"`
	Attempts    []relayAttempt        `json:"attempts"`
}

type relayAttempt struct {
	App     model.AppID `json:"application"`
	Attempt int         `json:"attempt"`
	Keys    []struct {
		model.RelayKey
		AskedRows int    `json:"asked_rows"`
		SentRows  int    `json:"sent_rows"`
		Text      string `json:"text"`
	} `json:"keys"`
}

func askRow(name string, count int, relax bool) model.AskRow {
	return model.AskRow{Priority: 10, RequestID: -1, ResourceName: name, Capability: model.Resource{MemoryMiB: 1024, VCores: 1}, Count: count, RelaxLocality: relax}
}

// steering is a relay that pins the reduces of one application and passes the
// asks of two others.
func steering() *model.Relay {
	pinned := model.RelayKey{
		Priority: 10, RequestID: -1, Stage: model.StageReduce, Asked: []model.AskRow{askRow("*", 8, true)},
		Sent:   []model.AskRow{askRow("w12.example.com", 8, true), askRow("/dc1/rack1", 8, true), askRow("*", 8, false), askRow("w11.example.com", 8, true)},
		Action: model.ActionPin, Since: start - 5000, Deadline: start + 25_000, Granted: map[model.RackID]int{"/dc1/rack1": 2}, Reason: model.ReasonMapOutput,
	}
	passed := model.RelayKey{Priority: 20, RequestID: -1, Stage: model.StageMap, Asked: []model.AskRow{askRow("*", 1, true)}, Sent: []model.AskRow{askRow("*", 1, true)}, Cause: model.PassNoPlan}
	return &model.Relay{
		At: start, Enforcing: true, Listeners: []model.RelayListener{{RM: "rm1", Address: ":8030", Upstream: "rm1:8030"}}, Connections: 3, Blind: 1,
		Attempts: []model.RelayAttempt{
			{App: sorting, Attempt: 1, Type: "MAPREDUCE", Connected: true, LastCall: start - 300, Response: 7, Keys: []model.RelayKey{pinned, passed}},
			{App: sorting, Attempt: 2, Type: "MAPREDUCE"},
			{App: finished, Attempt: 1, Type: "SPARK", Keys: []model.RelayKey{{RequestID: -1, Cause: model.PassType}}},
		},
		Counts: model.RelayCounts{Accepted: 5, Allocates: 40, Rewritten: map[model.Action]int64{model.ActionPin: 4}, Passed: map[model.PassCause]int64{model.PassNoPlan: 9}, Seconds: 0.5},
	}
}

func withRelay(r *model.Relay) func(*api.Options) {
	return func(o *api.Options) {
		o.Relay = func(_ context.Context, app model.AppID, offset, limit int) (*model.Relay, error) {
			of := *r
			of.Attempts = slices.DeleteFunc(slices.Clone(r.Attempts), func(a model.RelayAttempt) bool { return app != "" && a.App != app })
			of.Total = len(of.Attempts)
			from := min(offset, of.Total)
			of.Attempts = of.Attempts[from:min(from+limit, of.Total)]
			return &of, nil
		}
	}
}

// TestRelay: what the relay publishes is answered as it is, with every action
// and cause counted, rows in the order people read them, and words.
func TestRelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, withRelay(steering()))
	r.later(40 * time.Second) // too old to decide on, not to look at
	a := r.get(t, "/v1/relay", "/v1/relay")
	if a.status != http.StatusOK || a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d, headers %v: it is not of the snapshot, so it has no ETag of it", a.status, a.header)
	}
	var got relayAnswer
	a.into(t, &got)
	if !got.Enforcing || got.AtMS != start || got.AgeMS != 40_000 || got.Connections != 3 || got.Blind != 1 || got.Total != 3 || got.Next != "" || got.Listeners[0].Upstream != "rm1:8030" {
		t.Errorf("%+v", got)
	}
	if c := got.Counts; len(c.Rewritten) != len(model.Actions()) || len(c.Passed) != len(model.PassCauses()) || c.Rewritten[model.ActionPin] != 4 || c.Passed[model.PassNoPlan] != 9 || c.Accepted != 5 {
		t.Errorf("counts %+v", c)
	}
	k := got.Attempts[0].Keys[0]
	var names []string
	for _, row := range k.Sent {
		names = append(names, fmt.Sprint(row.ResourceName, " ", row.Count, " ", row.RelaxLocality))
	}
	if diff := cmp.Diff([]string{"* 8 false", "/dc1/rack1 8 true", "w11.example.com 8 true", "w12.example.com 8 true"}, names); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if k.AskedRows != 1 || k.SentRows != 4 || k.Action != model.ActionPin || k.Deadline != start+25_000 || k.Granted["/dc1/rack1"] != 2 ||
		!strings.Contains(k.Text, "until the deadline") || !strings.Contains(k.Text, "in proportion to the map output") {
		t.Errorf("%+v", k)
	}
	if text := got.Attempts[0].Keys[1].Text; text != "Passed as asked: there is no plan for it, or one that prefers no rack." {
		t.Errorf("text %q", text)
	}
}

// TestRelayPages: the filter and the limit hold, and a wrong parameter is named.
func TestRelayPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, withRelay(steering()))
	seen := map[string]int{}
	for target := "/v1/relay?limit=1"; target != ""; {
		var got relayAnswer
		r.get(t, "/v1/relay", target).into(t, &got)
		for _, a := range got.Attempts {
			seen[fmt.Sprint(a.App, a.Attempt)]++
		}
		if len(got.Attempts) != 1 || got.Total != 3 {
			t.Fatalf("%s: %+v", target, got)
		}
		target = got.Next
	}
	if len(seen) != 3 {
		t.Errorf("the pages had %v", seen)
	}
	for app, want := range map[model.AppID]int{sorting: 2, finished: 1, reading: 0} {
		var got relayAnswer
		r.get(t, "/v1/relay", "/v1/relay?application="+string(app)).into(t, &got)
		if got.Total != want || len(got.Attempts) != want {
			t.Errorf("%s: %d attempts, total %d, want %d", app, len(got.Attempts), got.Total, want)
		}
	}
	for target, field := range map[string]string{"limit=201": "limit", "offset=-1": "offset", "stage=map": "stage"} {
		p := r.get(t, "/v1/relay", "/v1/relay?"+target).problem(t, http.StatusBadRequest, "bad-request")
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", target, p)
		}
	}
}

// TestRelayRowsAreBounded: of an ask with a row for every host the first rows
// are shown, and how many there are.
func TestRelayRowsAreBounded(t *testing.T) {
	t.Parallel()
	var rows []model.AskRow
	for i := range 3 * api.ShownRows {
		rows = append(rows, askRow(fmt.Sprintf("w%04d.example.com", i), 1, true))
	}
	rows = append(rows, askRow("/dc1/rack2", 9, true), askRow("*", 9, false))
	r := newRig(t, withRelay(&model.Relay{Attempts: []model.RelayAttempt{{App: sorting, Attempt: 1, Keys: []model.RelayKey{{Asked: rows, Sent: rows}}}}}))
	var got relayAnswer
	r.get(t, "/v1/relay", "/v1/relay").into(t, &got)
	k := got.Attempts[0].Keys[0]
	if len(k.Sent) != api.ShownRows || len(k.Asked) != api.ShownRows || k.SentRows != len(rows) || k.AskedRows != len(rows) || k.Sent[0].ResourceName != "*" || k.Sent[1].ResourceName != "/dc1/rack2" {
		t.Errorf("%d of %d rows, first %+v", len(k.Sent), k.SentRows, k.Sent[:2])
	}
	if rows[0].ResourceName != "w0000.example.com" {
		t.Error("what the relay published was put into another order")
	}
}

// TestNoRelay: without a relay there is nothing to see, and it says why.
func TestNoRelay(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Options){"none": nil} {
		r := newRig(t, change)
		if p := r.get(t, "/v1/relay", "/v1/relay").problem(t, http.StatusNotFound, "no-relay"); !strings.Contains(p.Detail, "enforce") || !strings.Contains(p.Hint, "relay") {
			t.Errorf("%s: %+v", name, p)
		}
		a := r.get(t, explainPath, "/v1/applications/"+string(sorting)+"/explain")
		if strings.Contains(string(a.body), `"relay"`) || a.header.Get("ETag") == "" {
			t.Errorf("%s: explain %v %s", name, a.header, a.body)
		}
	}
}

// TestRelayNotLinked: a relay that does not answer is said, and explanations stand without it.
func TestRelayNotLinked(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) {
		o.Relay = func(context.Context, model.AppID, int, int) (*model.Relay, error) {
			return nil, errors.New("nobody is there")
		}
	})
	if p := r.get(t, "/v1/relay", "/v1/relay").problem(t, http.StatusBadGateway, "relay-not-linked"); p.Detail != "nobody is there" || !strings.Contains(p.Hint, "heddle relay") {
		t.Errorf("%+v", p)
	}
	a := r.get(t, explainPath, "/v1/applications/"+string(sorting)+"/explain")
	if a.status != http.StatusOK || !strings.Contains(string(a.body), `"problem":"nobody is there"`) || a.header.Get("ETag") != "" {
		t.Errorf("explain %d %v %s", a.status, a.header, a.body)
	}
}

// TestExplainRelay: an explanation has what the relay does about the stage, is
// never 304 while it moves, and stands without a plan if the relay knows why.
func TestExplainRelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, withRelay(steering()))
	type explained struct {
		Stages []struct {
			Stage string `json:"stage"`
		} `json:"stages"`
		Relay struct {
			AtMS      model.Time     `json:"at_ms"`
			Enforcing bool           `json:"enforcing"`
			Attempts  []relayAttempt `json:"attempts"`
		} `json:"relay"`
	}
	explain := func(app model.AppID, query string) (e explained) {
		t.Helper()
		a := r.get(t, explainPath, "/v1/applications/"+string(app)+"/explain"+query)
		if a.status != http.StatusOK || a.header.Get("ETag") != "" {
			t.Fatalf("%s%s: %d, ETag %q: %s", app, query, a.status, a.header.Get("ETag"), a.body)
		}
		a.into(t, &e)
		return e
	}
	if e := explain(sorting, ""); !e.Relay.Enforcing || len(e.Relay.Attempts) != 2 || len(e.Relay.Attempts[0].Keys) != 2 || e.Relay.Attempts[0].Keys[0].Sent[0].ResourceName != "*" {
		t.Errorf("%+v", e.Relay)
	}
	if e := explain(sorting, "?stage=reduce"); len(e.Relay.Attempts) != 1 || len(e.Relay.Attempts[0].Keys) != 1 || e.Relay.Attempts[0].Keys[0].Action != model.ActionPin {
		t.Errorf("of one stage: %+v", e.Relay)
	}
	if e := explain(reading, ""); len(e.Relay.Attempts) != 0 || len(e.Stages) == 0 {
		t.Errorf("none of its calls passed: %+v", e)
	}
	if e := explain(finished, ""); len(e.Stages) != 0 || !strings.Contains(e.Relay.Attempts[0].Keys[0].Text, "no rule of the configuration") {
		t.Errorf("without a plan: %+v", e)
	}
	r.get(t, explainPath, "/v1/applications/"+string(finished)+"/explain?stage=map").problem(t, http.StatusNotFound, "no-plan")
}

// TestRelayWords: every action and every cause has a text and is in the document.
func TestRelayWords(t *testing.T) {
	t.Parallel()
	actions, causes := api.RelayTexts()
	for _, a := range model.Actions() {
		if actions[a] == "" {
			t.Errorf("action %s has no text", a)
		}
	}
	for _, c := range model.PassCauses() {
		if !strings.HasPrefix(causes[c], "Passed as ") {
			t.Errorf("cause %s has the text %q", c, causes[c])
		}
	}
	for schema, want := range map[string][]string{"RelayAction": strs(model.Actions()), "RelayCause": strs(model.PassCauses())} {
		var enum []string
		for _, v := range spec(t).Components.Schemas[schema].Value.Enum {
			enum = append(enum, v.(string))
		}
		if diff := cmp.Diff(want, enum); diff != "" {
			t.Errorf("%s (-code +document):\n%s", schema, diff)
		}
	}
}
