package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/shuffle"
)

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
	return nasSize{parts: parts, racks: racks{30, 20, 1}.scaledDown(parts)}
}

func (z *nasSize) users(of int) int { return max((of+z.parts/2)/z.parts, 1) }

// skips is D^m and D^r: as many offers of as many nodes take as long.
func (z *nasSize) skips() int { return max(135*z.racks.nodes()/600, 1) }

// params returns NAS's parameters in the simulation, which counts skips, with
// more behind them.
func (z *nasSize) params(more string) string {
	return fmt.Sprintf(`{"preset":"paper","map_skips":%d,"reduce_skips":%d%s}`, z.skips(), z.skips(), more)
}

// nasTimed is NAS as on the real cluster, where users are passed over for 5 s.
const nasTimed = `{"preset":"paper","skips":"time"}`

// nasLab prepares the runs on a part of a trace.
func nasLab(in *Inputs, trace *workload.Workload) *experiments {
	z := nasSized(in)
	nasParams := z.params
	simulated := z.racks.cluster(6, 0.25)
	cluster := nasRealRacks(in).cluster(16, 1)
	simulated.CrossRackWrites, cluster.CrossRackWrites = false, false
	load := func(users int) string { return fmt.Sprintf("users=%d", users) }
	l := &experiments{inputs: in, load: nasLoads(in, trace, z.parts), variants: []variant{
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
func nasWithout(l *experiments, kind string, names ...string) []variant {
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
func nasRealRacks(in *Inputs) racks { return racks{8, 5, 1}.scaledDown(max(in.Parts, 1)) }

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
	w, err := workload.Synth(fmt.Sprintf("synth:fb2010,jobs=%d,seed=%d", in.share(nasReal), seed))
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 4)) //nolint:gosec // small
	r.Shuffle(len(w.Jobs), func(a, b int) { w.Jobs[a], w.Jobs[b] = w.Jobs[b], w.Jobs[a] })
	at := 0.0
	for i := range w.Jobs {
		at += -14 * float64(nasReal/in.share(nasReal)) * math.Log(1-r.Float64())
		w.Jobs[i].Submit = model.Time(at * float64(model.Second))
	}
	slices.SortStableFunc(w.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return w, nil
}

// NAS reproduces algorithms.md 3.3.
func NAS(in *Inputs) (Paper, error) {
	data, err := readPaper("nas")
	if err != nil {
		return Paper{}, err
	}
	from, trace := "FB-2010", in.FB2010
	if trace == nil {
		if trace, err = workload.Synth("synth:fb2010"); err != nil {
			return Paper{}, err
		}
		from = "synth:fb2010 (docs/workloads.md), for want of FB-2010"
	}
	z := nasSized(in)
	p := Paper{Name: "nas", Title: data.Title, Settings: data.settings(map[string]string{
		"trace": from, "part": strconv.Itoa(z.parts), "cluster": z.racks.String(), "users": strconv.Itoa(z.users(nasUsers)),
		"skips": strconv.Itoa(z.skips()), "real cluster": nasRealRacks(in).String(),
		"real jobs": strconv.Itoa(in.share(nasReal)), "real gap": strconv.Itoa(14 * (nasReal / in.share(nasReal))),
	})}
	l := nasLab(in, trace)
	in.announce(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	outcomes := nasOrders(l)
	outcomes["A1"] = nasMix(in)
	nasArithmetic(outcomes)
	p.Rows = data.rows(l, outcomes)
	return p, nil
}

// nasMix gives A1: the classes of FB-2010.
func nasMix(in *Inputs) outcome {
	if in.FB2010 == nil {
		return notRun()
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
	near := true
	for i, want := range []float64{50.02, 68.70, 12.58, 18.72} {
		near = near && math.Abs(got[i]-want) < 0.005
	}
	return outcome{ours: formatList("%.2f", got...) + " %", verdict: verdict(near)}
}

func lightJCT(r *sim.Run) float64  { return r.JCTByClass.Light }
func mediumJCT(r *sim.Run) float64 { return r.JCTByClass.Medium }
func heavyJCT(r *sim.Run) float64  { return r.JCTByClass.Heavy }

// congested is for how long uplinks were congested, all together.
func congested(r *sim.Run) float64 { return float64(r.Congestion.Samples) }

// nasOrders gives A11 to A17.
func nasOrders(l *experiments) map[string]outcome {
	near := func(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }
	terabytes := func(r *sim.Run) float64 { return crossRack(r) / 1e12 }
	hourly := func(r *sim.Run) float64 { return 3600 * r.Throughput }
	parts := []string{"Fair", "MTS", "MTS, CA-RTS", "NAS"}
	each := l.judgeOrder("%.1f", hourly, parts, rising)
	times := l.judgeOrder("%.0f s", meanJCT, parts, func(v []float64) bool { return rising([]float64{-v[0], -v[1], -v[2], -v[3]}) })
	return map[string]outcome{
		"A11": l.judgeOrder("%.0f", onsets, []string{"NAS", "without TT", "without both"}, rising),
		"A12": l.judgeOrder("%.2f TB", terabytes, []string{"Delay", "MTS", "MTS, CA-RTS", "NAS"},
			func(v []float64) bool { return near(v[1], v[0], 0.05) && v[2] < v[1] && near(v[3], v[2], 0.05) }),
		"A13": l.judgeOrder("%.0f %%", percent(func(r *sim.Run) float64 { return r.MapProgress }), []string{"SW-delay", "NAS", "Delay", "Fair"},
			func(v []float64) bool { return v[0] > v[1] && v[1] > v[2] && near(v[2], v[3], 0.1) }),
		"A14": l.judgeOrder("%.1f %%", percent(func(r *sim.Run) float64 { return r.OverThreshold }), []string{"NAS", "Fair", "Delay", "SW-delay"},
			func(v []float64) bool { return v[0] < min(v[1], v[2])/2 && v[3] > max(v[1], v[2]) }),
		"A15": l.judgeOrder("%.2f", hourly, []string{"400 users", "NAS", "100 users", "50 users", "25 users"}, rising),
		"A16": nasClasses(l),
		"A17": {ours: each.ours + "; " + times.ours, verdict: allYes(each.verdict, times.verdict)},
	}
}

// nasClasses gives A16: the gain of throughput by class, as the time of a job.
func nasClasses(l *experiments) outcome {
	var by [3][]float64
	for i, of := range []figure{lightJCT, mediumJCT, heavyJCT} {
		by[i] = l.change("Fair", "NAS", of)
	}
	o := outcome{verdict: Yes, ours: formatRange("%+.1f %%", by[0]) + ", " + formatRange("%+.1f %%", by[1]) + ", " + formatRange("%+.1f %%", by[2])}
	for i := range by[0] {
		if !rising([]float64{0, by[2][i], by[1][i], by[0][i]}) {
			o.verdict = No
		}
	}
	return o
}

// nasArithmetic gives A18 to A20.
func nasArithmetic(out map[string]outcome) {
	// Three jobs, each local with 0.1 and qualified with 0.5: what is found within so many skips (III-C).
	found := func(skips float64) float64 { return 100 * (1 - math.Pow(1-0.1*0.5, 3*skips)) }
	// A part of 0.687 of the jobs is light, one job a user: whether one is among the first users (III-E).
	light := func(users float64) float64 { return 100 * (1 - math.Pow(1-0.687, users)) }
	seconds := 40.0 / 27
	counts := shuffle.Apportion([]float64{70, 30}, 10)
	out["A18"] = outcome{
		ours:    fmt.Sprintf("%.2f %%, %.2f %%, %.2f s", found(10), found(40), seconds),
		verdict: allYes(withinPart(found(10), 78.5, 0.001), withinPart(found(40), 99.8, 0.001), verdict(seconds < 2)),
	}
	out["A19"] = outcome{ours: formatList("%.2f", light(3), light(5)) + " %", verdict: allYes(withinPart(light(3), 97, 0.001), withinPart(light(5), 99.7, 0.001))}
	out["A20"] = outcome{ours: fmt.Sprintf("%d and %d", counts[0], counts[1]), verdict: verdict(counts[0] == 7 && counts[1] == 3)}
}
