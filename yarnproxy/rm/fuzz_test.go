package rm_test

import (
	"testing"

	"heddle/yarnproxy/rm"
)

// Each fuzz target starts from answers of a real cluster and of other
// dialects, and checks what every receiver relies on: no panic, ids present,
// counts that are not negative.

func seed(f *testing.F, names []string, more ...string) {
	f.Helper()
	for _, name := range names {
		f.Add(recorded(f, name))
	}
	for _, body := range more {
		f.Add([]byte(body))
	}
}

func FuzzDecodeInfo(f *testing.F) {
	seed(f, []string{"info", "empty-info"}, `{"clusterInfo":{"startedOn":"1"}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		if fact, err := rm.DecodeInfo(body); err == nil && fact.Started <= 0 {
			t.Errorf("%+v", fact)
		}
	})
}

func FuzzDecodeNodes(f *testing.F) {
	seed(f, []string{"nodes-with-LOST", "nodes-zeroNM-capacity"}, `{"nodes":null}`, `{"nodes":{"node":{"id":"a:1","usedMemoryMB":"NaN"}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		fact, err := rm.DecodeNodes(body)
		if err != nil {
			return
		}
		for _, n := range fact.Nodes {
			if n.ID == "" || n.Rack == "" || n.Containers < 0 {
				t.Errorf("%+v", n)
			}
		}
	})
}

func FuzzDecodeApps(f *testing.F) {
	seed(f, []string{"apps-states-ACCEPTED", "apps-none-match"}, `{"apps":null}`, `{"apps":{"app":{"id":"a","runningContainers":-1,"x":NaN}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		fact, err := rm.DecodeApps(body)
		if err != nil {
			return
		}
		for _, a := range fact.Apps {
			if a.ID == "" || a.Containers < 0 || a.Allocated.MemoryMiB < 0 || a.Submitted < 0 {
				t.Errorf("%+v", a)
			}
		}
	})
}

func FuzzDecodeApp(f *testing.F) {
	seed(f, []string{"app-RUNNING", "app-ACCEPTED", "app-KILLED", "app-FAILED-rejected"},
		`{"app":{"id":"a","resourceRequests":{"priority":{"priority":1},"numContainers":"2","resourceName":"*"}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		app, asks, err := rm.DecodeApp(body)
		if err != nil {
			return
		}
		if app.ID == "" || asks.App != app.ID {
			t.Errorf("%+v %+v", app, asks)
		}
		for _, r := range asks.Rows {
			if r.Count <= 0 || r.ResourceName == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

func FuzzDecodeAttempts(f *testing.F) {
	seed(f, []string{"app-RUNNING-appattempts", "app-ACCEPTED-appattempts"}, `{"appAttempts":{"appAttempt":{"id":"1"}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		list, _ := rm.DecodeAttempts(body)
		for i, a := range list {
			if a.Number <= 0 || i > 0 && a.Number < list[i-1].Number {
				t.Errorf("%+v", list)
			}
		}
	})
}

func FuzzDecodeContainers(f *testing.F) {
	seed(f, []string{"app-RUNNING-containers", "app-FINISHED-containers"}, `{"containers":{"container":{"containerId":"c"}}}`, `{"container":""}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		list, _ := rm.DecodeContainers(body)
		for _, c := range list {
			if c.ID == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzDecodeScheduler(f *testing.F) {
	seed(f, []string{"scheduler-capacity", "scheduler-fair"},
		`{"scheduler":{"schedulerInfo":{"rootQueue":{"queueName":"root","childQueues":[{"queueName":"root.a","clusterResources":""}]}}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, list, err := rm.DecodeScheduler(body)
		if err != nil {
			return
		}
		for _, q := range list {
			if q.ID == "" || !(q.Share >= 0 && q.Share <= 1) {
				t.Errorf("%+v", q)
			}
		}
	})
}

func FuzzDecodeLocalities(f *testing.F) {
	seed(f, []string{"jmx-QueueMetrics-root-default"}, `{"beans":{"tag.Queue":"root","AggregateNodeLocalContainersAllocated":"1"}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		if counts, err := rm.DecodeLocalities(body); err != nil && counts != nil {
			t.Errorf("%+v, error %v", counts, err)
		}
	})
}
