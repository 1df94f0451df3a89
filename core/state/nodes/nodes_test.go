package nodes_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state/nodes"
)

// Names that applications make up are not stored without end; nodes always are.
func TestHostsAreBounded(t *testing.T) {
	t.Parallel()
	x := nodes.NewIndex(nodes.Config{})
	hosts := x.Hosts()
	for i := range nodes.MaxHosts {
		if n := hosts.Host(strconv.Itoa(i)); int(n) != i {
			t.Fatalf("host %d has the number %d", i, n)
		}
	}
	if n := hosts.Host("one more"); n != nodes.NoHost {
		t.Errorf("a host too many has the number %d", n)
	}
	if n := hosts.Host("7"); n != 7 {
		t.Errorf("a host that is known has the number %d, want 7", n)
	}
	x.ApplyNodes(&model.NodesFact{Nodes: []model.Node{{ID: "one more:1", Host: "one more", Rack: "/r", State: model.NodeRunning}}})
	if n := x.Node("one more:1").HostNumber(); n != nodes.MaxHosts || hosts.Host("one more") != n {
		t.Errorf("the host of a node has the number %d, want %d", n, nodes.MaxHosts)
	}
	if n := hosts.Host(""); n != nodes.NoHost {
		t.Errorf("no host has the number %d", n)
	}
}

// A table of hosts holds what a map would.
func TestHostTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table nodes.HostTable[int]
		want := map[nodes.Host]int{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			host := nodes.Host(rapid.IntRange(0, 60).Draw(t, "host") * rapid.SampledFrom([]int{1, 64, 4096}).Draw(t, "stride"))
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				table.Clear()
				clear(want)
			default:
				*table.Entry(host)++
				want[host]++
			}
			if got := table.At(host); got != want[host] {
				t.Fatalf("host %d: %d, want %d", host, got, want[host])
			}
		}
		n := 0
		for host, v := range table.All() {
			n++
			if *v != want[host] {
				t.Fatalf("host %d: %d, want %d", host, *v, want[host])
			}
		}
		if n != len(want) || table.Find(nodes.NoHost) != nil {
			t.Fatalf("%d hosts, want %d; a value for no host: %v", n, len(want), table.Find(nodes.NoHost))
		}
	})
}
