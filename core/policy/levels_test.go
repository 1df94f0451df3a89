package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// However many jobs an offer is tried with, each is asked at the locality its maps have.
func TestLocalityWaitsAskAtTheLocality(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shape := policytest.DefaultShape()
		shape.Apps = 12
		scene := policytest.Generate(func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }, shape)
		v := scene.Cluster().View()
		var at model.Locality
		waits := policy.NewLocalityWaits(func(_ *policy.Input, _ *policy.Wait, l model.Locality) bool {
			at = l
			return true
		})
		for _, n := range v.Nodes() {
			waits.Begin(v)
			in := &policy.Input{View: v, Offer: policy.Offer{Node: n}}
			for _, j := range v.Jobs() {
				checkLocality(t, waits, in, j, &at)
			}
		}
	})
}

func checkLocality(t *rapid.T, waits *policy.LocalityWaits, in *policy.Input, j *state.Job, at *model.Locality) {
	want, pending := j.Map.Locality(in.Offer.Node)
	if !pending || j.Map.Anywhere() {
		return
	}
	if waits.Take(in, j); *at != want {
		t.Fatalf("%s on %s: asked at %v, want %v", j.ID, in.Offer.Node.ID, *at, want)
	}
}
