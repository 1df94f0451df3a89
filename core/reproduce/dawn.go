package reproduce

import (
	"fmt"
	"strconv"

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
)

// dawnGB is the data of TPC-H in GiB (§IV).
const dawnGB = 50.0

// dawnJobs makes a load.
func (in *Inputs) dawnJobs(name string, seed int) (*workload.Workload, error) {
	if name == dawnStudy {
		return dawnStudyJobs(), nil
	}
	gb := strconv.FormatFloat(dawnGB/float64(max(in.Parts, 1)), 'g', 6, 64)
	spec := map[string]string{
		dawnML:  fmt.Sprintf("synth:dawn-ml,benchmarks=%d", in.part(36)),
		dawnMR:  "synth:dawn-tpch,form=mr,gb=" + gb,
		dawnTez: "synth:dawn-tpch,gb=" + gb,
	}[name]
	return workload.Synth(fmt.Sprintf("%s,seed=%d", spec, seed))
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

// dawnLab prepares the runs.
func dawnLab(in *Inputs) *lab {
	// Of the case study a slave is a rack of its own: what crosses nodes then crosses racks.
	study := sim.Uniform(4, 1, 4, gbps(1), gbps(1))
	cluster := sim.Uniform(6, 6, 6, gbps(0.5), gbps(1))
	study.CrossRackWrites, cluster.CrossRackWrites = false, false
	l := &lab{in: in, load: in.dawnJobs, variants: []variant{
		{name: "study, Delay", load: dawnStudy, cluster: study, policy: "delay"},
		{name: "study, Dawn", load: dawnStudy, cluster: study, policy: "dawn"},
	}}
	for _, load := range []string{dawnML, dawnMR, dawnTez} {
		for _, v := range []variant{
			{name: "Fair", policy: "delay"}, // "Fair only employs delay scheduling" (§IV-A)
			{name: "SW", policy: "shufflewatcher"},
			{name: "Dawn", policy: "dawn"},
			{name: "Dawn, 1 wave", policy: "dawn", params: `{"waves":1}`},
		} {
			v.name, v.load, v.cluster, v.may = load+", "+v.name, load, cluster, load == dawnTez
			l.variants = append(l.variants, v)
		}
	}
	return l
}

// Dawn reproduces algorithms.md 3.4.
func Dawn(in *Inputs) (Paper, error) {
	p := Paper{Name: "dawn", Title: dawnTitle, Settings: []Setting{
		{"cluster", "6 racks of 6 nodes, 500 Mbps in and out of a rack", "§IV; per rack, not per pair of racks, is ours"},
		{"containers, interfaces", "6 a node, 1 Gbps a node", "ours"},
		{"HDFS", "blocks of 128 MiB, 3 replicas, inputs on all racks; copies of output stay off the uplinks", "ours"},
		{"machine learning", fmt.Sprintf("%d chains of 11 jobs, the inputs of Table I, 400 s apart on average; 10 users", in.part(36)), "Table I; number, time between them and users are ours"},
		{"queries", fmt.Sprintf("TPC-H's 22 on %g GiB, within 25 min; 10 users", dawnGB/float64(max(in.Parts, 1))), "§IV has 50 GB; the users are ours"},
		{"bytes between jobs and between stages", "docs/workloads.md", "ours; nobody publishes them"},
		{"case study", "4 slaves with 4 containers and 1 Gbps; 8 jobs of 512 MiB, read in pairs by 4 others", "§II; the graph, sizes and rates are ours"},
		{"time", "from the first submission to the last end", "ours; the paper measures 4 hours of steady state"},
		{"completion time of a job", "from when it may start", "ours"},
		{"task times", "4 s a task, 128 s for every GiB of a map, 64 s of a reduce", "ours"},
		{"network saturation", "80 %", "ours, as ShuffleWatcher"},
		{"Fair", "users by memory, a user's jobs by arrival; maps wait 5 s for a node and 5 s for a rack", "§IV-A; the times are ours"},
		{"fairness of Dawn", "users by memory, ShuffleWatcher's starvation window", "ours; the paper has no rule"},
		{"output of a job that has not ended", "as much as its map output", "ours"},
	}}
	l := dawnLab(in)
	in.begin(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	p.Rows = append(l.dawnGains(), l.dawnTraffic()...)
	p.Rows = append(p.Rows, l.dawnTez()...)
	p.Rows = append(p.Rows, claims("D11", "abstract: throughput of machine learning and queries, against Fair and against SW",
		claim{"ml against Fair", l.change("ml, Dawn", "ml, Fair", throughput), 51}, claim{"queries against Fair", l.change("queries, Dawn", "queries, Fair", throughput), 42},
		claim{"ml against SW", l.change("ml, Dawn", "ml, SW", throughput), 28}, claim{"queries against SW", l.change("queries, Dawn", "queries, SW", throughput), 21}))
	p.Rows = pointed(p.Rows, "D2 and D3")
	return p, nil
}

// dawnGains gives D1 to D6.
func (l *lab) dawnGains() []Row {
	both := func(id, what string, of figure, ml, queries float64) Row {
		return claims(id, what, claim{"ml", l.change("ml, Dawn", "ml, SW", of), ml}, claim{"queries", l.change("queries, Dawn", "queries, SW", of), queries})
	}
	makespan := func(r *sim.Run) float64 { return r.Makespan }
	wave := "a rack for one wave of a job's tasks, the next best for the rest"
	return []Row{
		claims("D1", "case study against delay scheduling",
			claim{"time", l.change("study, Dawn", "study, Delay", makespan), -29.5}, claim{"cross-node bytes", l.change("study, Dawn", "study, Delay", crossRack), -26.5}),
		claims("D2", "machine learning against Fair", l.trio("ml, Dawn", "ml, Fair", [3]float64{51, -41, -49})...).noted(l.tried(wave, "ml, Dawn, 1 wave", "ml, Fair")),
		claims("D3", "queries against Fair", claim{"throughput", l.change("queries, Dawn", "queries, Fair", throughput), 42}).noted(l.tried(wave, "queries, Dawn, 1 wave", "queries, Fair")),
		both("D4", "throughput against SW", throughput, 28, 21),
		both("D5", "mean completion time against SW", meanJCT, -23, -19),
		both("D6", "cross-rack bytes against SW", crossRack, -26, -22),
	}
}

// dawnTraffic gives D7 and D8.
func (l *lab) dawnTraffic() []Row {
	dawn, sw := l.change("ml, Dawn", "ml, Fair", crossShuffle), l.change("ml, SW", "ml, Fair", crossShuffle)
	shuffled := claims("D7", "machine learning, shuffle across racks against Fair; SW takes more off than Dawn", claim{"Dawn", dawn, -26}, claim{"SW", sw, -29})
	for i := range dawn {
		if sw[i] >= dawn[i] {
			shuffled.Verdict = No
		}
	}
	return []Row{
		shuffled,
		l.ordered(Row{ID: "D8", What: "machine learning, input read across racks: Dawn much less than both (judged: half)"}.of("yes"), "%.2f TB", func(r *sim.Run) float64 { return crossRead(r) / 1e12 },
			[]string{"ml, Dawn", "ml, Fair", "ml, SW"}, func(v []float64) bool { return v[0] < min(v[1], v[2])/2 }),
	}
}

// dawnTez gives D9 and D10.
func (l *lab) dawnTez() []Row {
	tez := claims("D9", "queries on Tez against Fair", l.trio("tez, Dawn", "tez, Fair", [3]float64{48, -39, -47})...)
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
