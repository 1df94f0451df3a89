package topology_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/topology"
)

func TestUplinks(t *testing.T) {
	t.Parallel()
	link := func(out, in model.BytesPerSecond) topology.Link { return topology.Link{Out: out, In: in} }
	racks := map[model.RackID]topology.Link{"/r2": link(1, 2), "/r3": {}}
	for _, tc := range []struct {
		name  string
		of    topology.Uplinks
		rack  model.RackID
		nodes int
		want  topology.Link
	}{
		{"the zero value knows none", topology.Uplinks{}, "/r1", 4, link(0, 0)},
		{"the default", topology.Uplinks{Default: link(10, 20), Racks: racks}, "/r1", 4, link(10, 20)},
		{"a single rack", topology.Uplinks{Default: link(10, 20), Racks: racks}, "/r2", 4, link(1, 2)},
		{"a rack said not to be known", topology.Uplinks{Default: link(10, 20), Racks: racks}, "/r3", 4, link(0, 0)},
		{"by the nodes", topology.Uplinks{Default: link(10, 20), PerNode: 5, Racks: racks}, "/r1", 4, link(20, 20)},
		{"by the nodes, none", topology.Uplinks{PerNode: 5}, "/r1", 0, link(0, 0)},
		{"a single rack before the nodes", topology.Uplinks{PerNode: 5, Racks: racks}, "/r2", 4, link(1, 2)},
	} {
		if got := tc.of.Of(tc.rack, tc.nodes); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestTreeNumbersRacks(t *testing.T) {
	t.Parallel()
	tree := topology.New()
	for i, r := range []model.RackID{"/b", "/a", "/c"} {
		if got := tree.Index(r); got != i {
			t.Errorf("%s is rack %d, want %d: numbers go by first mention", r, got, i)
		}
	}
	if tree.Index("/a") != 1 || tree.Len() != 3 || tree.ID(2) != "/c" {
		t.Errorf("numbers moved: /a %d, %d racks, rack 2 %s", tree.Index("/a"), tree.Len(), tree.ID(2))
	}
	if i, ok := tree.Lookup("/c"); !ok || i != 2 {
		t.Errorf("/c: %d, %v", i, ok)
	}
	if _, ok := tree.Lookup("/d"); ok || tree.Len() != 3 {
		t.Error("looking a rack up numbers it")
	}
	if got := tree.ID(tree.Index("")); got != model.DefaultRack {
		t.Errorf("no name is %s, want %s", got, model.DefaultRack)
	}
}

func TestRackOf(t *testing.T) {
	t.Parallel()
	tree := topology.New()
	tree.Place("w1.example.com", "/r1")
	tree.Place("w2.example.com", "/r2")
	tree.Place("w3.a.example.com", "/r1")
	tree.Place("w3.b.example.com", "/r2")
	tree.Place("10.0.0.1", "/r1")
	for _, tc := range []struct {
		host string
		rack model.RackID // "" for none
	}{
		{"w1.example.com", "/r1"},
		{"w1", "/r1"},
		{"w2.other.net", "/r2"},
		{"w3.b.example.com", "/r2"},
		{"w3", ""}, // two hosts of that short name, in two racks
		{"10.0.0.1", "/r1"},
		{"10", ""}, // an address has no short form
		{"10.0.0.2", ""},
		{"unknown", ""},
		{"", ""},
	} {
		i, ok := tree.RackOf(tc.host)
		if ok != (tc.rack != "") || (ok && tree.ID(i) != tc.rack) {
			t.Errorf("%q: rack %d, %v, want %q", tc.host, i, ok, tc.rack)
		}
	}
}

func TestMovedHost(t *testing.T) {
	t.Parallel()
	tree := topology.New()
	tree.Place("w1.example.com", "/r1")
	tree.Place("w1.example.com", "/r2")
	if i, ok := tree.RackOf("w1.example.com"); !ok || tree.ID(i) != "/r2" {
		t.Errorf("a host that moved is in %d, %v", i, ok)
	}
	if i, ok := tree.Lookup("/r1"); !ok || i != 0 {
		t.Errorf("the rack it left has lost its number: %d, %v", i, ok)
	}
}

func TestParseRack(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"/r1", "/dc1/rack01", "/default-rack"} {
		if r, err := topology.ParseRack(good); err != nil || string(r) != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "/", "r1", "/r1/", "/r 1", "/r\t1", "/r1\n"} {
		if _, err := topology.ParseRack(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
