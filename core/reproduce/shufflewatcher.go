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
	swFifo    = `{"schedulingPolicy":"fifo"}` // a user's jobs by arrival: "the earliest enqueued task" (§2)
	swStrict  = `{"relax_s":0}`
	swDRF     = `{"relax_s":0,"fairness":"drf"}`
	swPrinted = `{"relax_s":0,"scan":"greedy","assume_unknown":true,"recompute_at":0,"sarp_refresh":false}`
	// NASS alone and with SARP: no ratio is known when jobs come, so that SAMP leaves them alone, as in the load alone.
	swNASS = `{"relax_s":0,"recompute_at":0,"map_completion":1}`
	swSARP = `{"relax_s":0,"recompute_at":0}`
)

// swAlone is the end of a load's name in which jobs have no names: nothing is
// known of one from earlier ones.
const swAlone = "#alone"

// shuffleWatcherLab prepares the runs.
func shuffleWatcherLab(in *Inputs) *lab {
	ec2 := sim.Uniform(10, 10, 6, gbps(0.5), gbps(0.25))
	dedicated := sim.Uniform(4, 4, 6, gbps(0.2), gbps(0.25))
	ec2.Block, dedicated.Block = 64*model.MiB, 64*model.MiB
	users, jobs := swScale(in, 30, 12)
	base := swLoad(users, jobs, 40, "")
	few, fewJobs := swScale(in, 5, 12)
	small := swLoad(few, fewJobs, 250, "")
	one, _ := swScale(in, 60, 1)
	ones := swLoad(one, 1, 250, "")
	l := &lab{in: in, load: swJobs, variants: []variant{
		{name: "Fair", load: base, policy: "fair", params: swFifo},
		{name: "SW-fair", load: base, policy: "shufflewatcher", params: swStrict},
		{name: "Delay", load: base, policy: "delay"},
		{name: "SW-relaxed", load: base, policy: "shufflewatcher"},
		{name: "DRF", load: base, policy: "drf"},
		{name: "SW-DRF", load: base, policy: "shufflewatcher", params: swDRF},
		{name: "NASS", load: base + swAlone, policy: "shufflewatcher", params: swNASS},
		{name: "NASS, SARP", load: base + swAlone, policy: "shufflewatcher", params: swSARP},
		{name: "as printed", load: base, policy: "shufflewatcher", params: swPrinted},
		{name: "2 racks, Fair", load: base + ",racks=2", policy: "fair", params: swFifo},
		{name: "2 racks, SW-fair", load: base + ",racks=2", policy: "shufflewatcher", params: swStrict},
		{name: "map completion 0.05", load: base, policy: "shufflewatcher", params: `{"relax_s":0,"map_completion":0.05}`},
		{name: "map completion 0.25", load: base, policy: "shufflewatcher", params: `{"relax_s":0,"map_completion":0.25}`},
	}}
	for _, n := range []int{9, 18} {
		of := swLoad(users, max(jobs*n/12, 1), 40, "")
		l.variants = append(l.variants, swPair(fmt.Sprintf("%d jobs", n), of)...)
	}
	for _, mix := range []string{"1", "3"} {
		l.variants = append(l.variants, swPair("mix"+mix, swLoad(users, jobs, 40, mix))...)
	}
	for i := range l.variants {
		l.variants[i].cluster = ec2
	}
	for _, v := range append(swPair("1 job", ones), append(swPair("16 nodes", small),
		variant{name: "16 nodes, Delay", load: small, policy: "delay"},
		variant{name: "16 nodes, SW-relaxed", load: small, policy: "shufflewatcher"})...) {
		v.cluster = dedicated
		l.variants = append(l.variants, v)
	}
	return l
}

// swPair is Fair and SW-fair on a load.
func swPair(name, load string) []variant {
	return []variant{
		{name: name + ", Fair", load: load, policy: "fair", params: swFifo},
		{name: name + ", SW-fair", load: load, policy: "shufflewatcher", params: swStrict},
	}
}

// swScale divides users, and where there are too few the jobs of each.
func swScale(in *Inputs, users, jobs int) (int, int) {
	parts := max(in.Parts, 1)
	few := max(users/parts, min(users, 2))
	return few, max(jobs*users/parts/few, 1)
}

// swLoad names a load of the generator.
func swLoad(users, jobs, mean int, mix string) string {
	name := fmt.Sprintf("synth:shufflewatcher,arrivals=cluster,users=%d,jobs_per_user=%d,mean_s=%d", users, jobs, mean)
	if mix != "" {
		name += ",mix=" + mix
	}
	return name
}

// swJobs makes a load.
func swJobs(name string, seed int) (*workload.Workload, error) {
	spec, alone := strings.CutSuffix(name, swAlone)
	w, err := workload.Synth(fmt.Sprintf("%s,seed=%d", spec, seed))
	if err != nil || !alone {
		return w, err
	}
	for i := range w.Jobs {
		w.Jobs[i].Name = ""
	}
	return w, nil
}

// ShuffleWatcher reproduces algorithms.md 3.1.
func ShuffleWatcher(in *Inputs) (Paper, error) {
	p := Paper{Name: "shufflewatcher", Title: shuffleWatcherTitle, Settings: []Setting{
		{"cluster", "10 racks of 10 nodes; 500 Mbps in and out of a rack, 250 Mbps a node", "§4.1; per rack, not per pair of racks, is ours"},
		{"containers", "6 a node, for maps and reduces alike", "§4.2 has 4 slots for maps and 2 for reduces"},
		{"HDFS", "blocks of 64 MiB, 3 replicas, one copy of what is written across racks", "§4.2"},
		{"jobs", "Tables 1 and 2: 30 users with 12 jobs each", "§4.3"},
		{"submissions", "40 s apart on average, of all users together: 4 hours", "§4.3; of all together is ours"},
		{"time", "from the first submission to the last end", "ours; the paper measures 4 hours of steady state"},
		{"ratios of shuffle and output to input", "by benchmark, as in docs/workloads.md", "ours"},
		{"inputs", "on all racks", "ours"},
		{"task times", "4 s a task, 128 s for every GiB of a map, 64 s of a reduce", "ours"},
		{"reduces", "one for every GiB of shuffle and output", "ours"},
		{"Fair", "users by memory, a user's jobs by arrival", "§2, §4.2"},
		{"network saturation", "80 %, of a moving average of 5 s", "§4.2; the average is ours"},
		{"MapCompletionThreshold, window, relaxed fairness", "15 %, 10 min, 5 s", "§4.2, §3.4, §5.2"},
		{"SAMP", "all prefixes of racks; once more at 5 % of the maps; only for jobs with a measured ratio", "ours; as printed is tried at SW3"},
		{"SARP", "follows the map output", "ours; the paper computes it once"},
		{"NASS alone, with SARP", "jobs have no names, so that SAMP knows no ratio; map completion 1 for NASS alone", "ours"},
		{"16 nodes", "4 racks of 4 nodes with 6 containers, 200 Mbps in and out of a rack; 5 users with 12 jobs, or 60 with one, 250 s apart", "§5.6; users and times are ours, by the number of nodes"},
		{"jobs and users run", fmt.Sprintf("a part of 1/%d", max(in.Parts, 1)), "ours"},
	}}
	l := shuffleWatcherLab(in)
	in.begin(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	p.Rows = append(l.swTable3(), l.swPerformance()...)
	p.Rows = append(p.Rows, l.swParts()...)
	p.Rows = pointed(append(p.Rows, l.swSensitivity()...), "SW3")
	p.Rows = append(p.Rows, swFigure7(), swHeavy(in), Row{
		ID: "SW18", What: "curves of figures 1 and 8 to 14", Paper: "no numbers", Status: Impossible, Verdict: NotJudged,
	})
	return p, nil
}

// swTable3 gives SW1 and SW2: the simulator does not tell bytes by class of
// benchmark, so the parts of all jobs are compared.
func (l *lab) swTable3() []Row {
	crossed := l.by("Fair", func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByBytes })
	read := l.by("Fair", func(r *sim.Run) float64 { return 100 * crossRead(r) / max(crossRack(r), 1) })
	total := l.by("Fair", func(r *sim.Run) float64 { return float64(r.ShuffleBytes) / 1e9 })
	return []Row{
		{
			ID: "SW1", What: "part of the shuffle that crosses racks under Fair (Table 3: 1182 of 1344 GB)", Paper: "87.9 %", Ours: spread("%.1f %%", crossed),
			Status: Shape, Verdict: within(median(crossed), 87.9, 0.05),
			Note: "volumes are not comparable: ours is " + spread("%.0f GB", total) + ". Heavy jobs of Table 2's sizes shuffle more than the 10 uplinks carry in 4 hours (9,000 GB)",
		},
		{
			ID: "SW2", What: "part of maps' reads in the bytes across racks under Fair (Table 3: 273 of 1455 GB)", Paper: "18.8 %", Ours: spread("%.1f %%", read),
			Status: Shape, Verdict: within(median(read), 18.8, 0.5), Note: "by class of benchmark the simulator tells no bytes",
		},
	}
}

// swPerformance gives SW3 to SW6.
func (l *lab) swPerformance() []Row {
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
			l.tried("SAMP and SARP as printed", "as printed", "Fair"), l.tried("the input of a job on 2 racks", "2 racks, SW-fair", "2 racks, Fair")),
		claims("SW4", "SW-relaxed against Delay", l.trio("SW-relaxed", "Delay", [3]float64{46, -32, -48})...),
		claims("SW5", "SW-DRF against DRF; the paper says similar to SW3", l.trio("SW-DRF", "DRF", [3]float64{39, -27, -36})...).noted("containers are all of one size, so that DRF is Fair"),
		{
			ID: "SW6", What: "jobs whose turn-around improves", Paper: "all of 300", Ours: spread("%.0f %%", better), Status: Shape,
			Verdict: verdict(median(better) > 100-1e-6),
		},
	}
}

// swParts gives SW7 to SW11: what NASS, SARP and SAMP do.
func (l *lab) swParts() []Row {
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
	return []Row{
		claims("SW7", "SARP's part, all jobs", claim{"cross-rack bytes", l.change("NASS, SARP", "NASS", crossRack), -15}).noted("by class (16, 13, 4 %) not told by the simulator"),
		claims("SW8", "with SAMP added, against Fair, all jobs", claim{"cross-rack bytes", l.change("SW-fair", "Fair", crossRack), -36}).noted("by class (38, 23, 4 %) not told by the simulator"),
		claims("SW9", "maps' reads across racks that SAMP adds, in per cent of Fair's cross-rack bytes; the paper's is of heavy jobs", claim{"maps' reads", more, 3}),
		{
			ID: "SW10", What: "NASS alone leaves the bytes across racks as they are", Paper: "0 %", Ours: spread("%+.1f %%", nass), Status: Shape,
			Verdict: verdict(math.Abs(median(nass)) <= 2), Note: "yes up to 2 %",
		},
		share,
	}
}

// swSensitivity gives SW12 to SW15.
func (l *lab) swSensitivity() []Row {
	nine, twelve, more := l.change("9 jobs, SW-fair", "9 jobs, Fair", throughput), l.change("SW-fair", "Fair", throughput), l.change("18 jobs, SW-fair", "18 jobs, Fair", throughput)
	users := claims("SW12", "one job a user, 16 nodes; gains increase with 9, 12, 18 jobs a user", claim{"throughput", l.change("1 job, SW-fair", "1 job, Fair", throughput), 16})
	users.Ours += "; 9, 12, 18: " + spread("%+.1f %%", nine) + ", " + spread("%+.1f %%", twelve) + ", " + spread("%+.1f %%", more)
	for i := range nine {
		if !rising([]float64{nine[i], twelve[i], more[i]}) {
			users.Verdict = No
		}
	}
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
		l.swThreshold(),
	}
}

// swThreshold gives SW15. Where the threshold decides nothing, there is nothing
// to judge.
func (l *lab) swThreshold() Row {
	low, high := l.change("map completion 0.05", "SW-fair", throughput), l.change("map completion 0.25", "SW-fair", throughput)
	r := Row{
		ID: "SW15", What: "throughput with MapCompletionThreshold 5 and 25 %; with saturation at 75 to 100 %", Paper: "< 1 %",
		Ours: spread("%+.1f %%", low) + "; " + spread("%+.1f %%", high), Status: Shape,
		Verdict: verdict(math.Abs(median(low)) < 1 && math.Abs(median(high)) < 1), Note: "by MapCompletionThreshold alone: the simulator's saturation is fixed at 80 %",
	}
	if l.alike("map completion 0.05", "SW-fair") && l.alike("map completion 0.25", "SW-fair") {
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
