package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// writeTables prints a snapshot for people: racks with their uplinks, bytes
// between racks, and what the policy prefers per job.
func writeTables(w io.Writer, s *snapshot.Snapshot) error {
	if err := terminal.Table(w, func(w io.Writer) { rackTable(w, s) }); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := terminal.Table(w, func(w io.Writer) { trafficTable(w, s) }); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := terminal.Table(w, func(w io.Writer) { preferenceTable(w, s) }); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return terminal.Table(w, func(w io.Writer) { accountTable(w, s) })
}

// accountTable compares what ended jobs sent across racks with what they would have where each
// policy wanted their tasks.
func accountTable(w io.Writer, s *snapshot.Snapshot) {
	fmt.Fprintln(w, "POLICY\tENDED JOBS\tCROSS-RACK\tWITH ITS PLANS\tWOULD SAVE\tWOULD LOSE")
	for i := range s.Accounts {
		a := &s.Accounts[i]
		size := func(b model.Bytes) string { return terminal.Bytes(float64(b)) }
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", a.Policy, a.Jobs, size(a.Recorded.Total), size(a.Wanted.Total), size(a.Saved), size(a.Lost))
	}
}

func rackTable(w io.Writer, s *snapshot.Snapshot) {
	fmt.Fprintln(w, "RACK\tNODES\tMEMORY\tMAPS\tREDUCES\tUPLINK OUT\tUPLINK IN\tUSED\tSATURATED\tHDFS BLOCKS")
	for _, r := range sortedRacks(s) {
		fmt.Fprintf(w, "%s\t%d\t%d/%d MiB\t%d\t%d\t%s/s\t%s/s\t%.0f %%\t%s\t%d\n", r.ID, r.Nodes[model.NodeRunning],
			r.Used.MemoryMiB, r.Total.MemoryMiB, r.Containers[model.StageMap], r.Containers[model.StageReduce],
			terminal.Bytes(float64(r.Uplink.Out)), terminal.Bytes(float64(r.Uplink.In)), 100*r.Uplink.Utilization, yesNo(r.Uplink.Saturated), r.HDFSBlocks)
	}
}

func sortedRacks(s *snapshot.Snapshot) []snapshot.Rack {
	racks := slices.DeleteFunc(slices.Clone(s.Racks), func(r snapshot.Rack) bool { return len(r.Nodes) == 0 && r.HDFSBlocks == 0 })
	slices.SortFunc(racks, func(a, b snapshot.Rack) int { return cmp.Compare(a.ID, b.ID) })
	return racks
}

func trafficTable(w io.Writer, s *snapshot.Snapshot) {
	racks := sortedRacks(s)
	fmt.Fprint(w, "BYTES ACROSS RACKS")
	for _, r := range racks {
		fmt.Fprintf(w, "\tto %s", r.ID)
	}
	fmt.Fprintln(w)
	for _, src := range racks {
		fmt.Fprintf(w, "from %s", src.ID)
		for _, dst := range racks {
			if src.ID == dst.ID {
				fmt.Fprint(w, "\t-")
				continue
			}
			fmt.Fprintf(w, "\t%s", terminal.Bytes(pairBytes(s, src.ID, dst.ID)))
		}
		fmt.Fprintln(w)
	}
}

// pairBytes sums the traffic of every kind from one rack to another.
func pairBytes(s *snapshot.Snapshot, src, dst model.RackID) float64 {
	i, j := slices.Index(s.Traffic.Racks, src), slices.Index(s.Traffic.Racks, dst)
	sum := 0.0
	for _, rows := range s.Traffic.Bytes {
		if i < len(rows) && j < len(rows[i]) {
			sum += rows[i][j]
		}
	}
	return sum
}

func preferenceTable(w io.Writer, s *snapshot.Snapshot) {
	fmt.Fprintln(w, "APPLICATION\tSTATE\tSTAGE\tRANK\tPREFERS\tREASON\tCROSS-RACK: PLAN\tAS PLACED\tEVENLY")
	for _, a := range s.Apps {
		for _, p := range s.Plans[a.ID] {
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", shortID(a.ID), a.Name, a.State, p.Stage, p.Rank, preferredRacks(p), p.Reason,
				costText(p, "plan"), costText(p, "as_placed"), costText(p, "uniform"))
		}
	}
}

// shortID returns an application's number, without the ResourceManager's start time.
func shortID(id model.AppID) string {
	if i := strings.LastIndexByte(string(id), '_'); i >= 0 {
		return string(id[i:])
	}
	return string(id)
}

func preferredRacks(p *model.Plan) string {
	if p.Hold {
		return "hold"
	}
	var parts []string
	for _, t := range p.Racks {
		if t.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s:%d", t.Rack, t.Count))
		}
	}
	if len(parts) == 0 {
		return "any rack"
	}
	return strings.Join(parts, " ")
}

func costText(p *model.Plan, name string) string {
	for _, c := range p.Costs {
		if c.Name == name {
			return terminal.Bytes(float64(c.CrossRack))
		}
	}
	return "-"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
