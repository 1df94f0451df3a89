package asks_test

import (
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// TestAdoptAfterGrants: rows that were read before a container was granted count
// too many, until the application says its own count or they are read again.
func TestAdoptAfterGrants(t *testing.T) {
	t.Parallel()
	key := asks.Key{Priority: 10, RequestID: -1}
	pin := []model.AskRow{
		{Priority: 10, RequestID: -1, ResourceName: "*", Count: 3},
		{Priority: 10, RequestID: -1, ResourceName: "/rack1", Count: 3, RelaxLocality: true},
	}
	pass := &asks.Intent{Pass: model.PassStale}
	resyncing := func() *asks.Attempt {
		a := asks.NewAttempt(asks.Limits{})
		a.Request(500, &asks.Request{ResponseID: 7}, pass)
		a.Response(2000, &asks.Response{ResponseID: 8, Granted: []asks.Grant{{ID: asks.ContainerID{Attempt: 1, ID: 2}, Key: key, Host: "w11"}}}, nil)
		return a
	}
	outstanding := func(a *asks.Attempt) int {
		sum := 0
		for _, row := range a.Table().Own() {
			if row.ResourceName == model.AnyName {
				sum += row.Count
			}
		}
		return sum
	}
	shown := func(a *asks.Attempt, now, read model.Time) bool {
		a.Reconcile(now, read, pin)
		return a.State() == asks.InSync
	}
	a := resyncing()
	if shown(a, 3000, 1000) || outstanding(a) != 0 {
		t.Errorf("rows of before a grant are adopted: %v", a.Table().Own())
	}
	if !shown(a, 4000, 3000) || outstanding(a) != 3 {
		t.Errorf("rows of after a grant are not: %v", a.Table().Own())
	}
	a = resyncing()
	a.Request(3000, &asks.Request{ResponseID: 8, Rows: []asks.Row{{Key: key, Name: model.AnyName, Count: 2, Relax: true}}}, pass)
	if !shown(a, 3000, 1000) || outstanding(a) != 2 {
		t.Errorf("the application wants 2: %v", a.Table().Own())
	}
	edit := a.Request(4000, &asks.Request{ResponseID: 9}, pass)
	if len(edit.Rows) == 0 || edit.Rows[0].Name != model.AnyName || edit.Rows[0].Count != 2 || !edit.Rows[0].Relax {
		t.Errorf("the pin is undone with %+v, want 2 anywhere first", edit.Rows)
	}
}

// TestAdoptAfterIgnoredCall: the first call after a restart repeats one that an
// earlier relay edited, and is ignored. A row that it takes back is still there.
func TestAdoptAfterIgnoredCall(t *testing.T) {
	t.Parallel()
	key := asks.Key{Priority: 10, RequestID: -1}
	pass := &asks.Intent{Pass: model.PassStale}
	a := asks.NewAttempt(asks.Limits{})
	a.Request(500, &asks.Request{ResponseID: 7, Rows: []asks.Row{
		{Key: key, Name: model.AnyName, Count: 2, Relax: true}, {Key: key, Name: "/rack1", Relax: true},
	}}, pass)
	a.Reconcile(1000, 1000, []model.AskRow{
		{Priority: 10, RequestID: -1, ResourceName: "*", Count: 2},
		{Priority: 10, RequestID: -1, ResourceName: "/rack1", Count: 2, RelaxLocality: true},
	})
	if got, want := text(a.Request(2000, &asks.Request{ResponseID: 8}, pass)), "10: *=2 /rack1=0\n(10 : restore)\n"; got != want {
		t.Errorf("the next call is %s, want %s", got, want)
	}
}
