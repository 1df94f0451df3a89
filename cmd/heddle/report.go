package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/state"
)

// writeReport prints a snapshot for people: racks with their uplinks, bytes
// between racks, and what the policy prefers per job.
func writeReport(w io.Writer, s *state.Snapshot) error {
	if err := tabs(w, func(w io.Writer) { rackTable(w, s) }); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := tabs(w, func(w io.Writer) { trafficTable(w, s) }); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return tabs(w, func(w io.Writer) { preferenceTable(w, s) })
}

func rackTable(w io.Writer, s *state.Snapshot) {
	fmt.Fprintln(w, "RACK\tNODES\tMEMORY\tMAPS\tREDUCES\tUPLINK OUT\tUPLINK IN\tUSED\tSATURATED\tHDFS BLOCKS")
	for _, r := range sortedRacks(s) {
		fmt.Fprintf(w, "%s\t%d\t%d/%d MiB\t%d\t%d\t%s/s\t%s/s\t%.0f %%\t%s\t%d\n", r.ID, r.Nodes[model.NodeRunning],
			r.Used.MemoryMiB, r.Total.MemoryMiB, r.Containers[model.StageMap], r.Containers[model.StageReduce],
			sizeText(float64(r.Uplink.Out)), sizeText(float64(r.Uplink.In)), 100*r.Uplink.Utilization, yesNo(r.Uplink.Saturated), r.HDFSBlocks)
	}
}

func sortedRacks(s *state.Snapshot) []state.RackView {
	racks := slices.DeleteFunc(slices.Clone(s.Racks), func(r state.RackView) bool { return len(r.Nodes) == 0 && r.HDFSBlocks == 0 })
	slices.SortFunc(racks, func(a, b state.RackView) int { return cmp.Compare(a.ID, b.ID) })
	return racks
}

func trafficTable(w io.Writer, s *state.Snapshot) {
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
			fmt.Fprintf(w, "\t%s", sizeText(pairBytes(s, src.ID, dst.ID)))
		}
		fmt.Fprintln(w)
	}
}

// pairBytes sums what moved from one rack to another, of every kind.
func pairBytes(s *state.Snapshot, src, dst model.RackID) float64 {
	i, j := slices.Index(s.Traffic.Racks, src), slices.Index(s.Traffic.Racks, dst)
	sum := 0.0
	for _, rows := range s.Traffic.Bytes {
		if i < len(rows) && j < len(rows[i]) {
			sum += rows[i][j]
		}
	}
	return sum
}

func preferenceTable(w io.Writer, s *state.Snapshot) {
	fmt.Fprintln(w, "APPLICATION\tSTATE\tSTAGE\tRANK\tPREFERS\tREASON\tCROSS-RACK: PLAN\tAS PLACED\tEVENLY")
	for _, a := range s.Apps {
		for _, p := range a.Plans {
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", shortID(a.ID), a.Name, a.State, p.Stage, p.Rank, wishText(p), p.Reason,
				costText(p, "plan"), costText(p, "as_placed"), costText(p, "uniform"))
		}
	}
}

// shortID drops what all applications of one ResourceManager have in common.
func shortID(id model.AppID) string {
	if i := strings.LastIndexByte(string(id), '_'); i >= 0 {
		return string(id[i:])
	}
	return string(id)
}

func wishText(p *model.Plan) string {
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
			return sizeText(float64(c.CrossRack))
		}
	}
	return "-"
}

// sizeText prints bytes in decimal units, as link rates are given.
func sizeText(b float64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if b >= u.size {
			return fmt.Sprintf("%.1f %s", b/u.size, u.unit)
		}
	}
	return fmt.Sprintf("%.0f B", b)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
