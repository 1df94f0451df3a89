package fifo_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/policy/fifo"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, fifo.New)
}

// The line is kept: no task of a job is started on an offer that a job before it
// could have used.
func TestLineIsKept(t *testing.T) {
	t.Parallel()
	overtaken := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		scene := policytest.Generate(draw, policytest.DefaultShape())
		for i := range scene.Apps {
			scene.Apps[i].Priority = draw(0, 2)
		}
		p, err := fifo.New([]byte(`{"maximum-offswitch-assignments":0}`))
		if err != nil {
			t.Fatal(err)
		}
		s := policytest.NewSession(p, scene)
		for range 10 {
			n := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
			for _, placed := range s.Ask(n, "") {
				v := s.View()
				mine := v.Job(placed.App)
				for _, j := range v.Jobs() {
					before := j.Priority > mine.Priority || (j.Priority == mine.Priority && j.Submitted < mine.Submitted)
					free := v.Node(n).Free
					fits := (j.Map.Pending > 0 && v.Fits(j.Map, free)) || (j.ReducesDue() && j.Reduce.Pending > 0 && v.Fits(j.Reduce, free))
					if before && fits && !j.Blacklisted(v.Node(n).Host) {
						t.Fatalf("%s is served before %s", mine.ID, j.ID)
					}
					if before {
						overtaken++
					}
				}
				s.Assume(placed)
			}
		}
	})
	if overtaken == 0 {
		t.Error("no job was ever behind another")
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"maximum-offswitch-assignments":-1}`, `{"maximum-offswitch":1}`} {
		if p, err := fifo.New([]byte(raw)); err == nil || !strings.Contains(err.Error(), "maximum-offswitch") || p != nil {
			t.Errorf("%s: %v, %v", raw, p, err)
		}
	}
}
