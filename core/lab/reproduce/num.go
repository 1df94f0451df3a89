package reproduce

import (
	"fmt"
	"math"
	"strconv"

	"heddle/core/lab/fluid"
	"heddle/core/lab/workload"
)

// numLab runs NUM's fluid model (§5; algorithms.md 3.2).
type numLab struct {
	in   *Inputs
	all  []fluid.Job // of FB-2010
	maps []fluid.Job // those with map work
}

const (
	numRates   = 8   // 0.25 to 2
	numRuns    = 100 // of a synthetic figure (§5.1.3)
	gainLambda = 1.25
)

// NUM reproduces "Optimizing Network Usage in MapReduce Scheduling".
func NUM(in *Inputs) (Paper, error) {
	data, err := readPaper("num")
	if err != nil {
		return Paper{}, err
	}
	p := Paper{Name: "num", Title: data.Title, Settings: data.settings(map[string]string{
		"runs": strconv.Itoa(in.share(numRuns)), "sets": strconv.Itoa(in.seeds()),
	})}
	lab := &numLab{in: in}
	runs := numRates*in.seeds() + 1
	if in.FB2010 != nil {
		runs += len(numBetas()) + 2
		lab.load(in.FB2010)
	}
	in.announce(runs)
	outcomes := map[string]outcome{}
	for _, step := range []func(map[string]outcome) error{lab.synthetic, lab.trace, lab.slowdown} {
		if err := step(outcomes); err != nil {
			return p, err
		}
	}
	p.Rows = data.rows(nil, outcomes)
	return p, nil
}

// load takes the trace as the model sees it.
func (l *numLab) load(w *workload.Workload) {
	for i := range w.Jobs {
		j := &w.Jobs[i]
		job := fluid.Job{Arrival: j.Submit.Sub(0).Seconds(), Map: float64(j.Input()), Shuffle: float64(j.Shuffle())}
		l.all = append(l.all, job)
		if job.Map > 0 {
			l.maps = append(l.maps, job)
		}
	}
}

// ratios are the mean responses of the paper's policies over the lower bound.
type ratios struct{ fair, maxs, split, num, numu, use float64 }

// policies of the paper, in the order of ratios.
func numPolicies() []string { return []string{"fair", "maxsrpt", "splitsrpt", "num", "numu"} }

// runPolicies runs every policy over some jobs.
func runPolicies(jobs []fluid.Job, c fluid.Capacity) (ratios, []fluid.Result, error) {
	bound, err := fluid.LowerBound(jobs, c)
	if err != nil {
		return ratios{}, nil, err
	}
	var results []fluid.Result
	var over [5]float64
	for i, name := range numPolicies() {
		p, err := fluid.ParsePolicy(name)
		if err != nil {
			return ratios{}, nil, err
		}
		r, err := fluid.Run(jobs, c, p)
		if err != nil {
			return ratios{}, nil, err
		}
		results = append(results, r)
		over[i] = r.Mean() / bound
	}
	return ratios{over[0], over[1], over[2], over[3], over[4], results[4].Utilization}, results, nil
}

// synthetic gives N1 to N5.
func (l *numLab) synthetic(out map[string]outcome) error {
	var fair75, fair100, gain []float64
	below, light, heavy, use := true, true, true, 1.0
	means := make([]ratios, l.in.seeds()*numRates)
	err := l.in.runEach(len(means), func(i int) (err error) {
		means[i], err = l.lambda(numRate(i%numRates), i/numRates)
		return err
	})
	if err != nil {
		return err
	}
	for set := range l.in.seeds() {
		for k := range numRates {
			lambda, mean := numRate(k), &means[set*numRates+k]
			better := min(mean.maxs, mean.split)
			below = below && mean.num < better
			use = min(use, mean.use)
			switch lambda {
			case 0.75:
				fair75 = append(fair75, mean.fair)
			case 1:
				fair100 = append(fair100, mean.fair)
			case gainLambda:
				gain = append(gain, 100*(1-mean.num/better))
			}
			light = light && (lambda > 1 || mean.numu > better)
			heavy = heavy && (lambda < 1.5 || mean.numu < better)
		}
	}
	out["N1"] = outcome{ours: formatList("%.2f", fair75...), verdict: withinPart(average(fair75), 2.2515, 0.06)}
	out["N2"] = outcome{ours: formatList("%.2f", fair100...), verdict: withinPart(average(fair100), 3.9443, 0.06)}
	out["N3"] = outcome{ours: formatList("%.1f %%", gain...), verdict: withinPart(average(gain), 17, 0.15)}
	out["N4"] = outcome{ours: yesNo(below), verdict: verdict(below)}
	out["N5"] = outcome{ours: fmt.Sprintf("worse up to λ = 1: %s; better from 1.5: %s", yesNo(light), yesNo(heavy)), verdict: verdict(light && heavy)}
	return nil
}

// numRate returns a rate λ.
func numRate(k int) float64 { return 0.25 * float64(k+1) }

// lambda returns the mean ratios over the runs of one set of seeds at one rate.
func (l *numLab) lambda(lambda float64, set int) (ratios, error) {
	var mean ratios
	runs := l.in.share(numRuns)
	for k := range runs {
		jobs, err := fluid.PaperSynthetic(lambda, uint64(1+set*numRuns+k)).Generate() //nolint:gosec // small
		if err != nil {
			return mean, err
		}
		r, _, err := runPolicies(jobs, fluid.Capacity{Map: 1, Shuffle: 1})
		if err != nil {
			return mean, err
		}
		n := float64(runs)
		mean.fair += r.fair / n
		mean.maxs += r.maxs / n
		mean.split += r.split / n
		mean.num += r.num / n
		mean.numu += r.numu / n
		mean.use += r.use / n
	}
	return mean, nil
}

// numBetas are the shuffle capacities FB-2010 is run with, in parts of the map
// capacity.
func numBetas() []float64 { return []float64{0.1, 0.2, 0.3, 0.4, 0.5, 1} }

// atBeta is what FB-2010 came to with one shuffle capacity.
type atBeta struct {
	all     ratios         // of all jobs
	input   ratios         // of those with input; at 0.3 and 1 only
	results []fluid.Result // of all jobs
}

func (a *atBeta) gap() float64 { return a.all.split - a.all.num }

// gain is how much less NUM(.85) takes than the better of MaxSRPT and SplitSRPT, in percent.
func (r *ratios) gain() float64 { return 100 * (1 - r.num/min(r.maxs, r.split)) }

// trace gives N6 to N15 and N17, where they differ both for all jobs and for those
// with input.
func (l *numLab) trace(out map[string]outcome) error {
	if l.in.FB2010 == nil {
		for _, id := range []string{"N6", "N7", "N8", "N9", "N10", "N11", "N12", "N13", "N14", "N15", "N17"} {
			out[id] = notRun()
		}
		return nil
	}
	betas := numBetas()
	results := make([]*atBeta, len(betas))
	err := l.in.runEach(len(betas), func(i int) (err error) {
		results[i], err = l.beta(betas[i])
		return err
	})
	if err != nil {
		return err
	}
	at := map[float64]*atBeta{}
	for i, beta := range betas {
		at[beta] = results[i]
	}
	l.overBound(out, at)
	l.gains(out, at)
	l.network(out, at)
	ids, queues := []string{"N13", "N14"}, []fluid.Queue{fluid.MapQueue, fluid.ShuffleQueue}
	matched := make([]outcome, len(queues))
	err = l.in.runEach(len(queues), func(i int) (err error) {
		matched[i], err = l.matched(queues[i], at[0.3].results)
		return err
	})
	for i, id := range ids {
		out[id] = matched[i]
	}
	return err
}

// beta runs FB-2010 with one shuffle capacity.
func (l *numLab) beta(beta float64) (*atBeta, error) {
	a := &atBeta{}
	var err error
	if a.all, a.results, err = runPolicies(l.all, l.day(l.all, beta)); err != nil {
		return nil, err
	}
	if beta == 0.3 || beta == 1 {
		a.input, _, err = runPolicies(l.maps, l.day(l.maps, beta))
	}
	return a, err
}

// overBound gives N6 to N9.
func (l *numLab) overBound(out map[string]outcome, at map[float64]*atBeta) {
	one, tenth := at[1], at[0.1].all.fair
	out["N6"] = outcome{ours: formatList("%.4f", tenth), verdict: withinPart(tenth, 18.8094, 0.01)}
	out["N7"] = outcome{ours: formatList("%.4f", one.all.fair, one.input.fair), verdict: withinPart(one.all.fair, 4.3598, 0.03)}
	out["N8"] = outcome{ours: formatList("%.4f", one.all.split, one.input.split), verdict: withinPart(one.input.split, 1.0767, 0.0005)}
	out["N9"] = outcome{ours: formatList("%.4f", one.all.num, one.input.num), verdict: withinPart(one.input.num, 1.0643, 0.005)}
}

// gains gives N10 to N12.
func (l *numLab) gains(out map[string]outcome, at map[float64]*atBeta) {
	best := 0.3
	for _, beta := range numBetas() {
		if at[beta].all.gain() > at[best].all.gain() {
			best = beta
		}
	}
	third := at[0.3]
	out["N10"] = outcome{
		ours:    formatList("%.1f %%", third.all.gain(), third.input.gain()) + fmt.Sprintf(", largest at β = %g", best),
		verdict: allYes(verdict(best == 0.3), withinPart(third.input.gain(), 9, 0.15)),
	}
	out["N11"] = outcome{ours: fmt.Sprintf("%.4f to %.4f at β = 0.3", third.all.maxs, third.all.split), verdict: verdict(third.all.maxs > 1.2*third.all.split)}
	out["N12"] = outcome{ours: fmt.Sprintf("%.3f at 0.5, %.3f at 1", at[0.5].gap(), at[1].gap()), verdict: verdict(at[1].gap() < at[0.5].gap()/2)}
}

// matched gives N13 and N14: the factors on a queue's capacity with which
// NUM(.85) is as good as MaxSRPT, SplitSRPT and Fair at β = 0.3 (§5.4).
func (l *numLab) matched(q fluid.Queue, results []fluid.Result) (outcome, error) {
	want := [3]float64{0.88, 0.98, 0.70}
	if q == fluid.ShuffleQueue {
		want = [3]float64{0.81, 0.94, 0.55}
	}
	p, err := fluid.ParsePolicy("num")
	if err != nil {
		return outcome{}, err
	}
	var got [3]float64
	near := true
	for k, policy := range []int{1, 2, 0} {
		if got[k], err = fluid.Gamma(l.all, l.day(l.all, 0.3), p, q, fluid.Match{Target: results[policy].Mean(), Within: 1e-3}); err != nil {
			return outcome{}, err
		}
		near = near && math.Abs(got[k]-want[k]) <= 0.02
	}
	return outcome{ours: formatList("%.3f", got[:]...), verdict: verdict(near)}, nil
}

// network gives N15 and N17.
func (l *numLab) network(out map[string]outcome, at map[float64]*atBeta) {
	least := 1.0
	for _, beta := range numBetas() {
		least = min(least, at[beta].all.use)
	}
	buffer := func(policy int) float64 { return at[0.5].results[policy].MaxBuffer }
	low := min(buffer(1), buffer(2))
	out["N15"] = outcome{ours: formatList("%.6f", least), verdict: withinPart(least, 1, 1e-4)}
	out["N17"] = outcome{
		ours:    fmt.Sprintf("MaxSRPT %.0f s, SplitSRPT %.0f s, NUM(.85) %.0f s, NUM(UOPT) %.0f s", buffer(1), buffer(2), buffer(3), buffer(4)),
		verdict: verdict(buffer(3) < low && buffer(4) < low),
	}
}

// day is the capacity that does all map work of some jobs in a day.
func (l *numLab) day(jobs []fluid.Job, beta float64) fluid.Capacity {
	const day = 24 * 60 * 60
	sum := 0.0
	for i := range jobs {
		sum += jobs[i].Map
	}
	return fluid.Capacity{Map: sum / day, Shuffle: beta * sum / day}
}

// slowdown gives N16.
func (l *numLab) slowdown(out map[string]outcome) error {
	return l.in.runEach(1, func(int) (err error) {
		out["N16"], err = l.slowdowns()
		return err
	})
}

func (l *numLab) slowdowns() (outcome, error) {
	const buckets = 50
	var o outcome
	s := fluid.PaperSynthetic(0.75, 1)
	s.Jobs = l.in.share(1_000_000)
	jobs, err := s.Generate()
	if err != nil {
		return o, err
	}
	c := fluid.Capacity{Map: 1, Shuffle: 1}
	var by [2][]fluid.Bucket
	for i, name := range []string{"fair", "num"} {
		p, err := fluid.ParsePolicy(name)
		if err != nil {
			return o, err
		}
		r, err := fluid.Run(jobs, c, p)
		if err != nil {
			return o, err
		}
		if by[i], err = fluid.Slowdowns(jobs, c, r.Responses, buckets); err != nil {
			return o, err
		}
	}
	worse := 0
	for k := range by[0] {
		if by[1][k].Slowdown > by[0][k].Slowdown {
			worse++
		}
	}
	last := len(by[0]) - 1
	o.ours = fmt.Sprintf("worse in %d of %d; Fair %.1f to %.1f, NUM %.2f to %.2f, %d jobs", worse, len(by[0]),
		by[0][0].Slowdown, by[0][last].Slowdown, by[1][0].Slowdown, by[1][last].Slowdown, len(jobs))
	o.verdict = verdict(worse == 0)
	return o, nil
}

func average(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(len(of), 1))
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}
