package frontier

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/sim"
	"heddle/core/model"
)

// At any time one node is lost, on each rack in turn; racks are lost every hour.
func TestLosses(t *testing.T) {
	t.Parallel()
	racks := []sim.Rack{{Nodes: 2}, {Nodes: 1}}
	const minute = model.Time(model.Minute)
	want := []sim.Loss{
		{Rack: 1, Node: 1, At: 0, For: lossFor}, {Rack: 2, Node: 1, At: 10 * minute, For: lossFor}, {Rack: 1, Node: 2, At: 20 * minute, For: lossFor},
		{Rack: 2, Node: 1, At: 30 * minute, For: lossFor}, {Rack: 1, Node: 1, At: 40 * minute, For: lossFor},
	}
	if diff := cmp.Diff(want, nodeLosses(41*model.Minute, racks)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	want = []sim.Loss{{Rack: 1, At: 10 * minute, For: lossFor}, {Rack: 2, At: 70 * minute, For: lossFor}, {Rack: 1, At: 130 * minute, For: lossFor}}
	if diff := cmp.Diff(want, rackLosses(131*model.Minute, racks)); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if len(nodeLosses(leastLosses, racks)) != 3 || len(rackLosses(leastLosses, racks)) != 1 {
		t.Error("a short workload loses nothing")
	}
}

// A job is one of those with more if its user had more than its share while it lived.
func TestNewPerJob(t *testing.T) {
	t.Parallel()
	var r sim.Run
	r.Responses = []float64{5, 6, 7}
	r.JobShares = []sim.JobShare{{Had: 10, Share: 10}, {Had: 11, Share: 10}, {Had: 0, Share: 10}}
	want := &PerJob{JCT: []float64{5, 6, 7}, More: []int{1}}
	if diff := cmp.Diff(want, newPerJob(&r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
