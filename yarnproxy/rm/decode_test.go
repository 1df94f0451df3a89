package rm_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/yarnproxy/rm"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "3.4.3", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// queues is what DecodeScheduler returns, in one value.
type queues struct {
	Scheduler string
	Queues    []model.Queue
}

// decoders are the package's decoders by the kind of answer they take.
func decoders() map[string]func([]byte) (any, error) {
	return map[string]func([]byte) (any, error){
		"info":  func(b []byte) (any, error) { return rm.DecodeInfo(b) },
		"nodes": func(b []byte) (any, error) { return rm.DecodeNodes(b) },
		"apps":  func(b []byte) (any, error) { return rm.DecodeApps(b) },
		"app": func(b []byte) (any, error) {
			app, asks, err := rm.DecodeApp(b)
			return struct {
				App  model.App
				Asks model.AsksFact
			}{app, asks}, err
		},
		"appattempts": func(b []byte) (any, error) { return rm.DecodeAttempts(b) },
		"containers":  func(b []byte) (any, error) { return rm.DecodeContainers(b) },
		"scheduler": func(b []byte) (any, error) {
			s, q, err := rm.DecodeScheduler(b)
			return queues{s, q}, err
		},
		"localities": func(b []byte) (any, error) { return rm.DecodeLocalities(b) },
	}
}

// TestRecorded compares what a real cluster's answers decode to with the
// golden files (go test -rewrite).
func TestRecorded(t *testing.T) {
	t.Parallel()
	for kind, names := range map[string][]string{
		"info":        {"info", "empty-info"},
		"nodes":       {"nodes", "nodes-fair", "nodes-with-LOST", "nodes-zeroNM-capacity", "nodes-states-LOST-none"},
		"apps":        {"apps", "apps-fair", "apps-RUNNING", "apps-states-ACCEPTED", "apps-none-match", "apps-zeroNM-capacity"},
		"app":         {"app-RUNNING", "app-RUNNING-mid", "app-ACCEPTED", "app-RUNNING-fair", "app-FINISHED", "app-KILLED", "app-FAILED-rejected"},
		"appattempts": {"app-ACCEPTED-appattempts", "app-RUNNING-appattempts", "app-FINISHED-appattempts"},
		"containers":  {"app-RUNNING-containers", "app-RUNNING-mid-containers", "app-FINISHED-containers"},
		"scheduler":   {"scheduler-capacity", "scheduler-fair", "scheduler-zeroNM-capacity", "scheduler-zeroNM-fair"},
	} {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got, err := decoders()[kind](recorded(t, name))
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name, got)
			})
		}
	}
}

func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "golden", name+".json")
	if *rewrite {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestRecordedByHand checks figures of the recordings that were read by eye,
// so that a wrong golden file does not go unseen.
func TestRecordedByHand(t *testing.T) {
	t.Parallel()
	info, err := rm.DecodeInfo(recorded(t, "info"))
	if diff := cmp.Diff(model.ClusterFact{Started: 1795215638925, Version: "3.4.3", HAState: "ACTIVE"}, info); err != nil || diff != "" {
		t.Errorf("info: error %v %s", err, diff)
	}
	nodes, err := rm.DecodeNodes(recorded(t, "nodes-with-LOST"))
	if err != nil || len(nodes.Nodes) != 6 {
		t.Fatalf("%d nodes, error %v", len(nodes.Nodes), err)
	}
	lost := model.Node{ID: "w23:45454", Host: "w23", Rack: "/rack2", State: model.NodeLost, Total: model.Resource{MemoryMiB: 1024, VCores: 4}}
	if diff := cmp.Diff(lost, nodes.Nodes[5]); diff != "" {
		t.Errorf("the lost node: %s", diff)
	}
	busy := model.Node{
		ID: "w11:45454", Host: "w11", Rack: "/rack1", State: model.NodeRunning, HTTPAddress: "w11:8042", Containers: 1,
		Total: model.Resource{MemoryMiB: 1024, VCores: 4}, Used: model.Resource{MemoryMiB: 1024, VCores: 1},
	}
	if diff := cmp.Diff(busy, nodes.Nodes[0]); diff != "" {
		t.Errorf("a running node: %s", diff)
	}
	one, err := rm.DecodeContainers(recorded(t, "app-FINISHED-containers"))
	want := []model.Container{{
		ID: "container_1795215638925_0021_01_000001", Node: "w32:45454", Priority: 0,
		Resource: model.Resource{MemoryMiB: 512, VCores: 1}, Started: 1795216318005,
	}}
	if diff := cmp.Diff(want, one); err != nil || diff != "" {
		t.Errorf("one container in place of a list: error %v %s", err, diff)
	}
	app, asks, err := rm.DecodeApp(recorded(t, "app-ACCEPTED"))
	if err != nil || app.State != model.AppAccepted || app.Queue != "root.default" || app.Submitted != 1795216317838 {
		t.Errorf("app %+v, error %v", app, err)
	}
	row := model.AskRow{RequestID: -1, ResourceName: "*", Capability: model.Resource{MemoryMiB: 512, VCores: 1}, Count: 1, RelaxLocality: true}
	if diff := cmp.Diff(model.AsksFact{App: "application_1795215638925_0021", Rows: []model.AskRow{row}}, asks); diff != "" {
		t.Errorf("the ask for the ApplicationMaster: %s", diff)
	}
	for _, name := range []string{"scheduler-capacity", "scheduler-fair"} {
		kind, queues, err := rm.DecodeScheduler(recorded(t, name))
		if err != nil || kind != strings.Replace(name, "scheduler-", "", 1)+"Scheduler" || len(queues) != 2 ||
			queues[0].ID != "root.batch" || queues[1].ID != "root.default" || queues[0].Share != 0.4 {
			t.Errorf("%s: %s %v, error %v", name, kind, queues, err)
		}
	}
	finished, _, err := rm.DecodeApp(recorded(t, "app-KILLED"))
	if err != nil || finished.State != model.AppKilled || finished.Containers != 0 || !finished.Allocated.IsZero() || finished.Finished == 0 {
		t.Errorf("killed: %+v, error %v: -1 is none", finished, err)
	}
}

// TestDialects holds answers in the forms of other versions.
func TestDialects(t *testing.T) {
	t.Parallel()
	app := model.App{ID: "application_1_0001", Name: "7", State: model.AppRunning, Queue: "default", Submitted: 9007199254740993}
	node := model.Node{ID: "w1:8041", Host: "w1", Rack: "/r", State: "SHUTTING_DOWN_SOMEHOW", Total: model.Resource{MemoryMiB: 3, VCores: 2}, Used: model.Resource{MemoryMiB: 1, VCores: 1}}
	container := model.Container{ID: "container_1_0001_01_000001", Node: "w1:8041", Priority: 20, Resource: model.Resource{MemoryMiB: 512, VCores: 1}}
	const containerText = `{"containerId":"container_1_0001_01_000001","assignedNodeId":"w1:8041","priority":"20","allocatedMB":"512","allocatedVCores":1,"containerState":"RUNNING"}`
	const nodeText = `{"id":"w1:8041","rack":"/r","state":"SHUTTING_DOWN_SOMEHOW","usedMemoryMB":"1","availMemoryMB":"2","usedVirtualCores":1,"availableVirtualCores":1,"nodeLabels":""}`
	const appText = `{"id":"application_1_0001","name":7,"state":"RUNNING","queue":"default","startedTime":"9007199254740993","runningContainers":"-1","allocatedMB":-1,"allocatedVCores":-1,"queueUsagePercentage":NaN,"resourceSecondsMap":{"entry":{"key":"a"},"entry":{"key":"b"}},"resourceRequests":null}`
	none, noApps := model.NodesFact{Nodes: []model.Node{}}, model.AppsFact{Apps: []model.App{}}
	tests := []struct {
		kind, body string
		want       any
	}{
		{"nodes", `{"nodes":null}`, none},
		{"nodes", `{"nodes":{}}`, none},
		{"nodes", `{"nodes":""}`, none},
		{"nodes", `{"nodes":{"node":[]}}`, none},
		{"nodes", `{"nodes":{"node":null}}`, none},
		{"nodes", `{}`, none},
		{"nodes", `{"nodes":{"node":` + nodeText + `}}`, model.NodesFact{Nodes: []model.Node{node}}},
		{"nodes", `{"nodes":{"node":[` + nodeText + `]}}`, model.NodesFact{Nodes: []model.Node{node}}},
		{"nodes", `{"nodes":{"node":[{"id":"w1:8041","nodeHostName":"w1"}]}}`, model.NodesFact{Nodes: []model.Node{{ID: "w1:8041", Host: "w1", Rack: "/default-rack"}}}},
		{"apps", `{"apps":null}`, noApps},
		{"apps", `{"apps":{}}`, noApps},
		{"apps", `{"apps":""}`, noApps},
		{"apps", `{}`, noApps},
		{"apps", `{"apps":{"app":` + appText + `}}`, model.AppsFact{Apps: []model.App{app}}},
		{"apps", `{"apps":{"app":[` + appText + `]}}`, model.AppsFact{Apps: []model.App{app}}},
		{"containers", `{}`, []model.Container{}},
		{"containers", `{"containers":null}`, []model.Container{}},
		{"containers", `{"containers":{}}`, []model.Container{}},
		{"containers", `{"container":""}`, []model.Container{}},
		{"containers", `{"container":[]}`, []model.Container{}},
		{"containers", `{"container":` + containerText + `}`, []model.Container{container}},
		{"containers", `{"container":[` + containerText + `]}`, []model.Container{container}},
		{"containers", `{"containers":{"container":` + containerText + `}}`, []model.Container{container}},
		{"containers", `{"containers":{"container":[` + containerText + `,{"containerId":"container_1_0001_01_000009","containerState":"COMPLETE"}]}}`, []model.Container{container}},
		{"appattempts", `{"appAttempts":{}}`, []rm.Attempt(nil)},
		{"appattempts", `{"appAttempts":{"appAttempt":{"id":"2","nodeId":"w1:8041","blacklistedNodes":"w2, w3.example.com, /rack1"}}}`, []rm.Attempt{{Number: 2, AMNode: "w1:8041", Blacklist: []string{"w2", "w3.example.com", "/rack1"}}}},
		{"appattempts", `{"appAttempts":{"appAttempt":[{"id":2},{"id":1}]}}`, []rm.Attempt{{Number: 1, Blacklist: []string{}}, {Number: 2, Blacklist: []string{}}}},
		{"localities", `{"beans":[]}`, (*model.LocalityCounts)(nil)},
		{"localities", `{"beans":[{"tag.Queue":"root.default","AggregateNodeLocalContainersAllocated":1}]}`, (*model.LocalityCounts)(nil)},
		{"localities", strings.Replace(string(recorded(t, "jmx-QueueMetrics-root-default")), `"root.default"`, `"root"`, 1), &model.LocalityCounts{NodeLocal: 176, RackLocal: 14, OffSwitch: 154}},
		// 2.x: no paths, and children in a bare list or alone.
		{"scheduler", `{"scheduler":{"schedulerInfo":{"type":"fifoScheduler","capacity":"NaN","qstate":"RUNNING"}}}`, queues{"fifoScheduler", []model.Queue{{ID: "default", Share: 1}}}},
		{
			"scheduler", `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[
			{"queueName":"a","absoluteCapacity":"25","queues":{"queue":{"queueName":"b","absoluteCapacity":NaN}}},
			{"type":"capacitySchedulerLeafQueueInfo","queueName":"c","absoluteCapacity":75.0}]}}}}`,
			queues{"capacityScheduler", []model.Queue{{ID: "root.a.b"}, {ID: "root.c", Share: 0.75}}},
		},
		{
			"scheduler", `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":[
			{"queueName":"root.a","clusterResources":{"memory":100},"steadyFairResources":{"memory":50},"childQueues":{"queueName":"root.a.b","clusterResources":{"memory":100},"steadyFairResources":{"memory":"20"}}},
			{"queueName":"root.c","clusterResources":{"memory":100},"steadyFairResources":{"memory":50}}]}}}}`,
			queues{"fairScheduler", []model.Queue{{ID: "root.a.b", Share: 0.2}, {ID: "root.c", Share: 0.5}}},
		},
	}
	for _, test := range tests {
		got, err := decoders()[test.kind]([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", test.body, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.body, diff)
		}
	}
}

func TestAskDialects(t *testing.T) {
	t.Parallel()
	_, got, err := rm.DecodeApp([]byte(`{"app":{"id":"application_1_0001","state":"RUNNING","resourceRequests":[
		{"capability":{"memory":1024,"virtualCores":2},"numContainers":3,"priority":{"priority":20},"relaxLocality":false,"resourceName":"/rack1"},
		{"capability":{"memory":"1024","vCores":"2"},"numContainers":"3","priority":"10","resourceName":"w1","allocationRequestId":"4"},
		{"capability":{"memory":1024,"vCores":2},"numContainers":0,"priority":10,"resourceName":"*"}]}}`))
	want := model.AsksFact{App: "application_1_0001", Rows: []model.AskRow{
		{Priority: 20, RequestID: -1, ResourceName: "/rack1", Capability: model.Resource{MemoryMiB: 1024, VCores: 2}, Count: 3},
		{Priority: 10, RequestID: 4, ResourceName: "w1", Capability: model.Resource{MemoryMiB: 1024, VCores: 2}, Count: 3, RelaxLocality: true},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestNotAnAnswer: what is not an answer is an error, never an empty cluster.
func TestNotAnAnswer(t *testing.T) {
	t.Parallel()
	remote := string(recorded(t, "app-unknown-404"))
	for kind, bodies := range map[string][]string{
		"info":        {`{}`, `{"clusterInfo":{}}`, `{"clusterInfo":{"startedOn":"x"}}`, remote},
		"nodes":       {remote, `{"nodes":[{"id":"w1:1"}]}`, `{"nodes":{"node":[{"rack":"/r"}]}}`, `{"nodes":{"node":[{"id":"w1:1","usedMemoryMB":"much"}]}}`, `{"apps":{}}`},
		"apps":        {remote, `{"apps":"x"}`, `{"apps":{"app":[{"name":"x"}]}}`, `{"apps":{"app":[null]}}`, `{"nodes":{}}`},
		"app":         {`{}`, remote, `{"app":null}`, `{"app":{"state":"RUNNING"}}`, `{"app":{"id":"application_1_0001","resourceRequests":[{"numContainers":1}]}}`, `{"app":{"id":"a","resourceRequests":[{"priority":"high"}]}}`},
		"appattempts": {remote, `{"appAttempts":{"appAttempt":[{"nodeId":"w1"}]}}`},
		"containers":  {remote, `{"container":[{"priority":"1"}]}`, `{"containers":7}`},
		"scheduler":   {`{}`, remote, `{"scheduler":{"schedulerInfo":[]}}`, `{"scheduler":{"schedulerInfo":{"queues":{"queue":[7]}}}}`, `{"scheduler":{"schedulerInfo":{"queueName":"r","queues":` + strings.Repeat(`{"queue":{"queueName":"q","queues":`, 40) + `null` + strings.Repeat(`}}`, 40) + `}}}`},
		"localities":  {`{"beans":[7]}`},
	} {
		for _, body := range append(bodies, ``, `[]`, `"text"`, `{"`, `<html></html>`) {
			if got, err := decoders()[kind]([]byte(body)); err == nil {
				t.Errorf("%s: %s was taken as %+v", kind, body, got)
			}
		}
	}
}
