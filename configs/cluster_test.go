package configs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/configs/strict"
)

const (
	mbps strict.Rate = 1e6 / 8
	mib  strict.Size = 1 << 20
)

// The cluster of NAS's simulations (algorithms.md 3.3), in every way to write it.
func TestClusterForms(t *testing.T) {
	t.Parallel()
	want := &configs.Cluster{
		Groups: []configs.RackGroup{{Racks: 30, Nodes: 20, Containers: 6, Uplink: 1000 * mbps, NIC: 250 * mbps}},
		Block:  128 * mib, Replication: 3,
	}
	for _, line := range []string{
		"racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps",
		"racks=30, nodes=20, containers=6, oversubscription=5, nic=250Mbps, block=128MiB, replication=3, background=0bps, background_moves=0s",
	} {
		got, err := configs.ParseCluster(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
	for _, text := range []string{
		"racks: 30\nnodes: 20\ncontainers: 6\nuplink: 1Gbps\nnic: 250Mbps\n",
		"{racks: 30, nodes: 20, containers: 6, oversubscription: 5, nic: 250Mbps}",
		"nodes: 20\ncontainers: 6\nnic: 250Mbps\nuplink: 2Gbps\ngroups: [{racks: 30, oversubscription: 5}]\n",
	} {
		got, err := configs.ReadCluster(write(t, text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	if want.Racks() != 30 || want.Nodes() != 600 {
		t.Errorf("%d racks, %d nodes", want.Racks(), want.Nodes())
	}
}

// A group has what it says, and what is said beside groups where it says nothing.
func TestClusterGroups(t *testing.T) {
	t.Parallel()
	got, err := configs.ReadCluster(write(t, `
nodes: 10
containers: 4
nic: 1Gbps
oversubscription: 5
background: 100Mbps
block: 64MiB
replication: 2
background_moves: 90s
groups:
  - racks: 3
  - {nodes: 5, containers: 8, background: 0bps}
  - {racks: 2, uplink: 500Mbps, nic: 250Mbps}
`))
	want := &configs.Cluster{
		Groups: []configs.RackGroup{
			{Racks: 3, Nodes: 10, Containers: 4, Uplink: 2000 * mbps, NIC: 1000 * mbps, Background: 100 * mbps},
			{Racks: 1, Nodes: 5, Containers: 8, Uplink: 1000 * mbps, NIC: 1000 * mbps},
			{Racks: 2, Nodes: 10, Containers: 4, Uplink: 500 * mbps, NIC: 250 * mbps, Background: 100 * mbps},
		},
		Block: 64 * mib, Replication: 2, BackgroundMoves: strict.Duration(90 * time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Slots stand in place of containers, in a group too.
func TestClusterSlots(t *testing.T) {
	t.Parallel()
	group := configs.RackGroup{Racks: 10, Nodes: 10, MapSlots: 4, ReduceSlots: 2, Uplink: 500 * mbps, NIC: 1000 * mbps}
	got, err := configs.ParseCluster("racks=10,nodes=10,map_slots=4,reduce_slots=2,uplink=500Mbps,nic=1Gbps")
	want := &configs.Cluster{Groups: []configs.RackGroup{group}, Block: 128 * mib, Replication: 3}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = configs.ReadCluster(write(t, `
nodes: 10
containers: 9
nic: 1Gbps
uplink: 500Mbps
groups:
  - {racks: 10, map_slots: 4, reduce_slots: 2}
  - {map_slots: 8, reduce_slots: 1}
`))
	back, failed := configs.ReadCluster(write(t, "nodes: 10\nmap_slots: 4\nreduce_slots: 2\nnic: 1Gbps\nuplink: 500Mbps\ngroups: [{containers: 6}]\n"))
	if failed != nil || back.Groups[0].Containers != 6 || back.Groups[0].MapSlots+back.Groups[0].ReduceSlots != 0 {
		t.Errorf("containers of a group in place of slots: %+v, %v", back, failed)
	}
	other := group
	other.Racks, other.MapSlots, other.ReduceSlots = 1, 8, 1
	want.Groups = append(want.Groups, other)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// clusterProblems returns what is wrong with a cluster, without the folder of its file.
func clusterProblems(t *testing.T, c *configs.Cluster, err error, file string) []string {
	t.Helper()
	var ps strict.Problems
	if !errors.As(err, &ps) || c != nil {
		t.Fatalf("%+v, %v: want Problems", c, err)
	}
	text := strings.ReplaceAll(ps.Error(), filepath.Dir(file)+string(filepath.Separator), "")
	return strings.Split(text, "\n")
}

func TestClusterFileProblems(t *testing.T) {
	t.Parallel()
	const good = "nodes: 20\ncontainers: 6\nuplink: 1Gbps\nnic: 250Mbps\n"
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{"heddle.yml: racks: not given", "heddle.yml: nodes: not given", "heddle.yml: containers: not given", "heddle.yml: nic: not given", "heddle.yml: uplink: not given"}},
		{good, []string{"heddle.yml: racks: not given; want a whole number above 0"}},
		{good + "racks: 0\n", []string{"heddle.yml:5: racks: 0: must be from 1 to 10000"}},
		{good + "rakcs: 2\n", []string{"heddle.yml:5: rakcs: unknown key; did you mean racks?"}},
		{good + "racks: 2\nracks: 3\n", []string{"heddle.yml:6: racks: given twice, first in line 5"}},
		{good + "racks: 2\ngroups: [{racks: 1}]\n", []string{"heddle.yml:5: racks: given beside groups"}},
		{good + "racks: 2\noversubscription: 5\n", []string{"heddle.yml:6: oversubscription: given beside uplink"}},
		{good + "groups:\n- racks: 2\n- racks: two\n  block: 1MiB\n", []string{"heddle.yml:7: groups[1].racks: \"two\": want a whole number", "heddle.yml:8: groups[1].block: unknown key"}},
		{good + "groups:\n- {racks: 1, nodes: 0}\n- racks: 2\n  background: 1Gbps\n", []string{"heddle.yml:6: groups[0].nodes: 0: must be from 1", "heddle.yml:8: groups[1].background: 1Gbps: must be less than the uplink carries, which is 1Gbps"}},
		{"racks: 1\nuplink: 1\nnic: 1GB\nnodes: 1.5\ncontainers: [1]\n", []string{"heddle.yml:2: uplink: \"1\" has no unit", "heddle.yml:3: nic: \"1GB\" has the unknown unit", "heddle.yml:4: nodes: \"1.5\": want a whole number", "heddle.yml:5: containers: want a single value, found a list"}},
		{"nodes: 0\ncontainers: 6\nuplink: 1kbps\nnic: 250Mbps\ngroups: [{racks: 1}, {racks: 2}]\n", []string{"heddle.yml:1: nodes: 0: must be from 1", "heddle.yml:3: uplink: 1Kbps: must be at least 1Mbps"}},
		{"containers: 6\nuplink: 1Gbps\nnic: 250Mbps\ngroups:\n- {nodes: 1}\n- racks: 2\n", []string{"heddle.yml:6: groups[1].nodes: not given"}},
		{good + "racks: 1\nblock: 1KiB\nreplication: 0\n", []string{"heddle.yml:6: block: 1KiB: must be at least 1MiB", "heddle.yml:7: replication: 0: must be from 1 to 512"}},
		{good + "racks: 1\noversubscription: &a 5\n", []string{"heddle.yml:6: oversubscription: anchors"}},
		{good + "groups:\n- racks: 9000\n- racks: 9000\n", []string{"heddle.yml:5: groups: 18000 racks: must be at most 10000", "heddle.yml:1: nodes: 360000 nodes in all racks: must be at most 200000"}},
		{good + "racks: 2\nmap_slots: 5\n", []string{"heddle.yml:6: map_slots: given beside containers: give containers, or map_slots and reduce_slots"}},
		{good + "groups:\n- racks: 1\n- {map_slots: 5, reduce_slots: 0}\n", []string{"heddle.yml:7: groups[1].reduce_slots: 0: must be from 1 to 1000"}},
		{good + "groups:\n- racks: 1\n- {map_slots: 5, reduce_slots: 2}\n", []string{"heddle.yml:7: groups[1]: has slots where the first group has containers"}},
		{"racks: [\n", []string{"heddle.yml:1: "}},
		{"- racks: 1\n", []string{"heddle.yml:1: want keys and values here, found a list"}},
	} {
		file := write(t, tt.text)
		c, err := configs.ReadCluster(file)
		compare(t, clusterProblems(t, c, err, file), tt.want)
	}
	c, err := configs.ReadCluster("/no/such/cluster.yml")
	compare(t, clusterProblems(t, c, err, "/"), []string{"no/such/cluster.yml: read the cluster: "})
}

func TestClusterLineProblems(t *testing.T) {
	t.Parallel()
	const good = "racks=3,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps"
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"", []string{`flag --cluster: "": want key=value`}},
		{"nodes=20,containers=6,uplink=1Gbps,nic=250Mbps", []string{"flag --cluster: racks: not given"}},
		{good + ",racks=4", []string{"flag --cluster: racks: given twice"}},
		{good + ",rack=4", []string{"flag --cluster: rack: unknown key; did you mean racks?"}},
		{good + ",groups=[{racks: 4}]", []string{"flag --cluster: groups: can only be given in a file"}},
		{"racks=1,nodes=1,uplink=1Gbps,nic=250Mbps", []string{"containers: not given; want a whole number above 0, or map_slots and reduce_slots"}},
		{"racks=1,nodes=1,map_slots=2,uplink=1Gbps,nic=250Mbps", []string{"reduce_slots: not given; want a whole number above 0"}},
		{"racks=1,nodes=1,reduce_slots=2,containers=2,uplink=1Gbps,nic=250Mbps", []string{"reduce_slots: given beside containers"}},
		{good + ",fast", []string{`flag --cluster: "fast": want key=value`}},
		{"racks=x,nodes=-1,containers=6,uplink=1,nic=250Mbps", []string{`racks: "x": want a whole number`, `uplink: "1" has no unit`}},
		{"racks=1,nodes=-1,containers=6,oversubscription=0,nic=250Mbps", []string{"nodes: -1: must be from 1", "oversubscription: 0: must be from 0.01"}},
	} {
		c, err := configs.ParseCluster(tt.line)
		compare(t, clusterProblems(t, c, err, "/"), tt.want)
	}
}

// Any text is a cluster that can be simulated, or is refused with problems.
func FuzzCluster(f *testing.F) {
	f.Add("racks: 30\nnodes: 20\ncontainers: 6\nuplink: 1Gbps\nnic: 250Mbps\n")
	f.Add("nodes: 20\ncontainers: 6\nnic: 250Mbps\noversubscription: 5\ngroups:\n- racks: 3\n- {racks: 2, uplink: 500Mbps, background: 1Mbps}\n")
	f.Add("racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps")
	f.Add("racks=1,nodes=1,containers=1,nic=1Mbps,oversubscription=0.5,block=1GB,replication=1")
	file := filepath.Join(f.TempDir(), "cluster.yml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hold := func(c *configs.Cluster, err error) {
			t.Helper()
			var ps strict.Problems
			if err != nil {
				if c != nil || !errors.As(err, &ps) || len(ps) == 0 || ps.Error() == "" {
					t.Fatalf("an error that is no problem: %v", err)
				}
				return
			}
			if c.Racks() < 1 || c.Nodes() < c.Racks() || c.Block < 1 || c.Replication < 1 {
				t.Fatalf("%+v", c)
			}
			for _, g := range c.Groups {
				if !(g.Uplink > g.Background) || !(g.NIC > 0) || g.Containers < 1 || g.Racks < 1 || g.Nodes < 1 {
					t.Fatalf("%+v", g)
				}
			}
		}
		hold(configs.ReadCluster(file))
		hold(configs.ParseCluster(text))
	})
}
