package pseudonym_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/pseudonym"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/trace"
)

// rewrite returns facts with pseudonyms.
func rewrite(t *testing.T, facts ...model.Fact) []model.Fact {
	t.Helper()
	tp := &tape{Header: trace.Header{Policy: "fifo"}}
	for _, f := range facts {
		tp.Records = append(tp.Records, trace.Record{Observation: &model.Observation{Source: model.SourceRM, Fact: f}})
	}
	out, _, err := tp.pseudonymized()
	if err != nil {
		t.Fatal(err)
	}
	var got []model.Fact
	for _, r := range out.Records {
		got = append(got, r.Observation.Fact)
	}
	return got
}

// What means something to the core or to Hadoop stays.
func TestKept(t *testing.T) {
	t.Parallel()
	unknown := model.Unknown
	same := []model.Fact{
		model.ClusterFact{Started: 5, Version: "3.4.3", HAState: "ACTIVE", Scheduler: "fairScheduler", Queues: []model.Queue{{ID: "root", Share: 1}}},
		model.NodesFact{Nodes: []model.Node{{Rack: model.DefaultRack, State: model.NodeDecommissioning}}},
		model.AppsFact{Apps: []model.App{{ID: "application_1789000000000_0001", Type: "SPARK", State: model.AppFinished, Submitted: 7}}},
		model.AsksFact{App: "application_1_1", Rows: []model.AskRow{
			{ResourceName: model.AnyName, Count: 3, Stage: model.StageMap}, {ResourceName: string(model.DefaultRack)},
		}},
		model.ContainersFact{App: "application_1_1", Containers: []model.Container{{ID: "container_e17_1789_0001_01_000001"}}},
		model.JobConfFact{App: "application_1_1", Inputs: []string{"hdfs:///", "/", "../.", "file://"}},
		model.TasksFact{App: "application_1_1", Tasks: []model.Task{{Stage: model.StageReduce, State: model.TaskFailed, Input: unknown}}},
		model.UplinkFact{Method: "shuffle-jmx", Samples: []model.UplinkSample{{Rack: model.DefaultRack, Out: 1.5}}},
		model.GraphFact{App: "application_1_1", Edges: []model.GraphEdge{{Kind: model.Broadcast}}},
		model.PollFact{Result: model.PollStandby, Error: "text removed: timeout", Requests: 3},
		model.RoundFact{App: "application_1_1"},
		model.SampleFact{},
		model.PolicyFact{Policy: "capacity", Params: `{"queues":{"root":{"capacity":50}}}`},
	}
	if diff := cmp.Diff(same, rewrite(t, same...)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

// What is more than an id, a version or a word is replaced or refused.
func TestNotKept(t *testing.T) {
	t.Parallel()
	got := rewrite(t,
		model.ClusterFact{Version: "3.1.1.7-acme", HAState: "acme", Scheduler: "com.acme.Scheduler", Address: "http://acme:8088/acme"},
		model.AppsFact{Apps: []model.App{{Type: "ACME", State: "ACME", Name: "17"}}},
		model.PollFact{Error: "acme"},
	)
	conf := rewrite(t, model.JobConfFact{App: "application_1_1", Output: "hdfs://:1789/acme"})[0].(model.JobConfFact)
	if strings.Contains(conf.Output, ":1789") {
		t.Errorf("a port without a host is kept: %q", conf.Output)
	}
	c, a := got[0].(model.ClusterFact), got[1].(model.AppsFact).Apps[0]
	if c.Version != "3.1.1.7" || a.Name != "#" || got[2].(model.PollFact).Error != "text removed" {
		t.Errorf("%+v", got)
	}
	form := regexp.MustCompile(`^(x\d-[0-9a-f]{8}|http://h1-[0-9a-f]{8}:8088/p1-[0-9a-f]{8})$`)
	for _, s := range []string{c.HAState, c.Scheduler, c.Address, a.Type, string(a.State)} {
		if !form.MatchString(s) {
			t.Errorf("%q", s)
		}
	}
	for _, f := range []model.Fact{
		model.RoundFact{App: "application_acme_1"}, model.RoundFact{App: "acme"}, model.RoundFact{App: "application_1_1_1"}, model.RoundFact{App: "application_1_"},
		model.ContainersFact{Containers: []model.Container{{ID: "container_acme_1_1_1_1"}}},
		model.ContainersFact{Containers: []model.Container{{ID: "container_e_1_1_1_1"}}},
		model.ContainersFact{Containers: []model.Container{{ID: "1_1_1_1"}}},
		model.PolicyFact{Policy: "acme"}, model.PolicyFact{Policy: "fifo", Params: `{"acme":1}`},
	} {
		err := pseudonym.NewNames().Add(&trace.Record{Observation: &model.Observation{Fact: f}})
		if err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// Nodes keep the order of their ids where the same hosts are also named without a domain. Where
// some nodes have a domain and others none, there may be no such pseudonyms.
func TestNodeOrder(t *testing.T) {
	t.Parallel()
	nodes := func(ids ...model.NodeID) model.NodesFact {
		f := model.NodesFact{}
		for _, id := range ids {
			host, _, _ := strings.Cut(string(id), ":")
			f.Nodes = append(f.Nodes, model.Node{ID: id, Host: host})
		}
		return f
	}
	bare := model.DataNodesFact{DataNodes: []model.DataNode{{Host: "w1"}, {Host: "w10"}}} // as "w1:" is after "w10."
	for _, ids := range [][]model.NodeID{
		{"w1.lab:1", "w10.lab:1", "w2.lab:1"},
		{"10.0.0.1:1", "10.0.0.10:1", "10.0.0.2:1"},
		{"fe80::1:2:8041", "fe80::1:8041"},
		{"a-b:1", "a.b:1", "a:1", "a:10", "ab:1"},
	} {
		slices.Sort(ids)
		got := rewrite(t, nodes(ids...), bare)[0].(model.NodesFact)
		if !slices.IsSortedFunc(got.Nodes, func(a, b model.Node) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
			t.Errorf("%v: %+v", ids, got.Nodes)
		}
	}
	tp := &tape{Header: trace.Header{Policy: "fifo"}, Records: []trace.Record{
		{Observation: &model.Observation{Source: model.SourceRM, Fact: nodes("w1.lab:1", "w10.lab:1", "w1:1")}},
	}}
	var order *pseudonym.OrderError
	if _, _, err := tp.pseudonymized(); !errors.As(err, &order) || order.A != "w10.lab:1" || order.B != "w1:1" {
		t.Errorf("%v", err)
	}
}

// Users of long names have no history of jobs, with and without pseudonyms; job names are
// found again as they are.
func TestHistoryKeys(t *testing.T) {
	t.Parallel()
	long := model.UserID(strings.Repeat("u", 257))
	got := rewrite(t, model.HistoryFact{Jobs: []model.JobRuns{
		{User: long, Name: "etl"}, {User: long[1:], Name: "etl #"}, {User: "u", Name: "etl 2024-01-05"}, {User: "u", Name: "sort"},
	}})[0].(model.HistoryFact).Jobs
	if shuffle.KeyOf(got[0].User, got[0].Name) != (shuffle.JobKey{}) {
		t.Errorf("%+v has a key", got[0])
	}
	for _, j := range got[1:] {
		if k := shuffle.KeyOf(j.User, j.Name); k.Name != j.Name || k.User != j.User {
			t.Errorf("the key of %+v is %+v", j, k)
		}
	}
	if got[1].Name != got[2].Name || got[0].Name == got[1].Name || got[2].Name == got[3].Name {
		t.Errorf("%+v", got)
	}
}

// A name that was not collected is an error.
func TestTableIsOfARecording(t *testing.T) {
	t.Parallel()
	table, err := pseudonym.NewNames().Table([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	r := trace.Record{Observation: &model.Observation{Source: model.SourceRM, Fact: model.BlocksFact{Path: "/a"}}}
	if err := table.Record(&r); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
	if n := len(table.Counts()); n != 0 {
		t.Errorf("%d kinds", n)
	}
}
