package rmmodel_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/rmmodel"
)

// reduce is the key at which MapReduce asks for reduces.
func reduce() asks.Key { return asks.Key{Priority: 10, RequestID: -1} }

func size() model.Resource { return model.Resource{MemoryMiB: 1024, VCores: 1} }

// lab is a cluster like the measured ones: three racks of hosts with two slots.
type lab struct {
	t    *testing.T
	rm   *rmmodel.RM
	c    *rmmodel.Cluster
	next int32
}

func newLab(t *testing.T, s rmmodel.Scheduler) *lab {
	t.Helper()
	hosts := 3
	if s == rmmodel.Fair {
		hosts = 2
	}
	c := rmmodel.NewCluster(3, hosts, size().Times(2))
	l := &lab{t: t, rm: rmmodel.NewRM(c, rmmodel.Defaults(s)), c: c}
	l.rm.Register()
	return l
}

// ask sends rows for reduces.
func (l *lab) ask(rows ...asks.Row) {
	l.t.Helper()
	for i := range rows {
		rows[i].Key, rows[i].Capability = reduce(), size()
	}
	if _, err := l.rm.Allocate(&asks.Request{ResponseID: l.next, Rows: rows}); err != nil {
		l.t.Fatal(err)
	}
	l.next++
}

func soft(name string, n int) asks.Row { return asks.Row{Name: name, Count: int32(n), Relax: true} }
func strict(n int) asks.Row            { return asks.Row{Name: "*", Count: int32(n)} }

// hosts returns a row of n for each host of a rack, and the rack's row of sum.
func (l *lab) rack(r, n, sum int) []asks.Row {
	var rows []asks.Row
	for _, host := range l.hosts(r) {
		rows = append(rows, soft(host, n))
	}
	return append(rows, soft(string(rmmodel.RackName(r)), sum))
}

func (l *lab) hosts(r int) []string {
	var hosts []string
	for _, n := range l.c.Nodes {
		if n.Rack == rmmodel.RackName(r) {
			hosts = append(hosts, n.Host)
		}
	}
	return hosts
}

// seconds lets every node send as many heartbeats, the last rack first, so that
// whatever is not tied to rack 1 is met elsewhere. It returns containers by host.
func (l *lab) seconds(n int) map[string]int {
	got := map[string]int{}
	for range n {
		for _, node := range slices.Backward(l.c.Nodes) {
			for _, c := range l.rm.Heartbeat(node.Host) {
				got[c.Host]++
			}
		}
	}
	return got
}

func (l *lab) byRack(got map[string]int) string {
	var counts [3]int
	for host, n := range got {
		for r := range counts {
			if l.c.RackOf(host) == rmmodel.RackName(r+1) {
				counts[r] += n
			}
		}
	}
	return fmt.Sprintf("%d/%d/%d", counts[0], counts[1], counts[2])
}

func sum(got map[string]int) int {
	total := 0
	for n := range maps.Values(got) {
		total += n
	}
	return total
}

// TestRecipes holds the model against what a real cluster did with each way to
// ask: every row of the table of measured recipes, and both schedulers.
func TestRecipes(t *testing.T) {
	t.Parallel()
	pin := func(l *lab, n int) []asks.Row { return append(l.rack(1, n, n), strict(n)) }
	tests := []struct {
		name    string
		rows    func(l *lab) []asks.Row
		seconds int
		want    map[rmmodel.Scheduler]string // containers on racks 1, 2 and 3
	}{
		{
			"pass", func(*lab) []asks.Row { return []asks.Row{soft("*", 4)} }, 1,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/1/3", rmmodel.Fair: "0/2/2"},
		},
		{
			"pin", func(l *lab) []asks.Row { return pin(l, 4) }, 2,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "4/0/0", rmmodel.Fair: "4/0/0"},
		},
		{
			"pin of more than the rack holds", func(l *lab) []asks.Row { return pin(l, 10) }, 20,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "6/0/0", rmmodel.Fair: "4/0/0"},
		},
		{
			"pin with smaller host rows", func(l *lab) []asks.Row { return append(l.rack(1, 2, 4), strict(4)) }, 2,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "4/0/0", rmmodel.Fair: "4/0/0"},
		},
		{
			"rack alone, strict", func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4), strict(4)} }, 53,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/0/0", rmmodel.Fair: "4/0/0"},
		},
		{
			"hosts alone, strict", func(l *lab) []asks.Row {
				return append(slices.DeleteFunc(l.rack(1, 4, 4), func(r asks.Row) bool { return r.Name == "/rack1" }), strict(4))
			}, 28,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/0/0", rmmodel.Fair: "0/0/0"},
		},
		{
			"rack, soft: ignored", func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4), soft("*", 4)} }, 1,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/1/3", rmmodel.Fair: "0/2/2"},
		},
		{
			"hosts and rack, soft: ignored", func(l *lab) []asks.Row { return append(l.rack(1, 4, 4), soft("*", 4)) }, 1,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/2/2", rmmodel.Fair: "0/2/2"},
		},
		{
			"quota 3:1", func(l *lab) []asks.Row {
				return append(append(l.rack(1, 3, 3), l.rack(2, 1, 1)...), strict(4))
			}, 2,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "3/1/0", rmmodel.Fair: "3/1/0"},
		},
		{
			"hold by an ask that nothing meets", func(*lab) []asks.Row { return []asks.Row{strict(4)} }, 20,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/0/0", rmmodel.Fair: "0/0/0"},
		},
		{
			"hold by saying nothing", func(*lab) []asks.Row { return nil }, 20,
			map[rmmodel.Scheduler]string{rmmodel.Capacity: "0/0/0", rmmodel.Fair: "0/0/0"},
		},
	}
	for _, tt := range tests {
		for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
			t.Run(tt.name+"/"+string(s), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, s)
				l.ask(tt.rows(l)...)
				if got := l.byRack(l.seconds(tt.seconds)); got != tt.want[s] {
					t.Errorf("containers on racks 1/2/3 after %d s: %s, want %s", tt.seconds, got, tt.want[s])
				}
			})
		}
	}
}

// TestQuotaOfNine is the measured quota of 6:3 on CapacityScheduler.
func TestQuotaOfNine(t *testing.T) {
	t.Parallel()
	l := newLab(t, rmmodel.Capacity)
	l.ask(append(append(l.rack(1, 6, 6), l.rack(2, 3, 3)...), strict(9))...)
	if got := l.byRack(l.seconds(1)); got != "6/3/0" {
		t.Errorf("containers on racks 1/2/3: %s, want 6/3/0", got)
	}
}

// TestPacking is how many containers of a pin a host takes: CapacityScheduler
// fills hosts in the order of their heartbeats, whatever the host rows say as
// long as they allow it; host rows that sum to the count spread; FairScheduler
// gives one container a node heartbeat.
func TestPacking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		scheduler rmmodel.Scheduler
		host, n   int
		seconds   int
		want      map[string]int
	}{
		{"a pin packs", rmmodel.Capacity, 4, 4, 1, map[string]int{"w13": 2, "w12": 2}},
		{"ceil(n/hosts) packs too", rmmodel.Capacity, 2, 4, 1, map[string]int{"w13": 2, "w12": 2}},
		{"rows that sum to n spread", rmmodel.Capacity, 1, 3, 1, map[string]int{"w13": 1, "w12": 1, "w11": 1}},
		{"one a heartbeat", rmmodel.Fair, 4, 4, 1, map[string]int{"w12": 1, "w11": 1}},
		{"two heartbeats for two each", rmmodel.Fair, 4, 4, 2, map[string]int{"w12": 2, "w11": 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, tt.scheduler)
			l.ask(append(l.rack(1, tt.host, tt.n), strict(tt.n))...)
			if got := l.seconds(tt.seconds); !maps.Equal(got, tt.want) {
				t.Errorf("containers by host: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestCures is what ended the starving and holding asks of the measurements,
// and a change of recipe while it is in force: one heartbeat each.
func TestCures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		scheduler  rmmodel.Scheduler
		first, add func(l *lab) []asks.Row
		want       string
	}{
		{
			"host rows cure a strict rack", rmmodel.Capacity,
			func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4), strict(4)} },
			func(l *lab) []asks.Row { return l.rack(1, 4, 4)[:3] }, "4/0/0",
		},
		{
			"the rack row cures strict hosts", rmmodel.Capacity,
			func(l *lab) []asks.Row { return append(l.rack(1, 4, 4)[:3], strict(4)) },
			func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4)} }, "4/0/0",
		},
		{
			"the rack row cures strict hosts", rmmodel.Fair,
			func(l *lab) []asks.Row { return append(l.rack(1, 4, 4)[:2], strict(4)) },
			func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4)} }, "2/0/0",
		},
		{
			"a held ask is pinned", rmmodel.Capacity,
			func(*lab) []asks.Row { return []asks.Row{strict(4)} },
			func(l *lab) []asks.Row { return append(l.rack(1, 4, 4), strict(4)) }, "4/0/0",
		},
		{
			"a held ask is pinned", rmmodel.Fair,
			func(*lab) []asks.Row { return []asks.Row{strict(4)} },
			func(l *lab) []asks.Row { return append(l.rack(1, 4, 4), strict(4)) }, "2/0/0",
		},
		{
			"a pin moves to another rack", rmmodel.Capacity,
			func(*lab) []asks.Row { return []asks.Row{soft("/rack1", 4), strict(4)} },
			func(l *lab) []asks.Row { return append(l.rack(2, 4, 4), soft("/rack1", 0)) }, "0/4/0",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/"+string(tt.scheduler), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, tt.scheduler)
			l.ask(tt.first(l)...)
			if got := sum(l.seconds(20)); got != 0 {
				t.Fatalf("%d containers before the cure, want none", got)
			}
			l.ask(tt.add(l)...)
			if got := l.byRack(l.seconds(1)); got != tt.want {
				t.Errorf("containers on racks 1/2/3 one second after the cure: %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRowsThatStay are the traps of the row table: an explicit 0 stays and
// counts as a location, an ANY of 0 drops everything, and rows that are left
// when ANY was used up come back with it.
func TestRowsThatStay(t *testing.T) {
	t.Parallel()
	l := newLab(t, rmmodel.Capacity)
	names := func() []string {
		var names []string
		for _, r := range l.rm.Pending() {
			names = append(names, fmt.Sprintf("%s:%d", r.ResourceName, r.Count))
		}
		return names
	}
	check := func(want ...string) {
		t.Helper()
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("rows are %v, want %v", got, want)
		}
	}
	l.ask(soft("/rack1", 2), soft("/rack2", 0), strict(2), soft("w11", 2), soft("w12", 2))
	check("*:2", "/rack1:2", "/rack2:0", "w11:2", "w12:2")
	l.rm.Heartbeat("w12")
	check("/rack2:0", "w11:2")
	l.ask(soft("*", 1))
	check("*:1", "/rack2:0", "w11:2")
	l.ask(soft("*", 0))
	check()
}

// TestResponseIDs: the id before the last is answered again and not applied,
// any other is refused, and after a failover nothing is known.
func TestResponseIDs(t *testing.T) {
	t.Parallel()
	l := newLab(t, rmmodel.Capacity)
	l.ask(append(l.rack(1, 2, 2), strict(2))...)
	l.seconds(1)
	first, err := l.rm.Allocate(&asks.Request{ResponseID: 1})
	if err != nil || len(first.Granted) != 2 {
		t.Fatalf("the second call: %v and %v, want two containers", first, err)
	}
	again, err := l.rm.Allocate(&asks.Request{ResponseID: 1, Rows: []asks.Row{{Key: reduce(), Name: "*", Count: 7, Relax: true, Capability: size()}}})
	if err != nil || !slices.Equal(again.Granted, first.Granted) || again.ResponseID != first.ResponseID {
		t.Errorf("the repeated call: %v and %v, want %v again", again, err, first)
	}
	if got := l.rm.Asked(reduce(), "*"); got != 0 {
		t.Errorf("the repeated call was applied: %d asked", got)
	}
	if _, err := l.rm.Allocate(&asks.Request{ResponseID: 7}); !errors.Is(err, rmmodel.ErrResponseID) {
		t.Errorf("a wrong response id: %v, want ErrResponseID", err)
	}
	l.rm.Failover(func(id asks.ContainerID) bool { return id == first.Granted[0].ID })
	if _, err := l.rm.Allocate(&asks.Request{ResponseID: 2}); !errors.Is(err, rmmodel.ErrNotRegistered) {
		t.Errorf("after the failover: %v, want ErrNotRegistered", err)
	}
	if got := len(l.rm.Containers()); got != 1 {
		t.Errorf("%d containers run on after the failover, want the one that was launched", got)
	}
}

// TestEndsAreToldAgain: what ended and was told in an answer that may not have
// arrived is told again after a failover.
func TestEndsAreToldAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, rmmodel.Capacity)
	l.ask(append(l.rack(1, 1, 1), strict(1))...)
	l.seconds(1)
	first, err := l.rm.Allocate(&asks.Request{ResponseID: 1})
	if err != nil || len(first.Granted) != 1 {
		t.Fatalf("the second call: %v and %v, want a container", first, err)
	}
	l.rm.Exit(first.Granted[0].ID, 1)
	want := []asks.Ended{{ID: first.Granted[0].ID, ExitStatus: 1}}
	for range 2 {
		l.rm.Failover(func(asks.ContainerID) bool { return true })
		l.rm.Register()
		answer, err := l.rm.Allocate(&asks.Request{})
		if err != nil || !slices.Equal(answer.Ended, want) {
			t.Errorf("ended: %v and %v, want %v", answer.Ended, err, want)
		}
	}
}

// TestRackDelay is the setting with which CapacityScheduler heeds a soft ask for
// a rack: no node-locality delay, and one before other racks.
func TestRackDelay(t *testing.T) {
	t.Parallel()
	c := rmmodel.NewCluster(3, 3, size().Times(2))
	settings := rmmodel.Defaults(rmmodel.Capacity)
	settings.NodeDelay, settings.RackDelay = 0, 6
	l := &lab{t: t, rm: rmmodel.NewRM(c, settings), c: c}
	l.rm.Register()
	l.ask(soft("/rack1", 4), soft("*", 4))
	// Nodes of other racks come first: six offers are let go by, then rack 1 takes all in its first heartbeats.
	if got := l.byRack(l.seconds(1)); got != "4/0/0" {
		t.Errorf("containers on racks 1/2/3: %s, want 4/0/0", got)
	}
}

// TestUntoldContainers: what dies before the ApplicationMaster was told of it is asked for again.
func TestUntoldContainers(t *testing.T) {
	t.Parallel()
	l := newLab(t, rmmodel.Capacity)
	l.ask(append(l.rack(1, 2, 2), strict(2))...)
	l.rm.Heartbeat("w11")
	l.rm.Lose("w11")
	if got := l.rm.Asked(reduce(), "*"); got != 2 {
		t.Errorf("%d asked for after the node was lost, want 2", got)
	}
	if got := l.byRack(l.seconds(1)); got != "2/0/0" {
		t.Errorf("containers on racks 1/2/3 afterwards: %s, want 2/0/0", got)
	}
	answer, err := l.rm.Allocate(&asks.Request{ResponseID: 1})
	if err != nil || len(answer.Ended) != 2 || !slices.Equal(answer.LostHosts, []string{"w11"}) {
		t.Errorf("the answer is %v and %v, want two ended containers and w11 lost", answer, err)
	}
}

// TestInvalidAsks are refused.
func TestInvalidAsks(t *testing.T) {
	t.Parallel()
	tests := map[string][]asks.Row{
		"negative":   {{Name: "*", Count: -1}},
		"label":      {{Name: "*", Count: 1}, {Name: "w11", Count: 1, Labelled: true}},
		"no ANY":     {{Name: "w11", Count: 1}},
		"no name":    {{Count: 1}},
		"capability": {{Name: "*", Count: 1}, {Name: "w11", Count: 1, Capability: size().Times(2)}},
	}
	for name, rows := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, rmmodel.Fair)
			for i := range rows {
				rows[i].Key = reduce()
				if rows[i].Capability.IsZero() {
					rows[i].Capability = size()
				}
			}
			if _, err := l.rm.Allocate(&asks.Request{Rows: rows}); !errors.Is(err, rmmodel.ErrInvalidAsk) {
				t.Errorf("got %v, want ErrInvalidAsk", err)
			}
		})
	}
}

// TestBlacklist: a refused host or rack gets nothing, until it is taken back.
func TestBlacklist(t *testing.T) {
	t.Parallel()
	for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, s)
			refuse := &asks.Request{BlacklistAdd: []string{"/rack3", "w21", "w22"}}
			if _, err := l.rm.Allocate(refuse); err != nil {
				t.Fatal(err)
			}
			l.next = 1
			l.ask(soft("*", 20))
			got := l.seconds(10)
			if got["w21"]+got["w22"] != 0 || l.byRack(got)[len("6/2/"):] != "0" || got["w11"] != 2 {
				t.Errorf("containers by host: %v", got)
			}
			if _, err := l.rm.Allocate(&asks.Request{ResponseID: 2, BlacklistRemove: []string{"/rack3"}}); err != nil {
				t.Fatal(err)
			}
			if got := l.seconds(10); got["w31"] != 2 {
				t.Errorf("containers by host once /rack3 is taken back: %v", got)
			}
		})
	}
}
