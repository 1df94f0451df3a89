package reproduce

import (
	"fmt"
	"math"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/sim"
	"heddle/core/workload"
)

const shuffleWatcherTitle = "ShuffleWatcher: Shuffle-aware Scheduling in Multi-tenant MapReduce Clusters"

// Policies of ShuffleWatcher's comparisons (§4.2, §5.3).
const (
	swStrict  = `{"relax_s":0}`
	swDRF     = `{"relax_s":0,"fairness":"drf"}`
	swPrinted = `{"relax_s":0,"scan":"greedy","assume_unknown":true,"recompute_at":0,"sarp_refresh":false}`
	swNASS    = `{"relax_s":0,"samp":false,"sarp":false}`
	swSARP    = `{"relax_s":0,"samp":false}`
	swSAMP    = `{"relax_s":0,"sarp":false}`
	// Under relaxed fairness users wait for the racks that SAMP and SARP prefer.
	swWaits     = `{"relax_for":"preferred"}`
	swWaitsLong = `{"relax_for":"preferred","relax_s":60}`
)

// swAlike is the end of a load's name in which all inputs are of one size.
const swAlike = "#alike"

// Table 3 has 1,344 GB of shuffle, of the 300 jobs that are plotted. Jobs of Table
// 2's sizes shuffle 24 times as much, and their inputs would fill the cluster's
// disks: sizes are taken for those of the traces that the table cites, and all are
// divided alike.
const (
	swShuffle = 1344e9
	swSteady  = 300.0 / 360
)

// swSize is the part of the paper's cluster that is simulated: of nodes and of
// bytes, with all users and jobs.
type swSize struct {
	racks racks
	scale float64 // of Table 2's sizes
}

// swSized returns it for a cluster of the paper whose jobs are a part of swShuffle.
func swSized(in *Inputs, whole racks) (swSize, error) {
	z := swSize{racks: whole.part(max(in.Parts, 1))}
	w, err := workload.Synth("synth:shufflewatcher")
	if err != nil {
		return z, err
	}
	printed := float64(w.Describe().Shuffle)
	z.scale = swShuffle / swSteady / printed * float64(z.racks.nodes()) / float64(whole.nodes())
	return z, nil
}

// load names a load of the generator.
func (z *swSize) load(users, jobs int, more string) string {
	return z.onRacks(users, jobs, more+",racks=2")
}

func (z *swSize) onRacks(users, jobs int, more string) string {
	return fmt.Sprintf("synth:shufflewatcher,users=%d,jobs_per_user=%d,scale=%.4g", users, jobs, z.scale) + more
}

// cluster has a node's slots of §4.2.
func (z *swSize) cluster() sim.Cluster {
	c := z.racks.cluster(6, 0.25)
	c.Block = 64 * model.MiB
	for i := range c.Racks {
		c.Racks[i].Containers, c.Racks[i].Slots = 0, model.Slots{Maps: 4, Reduces: 2}
	}
	return c
}

// The clusters of §4.1 and §5.6, and how many users they have.
const (
	swUsers = 30
	swJobs  = 12
	swFew   = swUsers * 16 / 100 // of 16 nodes
)

func swClusters(in *Inputs) (ec2, dedicated swSize, err error) {
	if ec2, err = swSized(in, racks{10, 10, 0.5}); err != nil {
		return ec2, dedicated, err
	}
	dedicated, err = swSized(in, racks{4, 4, 0.2})
	return ec2, dedicated, err
}

// shuffleWatcherLab prepares the runs.
func shuffleWatcherLab(in *Inputs, large, small *swSize) *lab {
	ec2, dedicated, untyped := large.cluster(), small.cluster(), large.racks.cluster(6, 0.25)
	untyped.Block = ec2.Block
	base, few := large.load(swUsers, swJobs, ""), small.load(swFew, swJobs, "")
	l := &lab{in: in, load: swWorkload, steady: swSteady, variants: []variant{
		{name: "Fair", load: base, policy: "fair", params: byArrival},
		{name: "SW-fair", load: base, policy: "shufflewatcher", params: swStrict},
		{name: "Delay", load: base, policy: "delay"},
		{name: "SW-relaxed", load: base, policy: "shufflewatcher"},
		{name: "DRF", load: base, policy: "drf"},
		{name: "SW-DRF", load: base, policy: "shufflewatcher", params: swDRF},
		{name: "NASS", load: base, policy: "shufflewatcher", params: swNASS},
		{name: "NASS, SARP", load: base, policy: "shufflewatcher", params: swSARP},
		{name: "as printed", load: base, policy: "shufflewatcher", params: swPrinted},
		{name: "map completion 0.05", load: base, policy: "shufflewatcher", params: `{"relax_s":0,"map_completion":0.05}`},
		{name: "map completion 0.25", load: base, policy: "shufflewatcher", params: `{"relax_s":0,"map_completion":0.25}`},
	}}
	l.variants = append(l.variants, swIsolated(large, base)...)
	l.variants = append(l.variants, swPair("all racks", large.onRacks(swUsers, swJobs, ""))...)
	l.variants = append(l.variants, swPair("all at once", large.load(swUsers, swJobs, ",arrivals=cluster"))...)
	for _, n := range []int{9, 18} {
		l.variants = append(l.variants, swPair(fmt.Sprintf("%d jobs", n), large.load(swUsers, n, ""))...)
	}
	for _, mix := range []string{"1", "3"} {
		l.variants = append(l.variants, swPair("mix"+mix, large.load(swUsers, swJobs, ",mix="+mix))...)
	}
	for i := range l.variants {
		l.variants[i].cluster = ec2
	}
	for _, v := range swPair("untyped", base) {
		v.cluster = untyped
		l.variants = append(l.variants, v)
	}
	ones := small.load(swFew*swJobs, 1, "")
	l.variants = append(l.variants, swPair("1 job, untyped", ones)...)
	for i := len(l.variants) - 2; i < len(l.variants); i++ {
		l.variants[i].cluster = small.racks.cluster(6, 0.25)
		l.variants[i].cluster.Block = ec2.Block
	}
	for _, v := range append(swPair("1 job", ones), append(swPair("16 nodes", few),
		variant{name: "16 nodes, Delay", load: few, policy: "delay"},
		variant{name: "16 nodes, SW-relaxed", load: few, policy: "shufflewatcher"})...) {
		v.cluster = dedicated
		l.variants = append(l.variants, v)
	}
	return l
}

// swIsolated are the policy with parts of it switched off, with other settings, and
// on inputs that lie otherwise or are alike.
func swIsolated(large *swSize, base string) []variant {
	one := large.onRacks(swUsers, swJobs, ",racks=1")
	sw := func(name, load, params string) variant {
		return variant{name: name, load: load, policy: "shufflewatcher", params: params}
	}
	share := func(at float64) variant {
		v := sw(fmt.Sprintf("saturation %g", at), base, swStrict)
		v.saturation = at
		return v
	}
	others := sw("other draws", base, swStrict)
	others.draws = 1000
	return append(
		swPair("alike", base+swAlike),
		sw("NASS, SAMP", base, swSAMP), sw("NASS, relaxed", base, `{"samp":false,"sarp":false}`),
		share(0.75), share(0.9), share(1), others,
		sw("waits", base, swWaits), sw("waits long", base, swWaitsLong),
		variant{name: "alike, Delay", load: base + swAlike, policy: "delay"}, sw("alike, waits long", base+swAlike, swWaitsLong),
		variant{name: "1 rack, Delay", load: one, policy: "delay"}, sw("1 rack, waits", one, swWaits), sw("1 rack, waits long", one, swWaitsLong),
	)
}

// swPair is Fair and SW-fair on a load.
func swPair(name, load string) []variant {
	return []variant{
		{name: name + ", Fair", load: load, policy: "fair", params: byArrival},
		{name: name + ", SW-fair", load: load, policy: "shufflewatcher", params: swStrict},
	}
}

// swWorkload makes a load.
func swWorkload(name string, seed int) (*workload.Workload, error) {
	spec, alike := strings.CutSuffix(name, swAlike)
	w, err := workload.Synth(fmt.Sprintf("%s,seed=%d", spec, seed))
	if err == nil && alike {
		swEven(w)
	}
	return w, err
}

// swEven gives every job the mean input, and what its benchmark shuffles and writes
// of that.
func swEven(w *workload.Workload) {
	z := workload.DefaultSizing()
	z.Block = 64 * model.MiB
	var sum model.Bytes
	for i := range w.Jobs {
		sum += w.Jobs[i].Input()
	}
	each := sum / model.Bytes(len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		z.Racks = j.Stages[0].Reads[0].Racks
		by := float64(each) / float64(j.Input())
		j.Stages = z.MapReduce(z.Input(each), model.Bytes(by*float64(j.Shuffle())), model.Bytes(by*float64(j.Output())))
	}
}

// ShuffleWatcher reproduces algorithms.md 3.1.
func ShuffleWatcher(in *Inputs) (Paper, error) {
	large, small, err := swClusters(in)
	if err != nil {
		return Paper{}, err
	}
	p := Paper{Name: "shufflewatcher", Title: shuffleWatcherTitle, Settings: []Setting{
		{"cluster", large.racks.String() + "; 250 Mbps a node", "§4.1 has 10 racks of 10 nodes with 0.5 Gbps; per rack, not per pair of racks, is ours"},
		{"slots", "4 of a node for maps, 2 for reduces", "§4.2"},
		{"HDFS", "blocks of 64 MiB, 3 replicas, one copy of what is written across racks", "§4.2"},
		{"jobs", "Tables 1 and 2: 30 users with 12 jobs each", "§4.3"},
		{"sizes", fmt.Sprintf("those of Table 2 by %.4g: as much shuffle for each node as in Table 3, of 300 jobs", large.scale), "Tables 2 and 3, which do not agree; that sizes are divided is ours"},
		{"submissions", "of each user 40 s apart on average, so that a user has up to 12 jobs to choose from", "§4.3, §5.4; of each user is ours"},
		{"throughput", "5 jobs of 6, over the time until so many have ended", "300 of 360 jobs are plotted, and ramp-down is left out (§4.3); that it is a sixth is ours"},
		{"ratios of shuffle and output to input", "by benchmark, as in docs/workloads.md", "ours"},
		{"inputs", "the first replicas of a job's input on 2 racks, the other two together on any other", "ours, as in figure 7; by Table 3's remote maps under Fair (SW2); on all racks is tried at SW3"},
		{"task times", "4 s a task, 128 s for every GiB of a map, 64 s of a reduce", "ours"},
		{"reduces", "one for every GiB of shuffle and output", "ours"},
		{"Fair", "users by memory, a user's jobs by arrival", "§2, §4.2"},
		{"network saturation", "80 %, of a moving average of 5 s; 75, 90 and 100 % at SW15", "§4.2, §3.1; the average is ours"},
		{"MapCompletionThreshold, window, relaxed fairness", "15 %, 10 min, 5 s", "§4.2, §3.4, §5.2"},
		{"SAMP", "all prefixes of racks; once more at 5 % of the maps; only for jobs with a measured ratio", "ours; as printed is tried at SW3"},
		{"SARP", "follows the map output", "ours; the paper computes it once"},
		{"NASS alone, with SARP", "SAMP switched off, for NASS alone SARP too", "§5.3"},
		{"16 nodes", fmt.Sprintf("%s, slots as above; %d users with 12 jobs, or %d with one; bytes by %.4g", small.racks, swFew, swFew*swJobs, small.scale), "§5.6 has 4 racks of 4 nodes; users by the number of nodes are ours"},
	}}
	l := shuffleWatcherLab(in, &large, &small)
	in.begin(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	p.Rows = append(swTable3(l), swPerformance(l)...)
	p.Rows = append(p.Rows, swParts(l)...)
	p.Rows = pointed(append(p.Rows, swSensitivity(l)...), "SW3")
	p.Rows = append(p.Rows, swFigure7(), swHeavy(in), Row{
		ID: "SW18", What: "curves of figures 1 and 8 to 14", Paper: "no numbers", Status: Impossible, Verdict: NotJudged,
	})
	return p, nil
}

// swTable3 gives SW1 and SW2.
func swTable3(l *lab) []Row {
	crossed := l.by("Fair", func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByBytes })
	part := func(r *sim.Run) float64 { return 100 * crossRead(r) / max(crossRack(r), 1) }
	total := l.by("Fair", func(r *sim.Run) float64 { return float64(r.ShuffleBytes) / 1e9 })
	reads := Row{
		ID: "SW2", What: "part of maps' reads in the bytes across racks under Fair (Table 3: 273 of 1455 GB), and of heavy, medium, light jobs", Paper: "18.8 %; 14.4, 37.6, 81.4 %",
		Ours: spread("%.1f %%", l.by("Fair", part)), Status: Shape, Verdict: within(median(l.by("Fair", part)), 18.8, 0.5),
		Note: "yes up to a half, but of all jobs it is no evidence: this row decided on how many racks inputs lie; on all racks it is " + spread("%.1f %%", l.by("all racks, Fair", part)),
	}
	for i, want := range []float64{14.4, 37.6, 81.4} {
		class := [...]workload.Class{workload.Heavy, workload.Medium, workload.Light}[i]
		of, whole := l.ofClass("Fair", class, read), l.ofClass("Fair", class, both)
		for seed := range of {
			of[seed] = 100 * of[seed] / max(whole[seed], 1)
		}
		reads.Ours += [...]string{"; ", ", ", ", "}[i] + spread("%.1f %%", of)
		reads.Verdict = all(reads.Verdict, within(median(of), want, 0.5))
	}
	return []Row{
		{
			ID: "SW1", What: "part of the shuffle that crosses racks under Fair (Table 3: 1182 of 1344 GB)", Paper: "87.9 %", Ours: spread("%.1f %%", crossed),
			Status: Shape, Verdict: within(median(crossed), 87.9, 0.05),
			Note: "of " + spread("%.0f GB", total) + " in all",
		},
		reads,
	}
}

// swPerformance gives SW3 to SW6.
func swPerformance(l *lab) []Row {
	better := make([]float64, l.in.seeds())
	for seed := range better {
		fair, sw := l.results["Fair"][seed].Responses, l.results["SW-fair"][seed].Responses
		for i := range fair {
			if sw[i] < fair[i] {
				better[seed] += 100 / float64(len(fair))
			}
		}
	}
	return []Row{
		claims("SW3", "SW-fair against Fair", l.trio("SW-fair", "Fair", [3]float64{39, -27, -36})...).noted(
			l.tried("SAMP and SARP as printed", "as printed", "Fair"), l.tried("inputs on all racks", "all racks, SW-fair", "all racks, Fair"),
			l.tried("6 containers a node for maps and reduces alike", "untyped, SW-fair", "untyped, Fair"),
			l.tried("submissions of all users together 40 s apart", "all at once, SW-fair", "all at once, Fair")),
		claims("SW4", "SW-relaxed against Delay", l.trio("SW-relaxed", "Delay", [3]float64{46, -32, -48})...).noted(
			l.tried("users who wait for preferred racks, not for any local map", "waits", "Delay"),
			l.tried("the same, with first replicas on one rack", "1 rack, waits", "1 rack, Delay"), l.tried("the same for 60 s", "1 rack, waits long", "1 rack, Delay")),
		claims("SW5", "SW-DRF against DRF; the paper says similar to SW3", l.trio("SW-DRF", "DRF", [3]float64{39, -27, -36})...).noted("tasks are all of one size, so that DRF is Fair"),
		{
			ID: "SW6", What: "jobs whose turn-around improves", Paper: "all of 300", Ours: spread("%.0f %%", better), Status: Shape,
			Verdict: verdict(median(better) > 100-1e-6),
		},
	}
}

// swParts gives SW7 to SW11: what NASS, SARP and SAMP do.
func swParts(l *lab) []Row {
	nass := l.change("NASS", "Fair", crossRack)
	more := l.by("SW-fair", crossRead)
	without, all := l.by("NASS, SARP", crossRead), l.by("Fair", crossRack)
	for i := range more {
		more[i] = 100 * (more[i] - without[i]) / max(all[i], 1)
	}
	share := Row{
		ID: "SW11", What: "part of NASS in the gain of throughput", Paper: "> 40 %", Status: Shape, Verdict: No,
		Ours: "NASS " + spread("%+.1f %%", l.change("NASS", "Fair", throughput)) + ", all " + spread("%+.1f %%", l.change("SW-fair", "Fair", throughput)),
	}
	if gain := median(l.change("SW-fair", "Fair", throughput)); gain > 0 {
		share.Verdict = verdict(median(l.change("NASS", "Fair", throughput)) > 0.4*gain)
	} else {
		share.Note = "there is no gain to divide"
	}
	classes := func(name, base string, of func(m *sim.Moved) model.Bytes, heavy, medium, light float64) []claim {
		return []claim{
			{"heavy", l.changed(name, base, workload.Heavy, of), heavy}, {"medium", l.changed(name, base, workload.Medium, of), medium}, {"light", l.changed(name, base, workload.Light, of), light},
		}
	}
	return []Row{
		claims("SW7", "SARP's part, bytes across racks", append(classes("NASS, SARP", "NASS", both, -16, -13, -4), claim{"all", l.change("NASS, SARP", "NASS", crossRack), -15})...).noted(
			"there is next to nothing to follow: without SAMP "+l.on("Fair", "NASS", "NASS, SARP"), "figure 3 has it for heavy jobs alone (lines 8 and 13)", "what was tried stands at SW8"),
		claims("SW8", "with SAMP added, against Fair: shuffle across racks, and all bytes across racks", append(classes("SW-fair", "Fair", shuffled, -38, -23, -4), claim{"all bytes", l.change("SW-fair", "Fair", crossRack), -36})...).noted(swWhy(l)...),
		claims("SW9", "maps' reads across racks that SAMP adds, in per cent of Fair's cross-rack bytes; the paper's is of heavy jobs", claim{"maps' reads", more, 3}),
		{
			ID: "SW10", What: "NASS alone leaves the bytes across racks as they are", Paper: "0 %", Ours: spread("%+.1f %%", nass) + ": " + l.kinds("NASS", "Fair"), Status: Shape,
			Verdict: verdict(math.Abs(median(nass)) <= 2), Note: "yes up to 2 %; Fair takes a user's earliest job wherever its input lies (§2.2), lines 5 and 17 a local map of any of the user's jobs first; " +
				"tried NASS with relaxed fairness against Delay, which has no such reads: cross-rack bytes " + spread("%+.1f %%", l.change("NASS, relaxed", "Delay", crossRack)),
		},
		share,
	}
}

// swWhy says why bytes across racks stay: with parts of the policy switched off,
// with users who wait for preferred racks, and with other jobs.
func swWhy(l *lab) []string {
	part := func(name string) string {
		return spread("%.0f %%", l.by(name, func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByBytes }))
	}
	return []string{
		"of the shuffle " + part("SW-fair") + " crosses racks, under Fair " + part("Fair"),
		l.on("Fair", "NASS", "NASS, SARP", "NASS, SAMP", "SW-fair", "as printed"),
		"SAMP prefers a rack or two, but fairness gives a user containers on all of them, and where none of the user's jobs prefers the rack the maps that are local there are launched (line 5), which are those of the largest jobs",
		l.moved("users who wait 5 s for preferred racks, against Delay", "waits", "Delay"), l.moved("60 s", "waits long", "Delay"),
		l.moved("jobs of one size, SW-fair against Fair", "alike, SW-fair", "alike, Fair"), l.moved("jobs of one size and 60 s, against Delay", "alike, waits long", "alike, Delay"),
		l.moved("first replicas on one rack and 60 s, against Delay", "1 rack, waits long", "1 rack, Delay"),
	}
}

// swSensitivity gives SW12 to SW15.
func swSensitivity(l *lab) []Row {
	nine, twelve, more := l.change("9 jobs, SW-fair", "9 jobs, Fair", throughput), l.change("SW-fair", "Fair", throughput), l.change("18 jobs, SW-fair", "18 jobs, Fair", throughput)
	users := claims("SW12", "one job a user, 16 nodes; gains increase with 9, 12, 18 jobs a user", claim{"throughput", l.change("1 job, SW-fair", "1 job, Fair", throughput), 16})
	users.Ours += "; 9, 12, 18: " + spread("%+.1f %%", nine) + ", " + spread("%+.1f %%", twelve) + ", " + spread("%+.1f %%", more)
	for i := range nine {
		if !rising([]float64{nine[i], twelve[i], more[i]}) {
			users.Verdict = No
		}
	}
	if l.alike("1 job, SW-fair", "1 job, Fair") {
		users = users.noted("with typed slots and one job a user NASS has nothing to choose: it is Fair, launch for launch")
	}
	users = users.noted(l.tried("6 containers a node with one job a user", "1 job, untyped, SW-fair", "1 job, untyped, Fair"))
	one, three := l.change("mix1, SW-fair", "mix1, Fair", throughput), l.change("mix3, SW-fair", "mix3, Fair", throughput)
	dedicated := l.trio("16 nodes, SW-fair", "16 nodes, Fair", [3]float64{46, -32, -48})
	for _, c := range l.trio("16 nodes, SW-relaxed", "16 nodes, Delay", [3]float64{54, -38, -56}) {
		c.what += " against Delay"
		dedicated = append(dedicated, c)
	}
	return []Row{
		users,
		claims("SW13", "gain with the mixes of §5.5", claim{"mix1", one, 31}, claim{"mix2", twelve, 39}, claim{"mix3", three, 22}),
		claims("SW14", "16 nodes: SW-fair against Fair, SW-relaxed against Delay", dedicated...),
		swThreshold(l),
	}
}

// swThreshold gives SW15. Where a threshold decides nothing, there is nothing to
// judge.
func swThreshold(l *lab) Row {
	maps, shares := []string{"map completion 0.05", "map completion 0.25"}, []string{"saturation 0.75", "saturation 0.9", "saturation 1"}
	r := Row{
		ID: "SW15", What: "throughput with MapCompletionThreshold 5 and 25 %; with saturation at 75 to 100 %", Paper: "< 1 %", Status: Shape, Verdict: Yes,
		Note: "saturation at 75, 90 and 100 %; tried SW-fair with other draws of blocks and heartbeats: " + spread("%+.1f %%", l.change("other draws", "SW-fair", throughput)),
	}
	decided := false
	for _, names := range [][]string{maps, shares} {
		var parts []string
		for _, name := range names {
			got := l.change(name, "SW-fair", throughput)
			parts = append(parts, spread("%+.1f %%", got))
			r.Verdict = all(r.Verdict, verdict(math.Abs(median(got)) < 1))
			decided = decided || !l.alike(name, "SW-fair")
		}
		if r.Ours != "" {
			r.Ours += "; "
		}
		r.Ours += strings.Join(parts, ", ")
	}
	if !decided {
		r.Verdict = NotJudged
		r = r.noted("all runs are the same, so that it decided nothing")
	}
	return r
}

// swFigure7 gives SW16: two racks hold 90 and 10 GB of a job's map output, for
// ten reduces.
func swFigure7() Row {
	out := []model.Bytes{90e9, 10e9}
	even, sarp := shuffle.CrossRack(out, []int{5, 5}), shuffle.CrossRack(out, shuffle.Apportion([]float64{90, 10}, 10))
	return Row{
		ID: "SW16", What: "figure 7: bytes of a job across racks, reduces evenly and by SARP", Paper: "50 to 18 GB, -64 %", Status: Arithmetic,
		Ours:    fmt.Sprintf("%g to %g GB, %+.0f %%", float64(even)/1e9, float64(sarp)/1e9, 100*(float64(sarp)/float64(even)-1)),
		Verdict: verdict(even == 50e9 && sarp == 18e9),
	}
}

// swHeavy gives SW17.
func swHeavy(in *Inputs) Row {
	row := Row{ID: "SW17", What: "cited: Facebook's jobs that shuffle more than they read", Paper: "20 %", Status: Arithmetic}
	if in.FB2010 == nil {
		row.Verdict, row.Note = NotRun, noTrace
		return row
	}
	n := 0
	for i := range in.FB2010.Jobs {
		if j := &in.FB2010.Jobs[i]; j.Shuffle() > j.Input() {
			n++
		}
	}
	part := 100 * float64(n) / float64(len(in.FB2010.Jobs))
	row.Ours, row.Verdict = fmt.Sprintf("%.1f %% (%d jobs)", part, n), within(part, 20, 0.05)
	return row
}
