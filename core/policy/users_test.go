package policy_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// What is kept of users is theirs as long as they have jobs: one who takes over a
// number has nothing.
func TestUsers(t *testing.T) {
	t.Parallel()
	var kept policy.Users[int]
	c := state.New(state.DefaultConfig())
	user := func(c *state.Cluster, names ...model.UserID) *state.User {
		f := model.AppsFact{}
		for i, name := range names {
			f.Apps = append(f.Apps, model.App{ID: model.AppID("application_1_000" + string(rune('1'+i)) + string(name)), User: name, State: model.AppRunning, Submitted: 1})
		}
		c.Apply(model.Observation{Source: model.SourceRM, At: 1, Fact: f})
		for _, u := range c.View().Users() {
			if u.ID == names[0] {
				return u
			}
		}
		return nil
	}
	ann := user(c, "ann", "bob")
	*kept.Of(ann) = 1
	*kept.Of(user(c, "bob", "ann")) = 2
	if kept.Len() != 2 || *kept.Find(ann) != 1 {
		t.Fatalf("%d users, ann has %d", kept.Len(), *kept.Find(ann))
	}
	user(c, "bob")
	eve := user(c, "eve", "bob") // with ann's number
	if kept.Find(eve) != nil || *kept.Of(eve) != 0 || kept.Find(ann) != nil || kept.Len() != 2 {
		t.Errorf("eve, number %d: %v, ann, number %d: %v", eve.Number(), kept.Find(eve), ann.Number(), kept.Find(ann))
	}
	kept.Prune(c.View())
	if kept.Len() != 2 {
		t.Errorf("%d users with live jobs are kept, want 2", kept.Len())
	}
	bob := user(c, "bob")
	kept.Prune(c.View())
	if kept.Len() != 1 || *kept.Find(bob) != 2 {
		t.Errorf("%d users are kept, bob has %v", kept.Len(), kept.Find(bob))
	}
}
