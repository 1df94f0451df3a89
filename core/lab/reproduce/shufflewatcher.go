package reproduce

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/shuffle"
)

// Policies of ShuffleWatcher's comparisons (§4.2, §5.3).
const (
	swStrict  = `{"relax_s":0}`
	swDRF     = `{"relax_s":0,"fairness":"drf"}`
	swPrinted = `{"preset":"paper","relax_s":0}`
	swNoWait  = `{"relax_s":0,"wait_for_targets_s":0}`
	swNASS    = `{"relax_s":0,"samp":false,"sarp":false}`
	swSARP    = `{"relax_s":0,"samp":false}`
	swSAMP    = `{"relax_s":0,"sarp":false}`
	// Under relaxed fairness users wait for the racks that SAMP and SARP prefer.
	swWaits     = `{"relax_for":"preferred"}`
	swWaitsLong = `{"relax_for":"preferred","relax_s":60}`
)

// swOneSize is the end of a load's name in which all inputs are of one size.
const swOneSize = "#alike"

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
	z := swSize{racks: whole.scaledDown(max(in.Parts, 1))}
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
func shuffleWatcherLab(in *Inputs, large, small *swSize) *experiments {
	ec2, dedicated, untyped := large.cluster(), small.cluster(), large.racks.cluster(6, 0.25)
	untyped.Block = ec2.Block
	base, few := large.load(swUsers, swJobs, ""), small.load(swFew, swJobs, "")
	l := &experiments{inputs: in, load: swWorkload, steady: swSteady, variants: []variant{
		{name: "Fair", load: base, policy: "fair", params: byArrival},
		{name: "SW-fair", load: base, policy: "shufflewatcher", params: swStrict},
		{name: "Delay", load: base, policy: "delay"},
		{name: "SW-relaxed", load: base, policy: "shufflewatcher"},
		{name: "DRF", load: base, policy: "drf"},
		{name: "SW-DRF", load: base, policy: "shufflewatcher", params: swDRF},
		{name: "NASS", load: base, policy: "shufflewatcher", params: swNASS},
		{name: "NASS, SARP", load: base, policy: "shufflewatcher", params: swSARP},
		{name: "as printed", load: base, policy: "shufflewatcher", params: swPrinted},
		{name: "no wait", load: base, policy: "shufflewatcher", params: swNoWait},
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
		swPair("alike", base+swOneSize),
		sw("NASS, SAMP", base, swSAMP), sw("NASS, relaxed", base, `{"samp":false,"sarp":false}`),
		share(0.75), share(0.9), share(1), others,
		sw("waits", base, swWaits), sw("waits long", base, swWaitsLong),
		variant{name: "alike, Delay", load: base + swOneSize, policy: "delay"}, sw("alike, waits long", base+swOneSize, swWaitsLong),
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
	spec, alike := strings.CutSuffix(name, swOneSize)
	w, err := workload.Synth(fmt.Sprintf("%s,seed=%d", spec, seed))
	if err == nil && alike {
		makeOneSize(w)
	}
	return w, err
}

// makeOneSize gives every job the mean input, and what its benchmark shuffles and writes
// of that.
func makeOneSize(w *workload.Workload) {
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
	data, err := readPaper("shufflewatcher")
	if err != nil {
		return Paper{}, err
	}
	large, small, err := swClusters(in)
	if err != nil {
		return Paper{}, err
	}
	p := Paper{Name: "shufflewatcher", Title: data.Title, Settings: data.settings(map[string]string{
		"cluster": large.racks.String(), "scale": fmt.Sprintf("%.4g", large.scale),
		"small cluster": small.racks.String(), "small scale": fmt.Sprintf("%.4g", small.scale),
		"few users": strconv.Itoa(swFew), "single users": strconv.Itoa(swFew * swJobs),
	})}
	l := shuffleWatcherLab(in, &large, &small)
	in.announce(len(l.variants) * in.seeds())
	if err := l.run(); err != nil {
		return p, err
	}
	better := swBetter(l)
	p.Rows = data.rows(l, map[string]outcome{
		"SW1":  swCrossed(l),
		"SW2":  swReads(l),
		"SW6":  {ours: formatRange("%.0f %%", better), verdict: verdict(median(better) > 100-1e-6)},
		"SW10": swAlone(l),
		"SW11": swShare(l, data.Texts),
		"SW12": swMoreJobs(l, data.Texts),
		"SW15": swThreshold(l, data.Texts),
		"SW16": swFigure7(),
		"SW17": swHeavy(in),
	})
	return p, nil
}

// swCrossed gives SW1: the part of the shuffle that crosses racks.
func swCrossed(l *experiments) outcome {
	crossed := l.values("Fair", figureOf("shuffle that crosses"))
	return outcome{ours: formatRange("%.1f %%", crossed), verdict: withinPart(median(crossed), 87.9, 0.05)}
}

// swReads gives SW2: the part of maps' reads in the bytes across racks, of all jobs
// and by class.
func swReads(l *experiments) outcome {
	part := l.values("Fair", figureOf("read of crossing bytes"))
	o := outcome{ours: formatRange("%.1f %%", part), verdict: withinPart(median(part), 18.8, 0.5)}
	for i, want := range []float64{14.4, 37.6, 81.4} {
		class := [...]workload.Class{workload.Heavy, workload.Medium, workload.Light}[i]
		of, whole := l.movedByClass("Fair", class, remoteReads), l.movedByClass("Fair", class, crossedAndRead)
		for seed := range of {
			of[seed] = 100 * of[seed] / max(whole[seed], 1)
		}
		o.ours += [...]string{"; ", ", ", ", "}[i] + formatRange("%.1f %%", of)
		o.verdict = allYes(o.verdict, withinPart(median(of), want, 0.5))
	}
	return o
}

// swBetter returns the percentage of jobs that take less time than under Fair, seed
// by seed.
func swBetter(l *experiments) []float64 {
	better := make([]float64, l.inputs.seeds())
	for seed := range better {
		fair, sw := l.results["Fair"][seed].Responses, l.results["SW-fair"][seed].Responses
		for i := range fair {
			if sw[i] < fair[i] {
				better[seed] += 100 / float64(len(fair))
			}
		}
	}
	return better
}

// swAlone gives SW10: NASS alone leaves bytes across racks as they are.
func swAlone(l *experiments) outcome {
	nass := l.change("NASS", "Fair", crossRack)
	return outcome{ours: formatRange("%+.1f %%", nass) + ": " + l.changeByKind("NASS", "Fair"), verdict: verdict(math.Abs(median(nass)) <= 2)}
}

// swShare gives SW11: the part of NASS in the gain of throughput.
func swShare(l *experiments, texts map[string]string) outcome {
	nass, whole := l.change("NASS", "Fair", throughput), l.change("SW-fair", "Fair", throughput)
	o := outcome{ours: "NASS " + formatRange("%+.1f %%", nass) + ", all " + formatRange("%+.1f %%", whole), verdict: No}
	if gain := median(whole); gain > 0 {
		o.verdict = verdict(median(nass) > 0.4*gain)
	} else {
		o.notes = []string{texts["no gain"]}
	}
	return o
}

// swMoreJobs gives the second half of SW12: gains with 9, 12 and 18 jobs a user.
func swMoreJobs(l *experiments, texts map[string]string) outcome {
	nine, twelve, more := l.change("9 jobs, SW-fair", "9 jobs, Fair", throughput), l.change("SW-fair", "Fair", throughput), l.change("18 jobs, SW-fair", "18 jobs, Fair", throughput)
	o := outcome{ours: "; 9, 12, 18: " + formatRange("%+.1f %%", nine) + ", " + formatRange("%+.1f %%", twelve) + ", " + formatRange("%+.1f %%", more), verdict: Yes}
	for i := range nine {
		if !rising([]float64{nine[i], twelve[i], more[i]}) {
			o.verdict = No
		}
	}
	if l.sameResults("1 job, SW-fair", "1 job, Fair") {
		o.notes = append(o.notes, texts["nothing to choose"])
	}
	o.notes = append(o.notes, expand(texts["untyped"], l.figure))
	return o
}

// swThreshold gives SW15. Where a threshold decides nothing, there is nothing to
// judge.
func swThreshold(l *experiments, texts map[string]string) outcome {
	maps, shares := []string{"map completion 0.05", "map completion 0.25"}, []string{"saturation 0.75", "saturation 0.9", "saturation 1"}
	o := outcome{verdict: Yes}
	decided := false
	var groups []string
	for _, names := range [][]string{maps, shares} {
		var parts []string
		for _, name := range names {
			got := l.change(name, "SW-fair", throughput)
			parts = append(parts, formatRange("%+.1f %%", got))
			o.verdict = allYes(o.verdict, verdict(math.Abs(median(got)) < 1))
			decided = decided || !l.sameResults(name, "SW-fair")
		}
		groups = append(groups, strings.Join(parts, ", "))
	}
	o.ours = strings.Join(groups, "; ")
	if !decided {
		o.verdict, o.notes = NotJudged, []string{texts["no decision"]}
	}
	return o
}

// swFigure7 gives SW16: two racks hold 90 and 10 GB of a job's map output, for
// ten reduces.
func swFigure7() outcome {
	out := []model.Bytes{90e9, 10e9}
	even, sarp := shuffle.CrossRack(out, []int{5, 5}), shuffle.CrossRack(out, shuffle.Apportion([]float64{90, 10}, 10))
	return outcome{
		ours:    fmt.Sprintf("%g to %g GB, %+.0f %%", float64(even)/1e9, float64(sarp)/1e9, 100*(float64(sarp)/float64(even)-1)),
		verdict: verdict(even == 50e9 && sarp == 18e9),
	}
}

// swHeavy gives SW17: Facebook's jobs that shuffle more than they read.
func swHeavy(in *Inputs) outcome {
	if in.FB2010 == nil {
		return notRun()
	}
	n := 0
	for i := range in.FB2010.Jobs {
		if j := &in.FB2010.Jobs[i]; j.Shuffle() > j.Input() {
			n++
		}
	}
	part := 100 * float64(n) / float64(len(in.FB2010.Jobs))
	return outcome{ours: fmt.Sprintf("%.1f %% (%d jobs)", part, n), verdict: withinPart(part, 20, 0.05)}
}
