package sim

import (
	"testing"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Tez asks for tasks that gather in proportion to the least part of a source that
// is done, between a quarter and three quarters; over other edges when all is done.
func TestDue(t *testing.T) {
	t.Parallel()
	p := DefaultParams()
	for _, tc := range []struct {
		name string
		kind model.EdgeKind
		done []int // of 8 tasks, by source
		want int   // of 10
	}{
		{"no source", model.ScatterGather, nil, 10},
		{"below a quarter", model.ScatterGather, []int{1}, 0},
		{"half", model.ScatterGather, []int{4}, 5},
		{"rounded up", model.ScatterGather, []int{3}, 3},
		{"three quarters", model.ScatterGather, []int{6}, 10},
		{"the slower of two", model.ScatterGather, []int{8, 3}, 3},
		{"a broadcast that is not whole", model.Broadcast, []int{7}, 0},
		{"a broadcast", model.Broadcast, []int{8}, 10},
		{"one to one", model.OneToOne, []int{7}, 0},
	} {
		reader := stage{spec: &workload.Stage{}, tasks: tasks{total: 10}}
		for _, n := range tc.done {
			connect(&stage{tasks: tasks{total: 8, completed: n}}, &reader, tc.kind)
		}
		if got := reader.scheduledByTez(&p); got != tc.want {
			t.Errorf("%s: %d tasks, want %d", tc.name, got, tc.want)
		}
	}
}
