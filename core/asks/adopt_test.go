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
	listening := func() *asks.Table {
		table := asks.New(asks.Limits{})
		table.Listen()
		table.Response(2000, &asks.Response{ResponseID: 8, Granted: []asks.Grant{{ID: asks.ContainerID{Attempt: 1, ID: 2}, Key: key, Host: "w11"}}}, nil)
		return table
	}
	outstanding := func(table *asks.Table) int {
		sum := 0
		for _, row := range table.Own() {
			if row.ResourceName == model.AnyName {
				sum += row.Count
			}
		}
		return sum
	}
	table := listening()
	if table.Adopt(3000, 1000, pin) || outstanding(table) != 0 {
		t.Errorf("rows of before a grant are adopted: %v", table.Own())
	}
	if !table.Adopt(4000, 3000, pin) || outstanding(table) != 3 {
		t.Errorf("rows of after a grant are not: %v", table.Own())
	}
	table = listening()
	pass := &asks.Intent{Pass: model.PassStale}
	table.Request(3000, &asks.Request{ResponseID: 8, Rows: []asks.Row{{Key: key, Name: model.AnyName, Count: 2, Relax: true}}}, pass)
	if !table.Adopt(3000, 1000, pin) || outstanding(table) != 2 {
		t.Errorf("the application wants 2: %v", table.Own())
	}
	edit := table.Request(4000, &asks.Request{ResponseID: 9}, pass)
	if len(edit.Rows) == 0 || edit.Rows[0].Name != model.AnyName || edit.Rows[0].Count != 2 || !edit.Rows[0].Relax {
		t.Errorf("the pin is undone with %+v, want 2 anywhere first", edit.Rows)
	}
}
