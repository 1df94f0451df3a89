package reproduce

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

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
	rounds := fmt.Sprintf("rounds=%d,window_s=%d", in.share(dawnRounds), 1500*in.share(dawnRounds))
	spec := map[string]string{
		dawnML:  fmt.Sprintf("synth:dawn-ml,benchmarks=%d", in.share(dawnChains)),
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
const dawnPrinted = `{"preset":"paper"}`

// dawnLab prepares the runs.
func dawnLab(in *Inputs) *experiments {
	// Of the case study a slave is a rack of its own: what crosses nodes then crosses racks.
	study := sim.Uniform(4, 1, 4, gbps(1), gbps(1))
	cluster := sim.Uniform(6, 6, 6, gbps(0.5), gbps(1))
	study.CrossRackWrites, cluster.CrossRackWrites = false, false
	l := &experiments{inputs: in, load: in.dawnJobs, window: dawnHours * 3600 / float64(max(in.Parts, 1)), variants: []variant{
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
			v.name, v.load, v.cluster, v.mayBeRefused = load+", "+v.name, cmp.Or(v.load, load), cluster, load == dawnTez
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
	data, err := readPaper("dawn")
	if err != nil {
		return Paper{}, err
	}
	p := Paper{Name: "dawn", Title: data.Title, Settings: data.settings(map[string]string{
		"chains": strconv.Itoa(in.share(dawnChains)), "rounds": strconv.Itoa(in.share(dawnRounds)),
		"hours": fmt.Sprintf("%.3g", dawnHours/float64(max(in.Parts, 1))),
	})}
	l := dawnLab(in)
	in.announce(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	graphs, gains := dawnGraphs(l, data.Texts)
	p.Rows = data.rows(l, map[string]outcome{"D7": dawnOrder(l), "D8": dawnReads(l), "D9": graphs, "D10": gains})
	return p, nil
}

func makespan(r *sim.Run) float64 { return r.Makespan }

// dawnOrder says for D7 whether ShuffleWatcher takes more shuffle off than Dawn.
func dawnOrder(l *experiments) outcome {
	dawn, sw := l.change("ml, Dawn", "ml, Fair", crossShuffle), l.change("ml, SW", "ml, Fair", crossShuffle)
	for i := range dawn {
		if sw[i] >= dawn[i] {
			return outcome{verdict: No}
		}
	}
	return outcome{verdict: Yes}
}

// dawnReads gives D8: the input that is read across racks.
func dawnReads(l *experiments) outcome {
	return l.judgeOrder("%.2f TB", figureOf("read terabytes"), []string{"ml, Dawn", "ml, Fair", "ml, SW"}, func(v []float64) bool { return v[0] < min(v[1], v[2])/2 })
}

// dawnGraphs gives D9, where Tez is simulated, and D10: which load gains most.
func dawnGraphs(l *experiments, texts map[string]string) (graphs, gains outcome) {
	ml, queries := l.change("ml, Dawn", "ml, Fair", throughput), l.change("queries, Dawn", "queries, Fair", throughput)
	gains = outcome{verdict: Yes, ours: "ml " + formatRange("%+.1f %%", ml) + ", queries " + formatRange("%+.1f %%", queries)}
	for i := range ml {
		gains.verdict = allYes(gains.verdict, verdict(ml[i] > queries[i] && ml[i] > 0))
	}
	if refused := l.refused["tez, Dawn"]; refused != nil {
		gains.notes = []string{texts["without Tez"]}
		return outcome{verdict: NotRun, notes: []string{refused.Error()}}, gains
	}
	tez := l.change("tez, Dawn", "tez, Fair", throughput)
	gains.ours += ", Tez " + formatRange("%+.1f %%", tez)
	for i := range tez {
		gains.verdict = allYes(gains.verdict, verdict(tez[i] > queries[i]))
	}
	return graphs, gains
}
