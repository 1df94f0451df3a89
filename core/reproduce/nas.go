package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/sim"
	"heddle/core/workload"
)

const nasTitle = "A Network-aware Scheduler in Data-parallel Clusters for High Performance"

// A simulation of all 24,442 jobs on 600 nodes takes more than ten minutes. A
// tenth of the jobs runs on a tenth of the cluster, with a tenth of the users and
// of the skips, each seed with another tenth.
const (
	nasPart  = 10
	nasUsers = 200
	nasReal  = 200 // jobs of the real cluster
)

// nasSize is the part of the paper's cluster that is simulated.
type nasSize struct {
	parts int   // the cluster has a part of so many of the paper's jobs, users and nodes
	racks racks // of 6 containers a node
}

func nasSized(in *Inputs) nasSize {
	parts := nasPart * max(in.Parts, 1)
	return nasSize{parts: parts, racks: racks{30, 20, 1}.part(parts)}
}

func (z *nasSize) users(of int) int { return max((of+z.parts/2)/z.parts, 1) }

// skips is D^m and D^r: as many offers of as many nodes take as long.
func (z *nasSize) skips() int { return max(135*z.racks.nodes()/600, 1) }

// params returns NAS's parameters in the simulation, which counts skips, with
// more behind them.
func (z *nasSize) params(more string) string {
	return fmt.Sprintf(`{"completion":"slowstart","skips":"count","map_skips":%d,"reduce_skips":%d%s}`, z.skips(), z.skips(), more)
}

// nasTimed is NAS as on the real cluster, where users are passed over for 5 s.
const nasTimed = `{"completion":"slowstart"}`

// nasLab prepares the runs on a part of a trace.
func nasLab(in *Inputs, trace *workload.Workload) *lab {
	z := nasSized(in)
	nasParams := z.params
	simulated := z.racks.cluster(6, 0.25)
	cluster := nasRealRacks(in).cluster(16, 1)
	simulated.CrossRackWrites, cluster.CrossRackWrites = false, false
	load := func(users int) string { return fmt.Sprintf("users=%d", users) }
	l := &lab{in: in, load: nasLoads(in, trace, z.parts), variants: []variant{
		{name: "Fair", policy: "fair", params: byArrival},
		{name: "Fair, jobs by memory", policy: "fair"},
		{name: "Delay", policy: "delay"},
		{name: "SW-delay", policy: "shufflewatcher"},
		{name: "NAS", policy: "nas", params: nasParams("")},
		{name: "MTS", policy: "nas", params: nasParams(`,"ca_rts":false,"cr_rts":false`)},
		{name: "MTS, CA-RTS", policy: "nas", params: nasParams(`,"cr_rts":false`)},
		{name: "without TT", policy: "nas", params: nasParams(`,"traffic_threshold":"off"`)},
		{name: "without both", policy: "nas", params: nasParams(`,"traffic_threshold":"off","cr_rts":false`)},
		{name: "NAS by time", policy: "nas", params: nasTimed},
		{name: "NAS, adaptive", policy: "nas", params: nasParams(`,"completion":"adaptive"`)},
		{name: "NAS, skips begin anew", policy: "nas", params: nasParams(`,"map_reset":"launch"`)},
	}}
	for i := range l.variants {
		l.variants[i].load, l.variants[i].cluster = load(z.users(nasUsers)), simulated
	}
	l.variants = append(l.variants, nasWithout(l, "", "Fair", "Delay", "SW-delay", "NAS")...)
	for _, users := range []int{25, 50, 100, 400} {
		l.variants = append(l.variants, variant{
			name: fmt.Sprintf("%d users", users), load: load(z.users(users)), cluster: simulated, policy: "nas", params: nasParams(""),
		})
	}
	for _, v := range []variant{
		{name: "real, Fair", policy: "fair", params: byArrival}, {name: "real, Fair, jobs by memory", policy: "fair"}, {name: "real, Delay", policy: "delay"}, {name: "real, SW", policy: "shufflewatcher"}, {name: "real, NAS", policy: "nas", params: nasTimed},
	} {
		v.load, v.cluster = nasRealLoad, cluster
		l.variants = append(l.variants, v)
	}
	l.variants = append(l.variants, nasWithout(l, "real, ", "real, Fair", "real, Delay", "real, NAS")...)
	for _, name := range []string{"real, Fair", "real, NAS"} {
		v := *l.variant(name)
		v.name, v.load = strings.Replace(name, "real", "real at once", 1), nasRealLoad+nasClose
		l.variants = append(l.variants, v)
	}
	return l
}

// Ends of a load's name: without the largest jobs, and with submissions in a
// quarter of the time.
const (
	nasSmall = "#small"
	nasClose = "#close"
	nasLarge = 0.02 // part of the jobs that are the largest
)

// nasWithout is variants without the largest jobs.
func nasWithout(l *lab, kind string, names ...string) []variant {
	var out []variant
	for _, name := range names {
		v := *l.variant(name)
		v.name, v.load = kind+"small, "+strings.TrimPrefix(name, kind), v.load+nasSmall
		out = append(out, v)
	}
	return out
}

// nasLoads makes the loads.
func nasLoads(in *Inputs, trace *workload.Workload, parts int) func(name string, seed int) (*workload.Workload, error) {
	return func(name string, seed int) (w *workload.Workload, err error) {
		name, small := strings.CutSuffix(name, nasSmall)
		name, near := strings.CutSuffix(name, nasClose)
		if name == nasRealLoad {
			w, err = nasRealJobs(in, seed)
		} else {
			w, err = nasJobs(trace, name, seed, parts)
		}
		if err != nil {
			return nil, err
		}
		if small {
			w = withoutLargest(w, nasLarge)
		}
		for i := range w.Jobs {
			if near {
				w.Jobs[i].Submit /= 4
			}
		}
		return w, nil
	}
}

// nasRealRacks is the real cluster.
func nasRealRacks(in *Inputs) racks { return racks{8, 5, 1}.part(max(in.Parts, 1)) }

// nasRealLoad is the load of the real cluster.
const nasRealLoad = "real"

// nasJobs makes a load of the simulation: a part of a part of the trace's jobs.
func nasJobs(trace *workload.Workload, name string, seed, parts int) (*workload.Workload, error) {
	var users int
	if _, err := fmt.Sscanf(name, "users=%d", &users); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 3)) //nolint:gosec // small
	w := &workload.Workload{}
	for i := (seed - 1) % parts; i < len(trace.Jobs); i += parts {
		j := trace.Jobs[i]
		j.User = model.UserID(fmt.Sprintf("user%03d", 1+r.IntN(users)))
		w.Jobs = append(w.Jobs, j)
	}
	return w, nil
}

// nasRealJobs makes the jobs of the real cluster, 14 s apart on average. Bytes are
// those of the trace: SWIM can scale them by nodes, but then job types would not
// be distributed as in Figure 2, as §IV-A says they are.
func nasRealJobs(in *Inputs, seed int) (*workload.Workload, error) {
	w, err := workload.Synth(fmt.Sprintf("synth:fb2010,jobs=%d,seed=%d", in.part(nasReal), seed))
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 4)) //nolint:gosec // small
	r.Shuffle(len(w.Jobs), func(a, b int) { w.Jobs[a], w.Jobs[b] = w.Jobs[b], w.Jobs[a] })
	at := 0.0
	for i := range w.Jobs {
		at += -14 * float64(nasReal/in.part(nasReal)) * math.Log(1-r.Float64())
		w.Jobs[i].Submit = model.Time(at * float64(model.Second))
	}
	slices.SortStableFunc(w.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return w, nil
}

// NAS reproduces algorithms.md 3.3.
func NAS(in *Inputs) (Paper, error) {
	from, trace := "FB-2010", in.FB2010
	if trace == nil {
		var err error
		if trace, err = workload.Synth("synth:fb2010"); err != nil {
			return Paper{}, err
		}
		from = "synth:fb2010 (docs/workloads.md), for want of FB-2010"
	}
	z := nasSized(in)
	p := Paper{Name: "nas", Title: nasTitle, Settings: []Setting{
		{"jobs of the simulation", fmt.Sprintf("%s; every %dth job, each seed from another on", from, z.parts), "§IV-A; a part is ours: all of them take too long"},
		{"cluster of the simulation", fmt.Sprintf("%s; 6 containers and 250 Mbps a node", z.racks), "§IV-A has 30 racks of 20 nodes with 1 Gbps; the part is that of the jobs"},
		{"users", fmt.Sprintf("%d, to whom jobs are given at random", z.users(nasUsers)), "§IV-A has 200; the part is that of the jobs"},
		{"skips", fmt.Sprintf("D^m = D^r = %d, counted by offers", z.skips()), "§IV-A has 135 with 600 nodes"},
		{"congestion", "80 %", "§IV-A"},
		{"real cluster", nasRealRacks(in).String() + "; 16 containers and 1 Gbps a node; users are passed over for 5 s", "§IV-A has 8 racks of 5 nodes with 1 Gbps"},
		{"jobs of the real cluster", fmt.Sprintf("%d of synth:fb2010, bytes as in the trace, %d s apart on average; 200 users", in.part(nasReal), 14*(nasReal/in.part(nasReal))), "§IV-A has 200, 14 s apart, and job types distributed as in figure 2; the users are ours"},
		{"HDFS", "blocks of 128 MiB, 3 replicas, inputs on all racks; copies of output stay off the uplinks", "§IV-A; where inputs lie, and output, are ours"},
		{"task times", "4 s a task, 128 s for every GiB of a map, 64 s of a reduce", "ours; the paper's are private"},
		{"reduces", "one for every GiB of shuffle and output", "ours"},
		{"Fair, Delay, SW-delay", "users by memory, a user's jobs by arrival; Delay waits 5 s for a node and 5 s for a rack; ShuffleWatcher with relaxed fairness", "ours"},
		{"map completion threshold", "5 % of the maps", "Hadoop's, as the paper does not have the slides' adaptive one; theirs has no formula, heddle's is tried at A2"},
		{"congestions", "how often an uplink got to 80 %", "ours; the paper does not define its occurrences"},
		{"without both", "neither TrafficThreshold nor CR-RTS", "ours; the paper does not name them"},
	}}
	l := nasLab(in, trace)
	in.begin(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	p.Rows = append([]Row{nasMix(in)}, nasGains(l)...)
	p.Rows = pointed(append(p.Rows, nasOrders(l)...), "A2")
	p.Rows = append(p.Rows, nasArithmetic()...)
	p.Rows = append(
		p.Rows,
		Row{ID: "A21", What: "cited: time in the network, oversubscription, background traffic", Paper: "> 50 %, 3:1 to 20:1, 50 %", Status: Impossible, Verdict: NotJudged},
		Row{ID: "A22", What: "bars of figures 3, 4 and 5", Paper: "no numbers", Status: Impossible, Verdict: NotJudged},
	)
	return p, nil
}

// nasMix gives A1: the classes of FB-2010.
func nasMix(in *Inputs) Row {
	row := Row{ID: "A1", What: "figure 2: jobs with small input; light, medium, heavy shuffle", Paper: "50.02; 68.70, 12.58, 18.82 %", Status: Exact}
	if in.FB2010 == nil {
		row.Verdict, row.Note = NotRun, noTrace
		return row
	}
	var class [3]int
	few := 0
	for i := range in.FB2010.Jobs {
		j := &in.FB2010.Jobs[i]
		class[workload.ClassOf(j.Shuffle())]++
		if j.Input() < 10*model.MiB {
			few++
		}
	}
	part := func(n int) float64 { return 100 * float64(n) / float64(len(in.FB2010.Jobs)) }
	got := []float64{part(few), part(class[0]), part(class[1]), part(class[2])}
	row.Ours = list("%.2f", got...) + " %"
	near := true
	for i, want := range []float64{50.02, 68.70, 12.58, 18.72} {
		near = near && math.Abs(got[i]-want) < 0.005
	}
	row.Verdict, row.Note = verdict(near), "the paper's 18.82 is taken for a slip of 18.72: its three shares sum to 100.10"
	return row
}

// nasGains gives A2 to A10.
func nasGains(l *lab) []Row {
	against := func(id, what, nas string, of figure, bases []string, want ...float64) Row {
		var cs []claim
		for i, base := range bases {
			cs = append(cs, claim{"against " + strings.TrimPrefix(base, "real, "), l.change(nas, base, of), want[i]})
		}
		return claims(id, what, cs...)
	}
	simulated, real2 := []string{"Fair", "Delay", "SW-delay"}, []string{"real, Fair", "real, Delay"}
	real3 := append(slices.Clone(real2), "real, SW")
	best := l.trio("real, NAS", "real, Fair", [3]float64{62, -44, -40})
	const stands = "what was tried stands at A4"
	return []Row{
		against("A2", "throughput, simulation", "NAS", throughput, simulated, 56.9, 45.8, 34.8).noted(
			"submissions take 24 hours whatever the policy, and the last jobs are the largest; counted until 19 jobs of 20 have ended: "+spread("%+.1f %%", l.until("NAS", "Fair", 0.95))+" against Fair",
			"what CR-RTS puts off is the largest jobs', which then end alone: without it throughput against Fair is "+spread("%+.1f %%", l.change("MTS, CA-RTS", "Fair", throughput)),
			l.largest("NAS"), l.limits("Fair"), l.held("Fair"), l.held("NAS"),
			l.tried("the jobs without the largest fiftieth", "small, NAS", "small, Fair"), l.limits("small, Fair"),
			l.tried("skips that begin anew with every launch, as the text can be read", "NAS, skips begin anew", "Fair"),
			l.tried("skips by time, 5 s", "NAS by time", "Fair"), l.tried("heddle's map completion threshold", "NAS, adaptive", "Fair"), l.tried("a Fair that takes a user's jobs by memory", "NAS", "Fair, jobs by memory")),
		against("A3", "mean completion time, simulation", "NAS", meanJCT, simulated, -44.3, -33.9, -25.4),
		against("A4", "throughput, real cluster", "real, NAS", throughput, real2, 62.5, 52.1).noted(
			"counted until 19 jobs of 20 have ended: "+spread("%+.1f %%", l.until("real, NAS", "real, Fair", 0.95))+" against Fair",
			l.largest("real, NAS"), l.limits("real, Fair"),
			l.tried("the jobs without the largest fiftieth", "real, small, NAS", "real, small, Fair"), l.limits("real, small, Fair"),
			l.tried("submissions in a quarter of the time", "real at once, NAS", "real at once, Fair"),
			l.tried("a Fair that takes a user's jobs by memory", "real, NAS", "real, Fair, jobs by memory")),
		against("A5", "mean completion time, real cluster", "real, NAS", meanJCT, real2, -44.6, -32.1).noted(
			"of light, medium, heavy jobs against Fair: "+nasByClass(l, "real, NAS", "real, Fair"), stands),
		claims("A6", "abstract, up to: against Fair on the real cluster", best...).noted(stands),
		against("A7", "slides: throughput", "real, NAS", throughput, real3, 63, 48, 31).noted(stands),
		against("A8", "slides: mean completion time", "real, NAS", meanJCT, real3, -44, -37, -33).noted(stands),
		against("A9", "slides: shuffle bytes across racks", "real, NAS", crossShuffle, real3, -39, -32, -11).noted(
			"reduces in proportion to map output keep the busiest uplink lowest, not the bytes: with maps on all racks the part that crosses is the same wherever reduces run", l.on("real, Fair", "real, NAS"), stands),
		against("A10", "slides: congestions", "real, NAS", onsets, real3, -45, -40, -34).noted(
			"in the simulation against Fair, by what is switched on: MTS "+spread("%+.1f %%", l.change("MTS", "Fair", onsets))+", CA-RTS too "+spread("%+.1f %%", l.change("MTS, CA-RTS", "Fair", onsets))+", all "+spread("%+.1f %%", l.change("NAS", "Fair", onsets)),
			"tried to count for how long uplinks are congested: "+spread("%+.1f %%", l.change("real, NAS", "real, Fair", congested))+" against Fair, and in the simulation "+spread("%+.1f %%", l.change("NAS", "Fair", congested))),
	}
}

// nasByClass compares the mean time of each class of jobs.
func nasByClass(l *lab, name, base string) string {
	return spread("%+.1f %%", l.change(name, base, lightJCT)) + ", " + spread("%+.1f %%", l.change(name, base, mediumJCT)) + ", " + spread("%+.1f %%", l.change(name, base, heavyJCT))
}

func lightJCT(r *sim.Run) float64  { return r.JCTByClass.Light }
func mediumJCT(r *sim.Run) float64 { return r.JCTByClass.Medium }
func heavyJCT(r *sim.Run) float64  { return r.JCTByClass.Heavy }

// congested is for how long uplinks were congested, all together.
func congested(r *sim.Run) float64 { return float64(r.Congestion.Samples) }

// nasOrders gives A11 to A17.
func nasOrders(l *lab) []Row {
	near := func(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }
	terabytes := func(r *sim.Run) float64 { return crossRack(r) / 1e12 }
	parts := []string{"Fair", "MTS", "MTS, CA-RTS", "NAS"}
	var by [3][]float64 // gain of throughput by class, as the time of a job
	for i, of := range []figure{lightJCT, mediumJCT, heavyJCT} {
		by[i] = l.change("Fair", "NAS", of)
	}
	classes := Row{
		ID: "A16", What: "gain of light, medium, heavy jobs over Fair, by their mean time", Paper: "light > medium > heavy > 0", Status: Shape, Verdict: Yes,
		Ours: spread("%+.1f %%", by[0]) + ", " + spread("%+.1f %%", by[1]) + ", " + spread("%+.1f %%", by[2]),
	}
	for i := range by[0] {
		if !rising([]float64{0, by[2][i], by[1][i], by[0][i]}) {
			classes.Verdict = No
		}
	}
	each := l.ordered(Row{ID: "A17", What: "each mechanism adds throughput (jobs/h) and takes time (s) off", Paper: "yes"}, "%.1f",
		func(r *sim.Run) float64 { return 3600 * r.Throughput }, parts, rising)
	times := l.ordered(Row{}, "%.0f s", meanJCT, parts, func(v []float64) bool { return rising([]float64{-v[0], -v[1], -v[2], -v[3]}) })
	each.Ours, each.Verdict = each.Ours+"; "+times.Ours, all(each.Verdict, times.Verdict)
	return []Row{
		l.ordered(Row{ID: "A11", What: "congestions of NAS, without TrafficThreshold, without both", Paper: "3198 < 3901 < 4197"}, "%.0f", onsets, []string{"NAS", "without TT", "without both"}, rising),
		l.ordered(Row{ID: "A12", What: "cross-rack bytes: MTS as Delay, CA-RTS takes some off, CR-RTS none"}.of("yes, within 5 % where the same"), "%.2f TB", terabytes,
			[]string{"Delay", "MTS", "MTS, CA-RTS", "NAS"}, func(v []float64) bool { return near(v[1], v[0], 0.05) && v[2] < v[1] && near(v[3], v[2], 0.05) }),
		l.ordered(Row{ID: "A13", What: "maps done at a job's first reduce"}.of("SW-delay > NAS > Delay, about Fair"), "%.0f %%", percent(func(r *sim.Run) float64 { return r.MapProgress }),
			[]string{"SW-delay", "NAS", "Delay", "Fair"}, func(v []float64) bool { return v[0] > v[1] && v[1] > v[2] && near(v[2], v[3], 0.1) }),
		l.ordered(Row{ID: "A14", What: "nodes above TrafficThreshold"}.of("NAS very few; SW-delay most"), "%.1f %%", percent(func(r *sim.Run) float64 { return r.OverThreshold }),
			[]string{"NAS", "Fair", "Delay", "SW-delay"}, func(v []float64) bool { return v[0] < min(v[1], v[2])/2 && v[3] > max(v[1], v[2]) }),
		l.ordered(Row{ID: "A15", What: "throughput (jobs/h) rises as users, of the whole cluster, fall: 200 is NAS"}.of("yes"), "%.2f", func(r *sim.Run) float64 { return 3600 * r.Throughput },
			[]string{"400 users", "NAS", "100 users", "50 users", "25 users"}, rising),
		classes, each,
	}
}

// of sets what the paper has.
func (r Row) of(paper string) Row {
	r.Paper = paper
	return r
}

// nasArithmetic gives A18 to A20.
func nasArithmetic() []Row {
	// Three jobs, each local with 0.1 and qualified with 0.5: what is found within so many skips (III-C).
	found := func(skips float64) float64 { return 100 * (1 - math.Pow(1-0.1*0.5, 3*skips)) }
	// A part of 0.687 of the jobs is light, one job a user: whether one is among the first users (III-E).
	light := func(users float64) float64 { return 100 * (1 - math.Pow(1-0.687, users)) }
	seconds := 40.0 / 27
	counts := shuffle.Apportion([]float64{70, 30}, 10)
	return []Row{
		{
			ID: "A18", What: "a map is found within 10 and 40 skips; time of 40 at 27 containers/s", Paper: "78.5 %, 99.8 %, < 2 s", Status: Arithmetic,
			Ours:    fmt.Sprintf("%.2f %%, %.2f %%, %.2f s", found(10), found(40), seconds),
			Verdict: all(within(found(10), 78.5, 0.001), within(found(40), 99.8, 0.001), verdict(seconds < 2)),
		},
		{
			ID: "A19", What: "a light job is found among 3 and 5 users", Paper: "97 %, 99.7 %", Status: Arithmetic, Ours: list("%.2f", light(3), light(5)) + " %",
			Verdict: all(within(light(3), 97, 0.001), within(light(5), 99.7, 0.001)),
		},
		{
			ID: "A20", What: "slides: 10 reduces on racks with 70 and 30 % of the map output", Paper: "7 and 3", Status: Arithmetic,
			Ours: fmt.Sprintf("%d and %d", counts[0], counts[1]), Verdict: verdict(counts[0] == 7 && counts[1] == 3),
		},
	}
}
