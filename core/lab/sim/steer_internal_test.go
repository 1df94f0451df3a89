package sim

import (
	"testing"

	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy/builtin"
)

// TestHeadroomOfTheScheduler: as in the service the relay goes by the headroom of CapacityScheduler's answers, and not by
// that of FairScheduler's, whichever order that has.
func TestHeadroomOfTheScheduler(t *testing.T) {
	t.Parallel()
	for scheduler, soft := range map[string]bool{"capacity": false, "fair": true, "drf": true} {
		pol, err := builtin.Registry().New(scheduler, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(DefaultParams(), Uniform(2, 1, 1, 1e6, 1e6), &workload.Workload{}, scheduler, pol)
		if err != nil {
			t.Fatal(err)
		}
		s.Steer(Steering{Name: scheduler, Policy: pol, Every: model.Second})
		s.jobs.steering.readSite(s.state.View())
		if got := s.jobs.steering.site.SoftHeadroom; got != soft {
			t.Errorf("%s: soft headroom %t, want %t", scheduler, got, soft)
		}
	}
}
