package reproduce

import (
	"cmp"
	"fmt"
	"strings"

	"heddle/core/model"
	"heddle/core/sim"
	"heddle/core/workload"
)

const dawnTitle = "Network-Adaptive Scheduling of Data-Intensive Parallel Jobs with Dependencies in Clusters"

// Loads of Dawn.
const (
	dawnStudy = "study"
	dawnML    = "ml"
	dawnMR    = "queries"
	dawnTez   = "tez"

	dawnSpread = "#spread" // behind a load: inputs lie on all racks
	dawnFramed = "#framed" // behind a load: what is shuffled in full is framed
)

// What is run is 4 hours: so many chains of machine learning, 400 s apart, and so
// many rounds of the queries, each in its 25 minutes.
const (
	dawnHours  = 4
	dawnChains = 36
	dawnRounds = 10
)

// dawnJobs makes a load.
func (in *Inputs) dawnJobs(name string, seed int) (*workload.Workload, error) {
	if name == dawnStudy {
		return dawnStudyJobs(), nil
	}
	name, framed := strings.CutSuffix(name, dawnFramed)
	name, spread := strings.CutSuffix(name, dawnSpread)
	rounds := fmt.Sprintf("rounds=%d,window_s=%d", in.part(dawnRounds), 1500*in.part(dawnRounds))
	spec := map[string]string{
		dawnML:  fmt.Sprintf("synth:dawn-ml,benchmarks=%d", in.part(dawnChains)),
		dawnMR:  "synth:dawn-tpch,form=mr," + rounds,
		dawnTez: "synth:dawn-tpch," + rounds,
	}[name]
	if !spread {
		spec += ",racks=1"
	}
	w, err := workload.Synth(fmt.Sprintf("%s,seed=%d", spec, seed))
	if err == nil && framed {
		frame(w)
	}
	return w, err
}

// frame adds 2 % to the shuffle of jobs that shuffle all they read, as framing of
// records does in terasort: ShuffleWatcher then takes them for shuffle-heavy.
func frame(w *workload.Workload) {
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.Shuffle() > 0 && float64(j.Shuffle()) >= 0.999*float64(j.Input()) {
			j.Stages[0].Output += j.Stages[0].Output / 50
		}
	}
}

// dawnStudyJobs makes the case study of §II: 12 jobs of 4 maps and 2 reduces. The
// text does not have the graph of figure 1(a): here eight jobs are read in pairs
// by four others. A job shuffles what it reads and writes half of that.
func dawnStudyJobs() *workload.Workload {
	const input = 512 * model.MiB
	z := workload.DefaultSizing()
	z.PerReduce = (input + input/2) / 2
	w := &workload.Workload{}
	for i := range 12 {
		j := workload.Job{ID: workload.JobID(fmt.Sprintf("job%d", i+1)), User: "user", Queue: workload.DefaultQueue}
		files := z.Input(input)
		if i >= 8 {
			files = nil
			for parent := 2 * (i - 8); parent < 2*(i-8)+2; parent++ {
				j.Parents = append(j.Parents, parent)
				files = append(files, workload.File{Bytes: input / 2, Place: workload.OfParent, Parent: parent})
			}
		}
		j.Stages = z.MapReduce(files, input, input/2)
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// dawnPrinted is Algorithm 1 as printed: it sorts the jobs of all users together.
const dawnPrinted = `{"among":"all"}`

// dawnLab prepares the runs.
func dawnLab(in *Inputs) *lab {
	// Of the case study a slave is a rack of its own: what crosses nodes then crosses racks.
	study := sim.Uniform(4, 1, 4, gbps(1), gbps(1))
	cluster := sim.Uniform(6, 6, 6, gbps(0.5), gbps(1))
	study.CrossRackWrites, cluster.CrossRackWrites = false, false
	l := &lab{in: in, load: in.dawnJobs, window: dawnHours * 3600 / float64(max(in.Parts, 1)), variants: []variant{
		{name: "study, Delay", load: dawnStudy, cluster: study, policy: "delay"},
		{name: "study, Dawn", load: dawnStudy, cluster: study, policy: "dawn", params: dawnPrinted},
	}}
	l.variants = append(l.variants, dawnStudied(&study)...)
	for _, load := range []string{dawnML, dawnMR, dawnTez} {
		for _, v := range []variant{
			{name: "Fair", policy: "delay"}, // "Fair only employs delay scheduling" (§IV-A)
			{name: "SW", policy: "shufflewatcher"},
			{name: "Dawn", policy: "dawn", params: dawnPrinted},
			{name: "Dawn by user", policy: "dawn"},
			{name: "Dawn, 1 wave", policy: "dawn", params: `{"among":"all","waves":1}`},
			{name: "spread, Fair", policy: "delay", load: load + dawnSpread},
			{name: "spread, Dawn", policy: "dawn", params: dawnPrinted, load: load + dawnSpread},
		} {
			v.name, v.load, v.cluster, v.may = load+", "+v.name, cmp.Or(v.load, load), cluster, load == dawnTez
			l.variants = append(l.variants, v)
		}
	}
	l.variants = append(l.variants, dawnIsolated(&cluster)...)
	return l
}

// dawnStudied is the case study with racks that wait for a job that prefers them,
// and with a network of a tenth of the rate.
func dawnStudied(c *sim.Cluster) []variant {
	slow := sim.Uniform(4, 1, 4, gbps(0.1), gbps(0.1))
	slow.CrossRackWrites = false
	dawn := func(name, params string, on *sim.Cluster) variant {
		return variant{name: "study, " + name, load: dawnStudy, cluster: *on, policy: "dawn", params: params}
	}
	return []variant{
		dawn("waits", `{"among":"all","wait":3}`, c), dawn("waits long", `{"among":"all","wait":100}`, c), dawn("slow, Dawn", dawnPrinted, &slow),
		{name: "study, slow, Delay", load: dawnStudy, cluster: slow, policy: "delay"},
	}
}

// dawnIsolated is machine learning under what D7 and D8 are held against.
func dawnIsolated(c *sim.Cluster) []variant {
	single := *c
	single.Replication = 1
	return []variant{
		{name: "ml, no wait", load: dawnML, cluster: *c, policy: "fair", params: byArrival},
		{name: "ml, SW waits", load: dawnML, cluster: *c, policy: "shufflewatcher", params: swWaits},
		{name: "ml, framed, Fair", load: dawnML + dawnFramed, cluster: *c, policy: "delay"},
		{name: "ml, framed, SW", load: dawnML + dawnFramed, cluster: *c, policy: "shufflewatcher"},
		{name: "ml, framed, SW waits", load: dawnML + dawnFramed, cluster: *c, policy: "shufflewatcher", params: swWaits},
		{name: "ml, single, Fair", load: dawnML, cluster: single, policy: "delay"},
		{name: "ml, single, no wait", load: dawnML, cluster: single, policy: "fair", params: byArrival},
		{name: "ml, single, SW", load: dawnML, cluster: single, policy: "shufflewatcher"},
		{name: "ml, single, Dawn", load: dawnML, cluster: single, policy: "dawn", params: dawnPrinted},
	}
}

// Dawn reproduces algorithms.md 3.4.
func Dawn(in *Inputs) (Paper, error) {
	p := Paper{Name: "dawn", Title: dawnTitle, Settings: []Setting{
		{"cluster", "6 racks of 6 nodes, 500 Mbps in and out of a rack", "§IV; per rack, not per pair of racks, is ours"},
		{"containers, interfaces", "6 a node, 1 Gbps a node", "ours"},
		{"HDFS", "blocks of 128 MiB, 3 replicas; copies of output stay off the uplinks", "ours"},
		{"inputs", "the first replicas of a job's input on one rack, the other two together on any other", "ours: figure 4(a) has Dawn read less across racks than Fair, and of inputs on all racks the rack of eq. 1 holds a third at most"},
		{"machine learning", fmt.Sprintf("%d chains of 11 jobs, the inputs of Table I, 400 s apart on average; 10 users", in.part(dawnChains)), "Table I; number, time between them and users are ours"},
		{"queries", fmt.Sprintf("TPC-H's 22 on 50 GiB for every 25 min, %d times; 10 users", in.part(dawnRounds)), "§IV; that they come again for 4 hours, and the users, are ours"},
		{"bytes between jobs and between stages", "docs/workloads.md", "ours; nobody publishes them"},
		{"case study", "4 slaves with 4 containers and 1 Gbps; 8 jobs of 512 MiB, read in pairs by 4 others", "§II; the graph, sizes and rates are ours"},
		{"throughput", fmt.Sprintf("jobs that end within %.3g hours of the first submission", dawnHours/float64(max(in.Parts, 1))), "§IV has 4 hours of steady state; that it begins with an empty cluster is ours"},
		{"completion time of a job", "from when it may start", "ours"},
		{"task times", "4 s a task, 128 s for every GiB of a map, 64 s of a reduce", "ours"},
		{"network saturation", "80 %", "ours, as ShuffleWatcher"},
		{"Fair", "users by memory, a user's jobs by arrival; maps wait 5 s for a node and 5 s for a rack", "§IV-A; the times are ours"},
		{"fairness of Dawn", "none, but ShuffleWatcher's starvation window", "Algorithm 1 as printed; the window is ours"},
		{"output of a job that has not ended", "as much as its map output", "ours"},
	}}
	l := dawnLab(in)
	in.begin(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	p.Rows = append(dawnGains(l), dawnTraffic(l)...)
	p.Rows = append(p.Rows, dawnStages(l)...)
	p.Rows = append(p.Rows, claims("D11", "abstract: throughput of machine learning and queries, against Fair and against SW",
		claim{"ml against Fair", l.change("ml, Dawn", "ml, Fair", throughput), 51}, claim{"queries against Fair", l.change("queries, Dawn", "queries, Fair", throughput), 42},
		claim{"ml against SW", l.change("ml, Dawn", "ml, SW", throughput), 28}, claim{"queries against SW", l.change("queries, Dawn", "queries, SW", throughput), 21}))
	p.Rows = pointed(p.Rows, "D2, D3 and D9")
	return p, nil
}

func makespan(r *sim.Run) float64 { return r.Makespan }

// dawnGains gives D1 to D6.
func dawnGains(l *lab) []Row {
	both := func(id, what string, of figure, ml, queries float64) Row {
		return claims(id, what, claim{"ml", l.change("ml, Dawn", "ml, SW", of), ml}, claim{"queries", l.change("queries, Dawn", "queries, SW", of), queries})
	}
	return []Row{
		claims("D1", "case study against delay scheduling",
			claim{"time", l.change("study, Dawn", "study, Delay", makespan), -29.5}, claim{"cross-node bytes", l.change("study, Dawn", "study, Delay", crossRack), -26.5}).noted(dawnStudyTried(l)...),
		claims("D2", "machine learning against Fair", l.trio("ml, Dawn", "ml, Fair", [3]float64{51, -41, -49})...).noted(dawnBusy(l, "ml")).noted(dawnTried(l, "ml")...).noted(l.tried("one replica of a block", "ml, single, Dawn", "ml, single, Fair")),
		claims("D3", "queries against Fair", claim{"throughput", l.change("queries, Dawn", "queries, Fair", throughput), 42}).noted(dawnBusy(l, "queries")).noted(dawnTried(l, "queries")...),
		both("D4", "throughput against SW", throughput, 28, 21),
		both("D5", "mean completion time against SW", meanJCT, -23, -19),
		both("D6", "cross-rack bytes against SW", crossRack, -26, -22),
	}
}

// dawnStudyTried says what came of the case study otherwise.
func dawnStudyTried(l *lab) []string {
	compute := l.by("study, Delay", func(r *sim.Run) float64 { return 100 * r.Bounds.MakespanCompute / r.Makespan })
	tried := func(setup, name, base string) string {
		return "tried " + setup + ": time " + spread("%+.1f %%", l.change(name, base, makespan)) + ", cross-node bytes " + spread("%+.1f %%", l.change(name, base, crossRack)) +
			", map output of a job on " + spread("%.1f", l.by(name, sources)) + " nodes, its reduces on " + spread("%.1f", l.by(name, sinks))
	}
	return []string{
		"computing alone takes " + spread("%.0f %%", compute) + " of the time under delay scheduling",
		"a node that no job prefers takes any task at once, which Algorithm 1 leaves open: " + strings.TrimPrefix(tried("as it is", "study, Dawn", "study, Delay"), "tried as it is: "),
		tried("3 heartbeats' wait for a job that prefers the node", "study, waits", "study, Delay"), tried("100 heartbeats' wait", "study, waits long", "study, Delay"),
		tried("links of 100 Mbps", "study, slow, Dawn", "study, slow, Delay"),
	}
}

// dawnBusy says how much of the time counted the containers compute at least,
// whatever the policy: what is near all of it leaves the network little to gain.
func dawnBusy(l *lab, load string) string {
	busy := l.by(load+", Fair", func(r *sim.Run) float64 { return 100 * r.Bounds.MakespanCompute / l.window })
	return "computing alone keeps all containers busy for " + spread("%.0f %%", busy) + " of the time that is counted"
}

// dawnTried says what came of other setups.
func dawnTried(l *lab, load string) []string {
	return []string{
		l.tried("users in fair order, Dawn among the jobs of one", load+", Dawn by user", load+", Fair"),
		l.tried("a rack for one wave of a job's tasks, the next best for the rest", load+", Dawn, 1 wave", load+", Fair"),
		l.tried("inputs on all racks", load+", spread, Dawn", load+", spread, Fair"),
	}
}

// dawnTraffic gives D7 and D8.
func dawnTraffic(l *lab) []Row {
	dawn, sw := l.change("ml, Dawn", "ml, Fair", crossShuffle), l.change("ml, SW", "ml, Fair", crossShuffle)
	shuffled := claims("D7", "machine learning, shuffle across racks against Fair; SW takes more off than Dawn", claim{"Dawn", dawn, -26}, claim{"SW", sw, -29})
	for i := range dawn {
		if sw[i] >= dawn[i] {
			shuffled.Verdict = No
		}
	}
	terabytes := func(r *sim.Run) float64 { return crossRead(r) / 1e12 }
	return []Row{
		shuffled.noted(dawnShuffled(l)...),
		l.ordered(Row{ID: "D8", What: "machine learning, input read across racks: Dawn much less than both (judged: half)"}.of("yes"), "%.2f TB", terabytes,
			[]string{"ml, Dawn", "ml, Fair", "ml, SW"}, func(v []float64) bool { return v[0] < min(v[1], v[2])/2 }).noted(
			"with 3 replicas delay scheduling finds nearly every block on the node, and eq. 1 has Dawn read on one rack what does not lie there",
			"tried a Fair whose maps wait for nothing: "+spread("%.2f TB", l.by("ml, no wait", terabytes)),
			"tried one replica of a block: "+l.ordered(Row{}, "%.2f TB", terabytes, []string{"ml, single, Dawn", "ml, single, Fair", "ml, single, no wait", "ml, single, SW"}, rising).Ours),
	}
}

// dawnShuffled says what decides how much shuffle crosses racks.
func dawnShuffled(l *lab) []string {
	change := func(name, base string) string { return spread("%+.1f %%", l.change(name, base, crossShuffle)) }
	return []string{
		l.on("ml, Fair", "ml, SW", "ml, Dawn", "ml, Dawn, 1 wave"),
		"tried Dawn with a rack for one wave of a job's tasks: " + change("ml, Dawn, 1 wave", "ml, Fair"),
		"no job shuffles more than it reads, so that ShuffleWatcher takes none for heavy, and SARP is for heavy ones",
		"tried 2 % more shuffle of jobs that shuffle all they read: SW " + change("ml, framed, SW", "ml, framed, Fair"),
		"tried users of SW who wait for preferred racks, as at SW8: " + change("ml, SW waits", "ml, Fair") + ", with both " + change("ml, framed, SW waits", "ml, framed, Fair"),
	}
}

// dawnStages gives D9 and D10.
func dawnStages(l *lab) []Row {
	tez := claims("D9", "queries on Tez against Fair", l.trio("tez, Dawn", "tez, Fair", [3]float64{48, -39, -47})...)
	if l.refused["tez, Dawn"] == nil {
		tez = tez.noted(dawnTried(l, "tez")...)
	}
	ml, queries := l.change("ml, Dawn", "ml, Fair", throughput), l.change("queries, Dawn", "queries, Fair", throughput)
	order := Row{
		ID: "D10", What: "gain of throughput over Fair: machine learning above queries; Tez above queries on MapReduce", Paper: "yes", Status: Shape, Verdict: Yes,
		Ours: "ml " + spread("%+.1f %%", ml) + ", queries " + spread("%+.1f %%", queries),
	}
	refused := l.refused["tez, Dawn"]
	if refused != nil {
		tez.Verdict, tez.Ours, tez.Note = NotRun, "", refused.Error()
		order.Note = "without Tez, which is not run"
	}
	for i := range ml {
		order.Verdict = all(order.Verdict, verdict(ml[i] > queries[i] && ml[i] > 0))
	}
	if refused == nil {
		on := l.change("tez, Dawn", "tez, Fair", throughput)
		order.Ours += ", Tez " + spread("%+.1f %%", on)
		for i := range on {
			order.Verdict = all(order.Verdict, verdict(on[i] > queries[i]))
		}
	}
	return []Row{tez, order}
}
