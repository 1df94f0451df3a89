//go:build linux

package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/integration/hadoop"
)

// The experiment: what steering is worth. The jobs of a scenario run again and
// again over uplinks that are their bottleneck, in turn as Hadoop places them, with
// its default slowstart and with others, and as the plans of some policies do, everything else being the same.

// Figures of the experiment.
const (
	experimentMbit = 20 // of an uplink, each way, unless the scenario has its own
	experimentRuns = 5  // of each arm, unless HEDDLE_RUNS says otherwise
)

// fromEnv is what an environment variable lists, separated by commas.
func fromEnv(name string, otherwise ...string) []string {
	if text := os.Getenv(name); text != "" {
		return strings.Split(text, ",")
	}
	return otherwise
}

// stockName is the arm without heddle, whose figures the others' are compared with.
const stockName = "stock"

// arm is one way to run a scenario.
type arm struct {
	name      string
	policy    string // of heddle; "" is Hadoop's own placement, without heddle
	slowstart string // of every job; "" is Hadoop's default of 0.05
	holds     bool   // the relay holds asks in the policy's order
}

// parseArm reads an arm's name: "stock" or a policy, then after colons a slowstart from 0 to 1
// or, for a policy, "holds".
func parseArm(name string) (*arm, error) {
	parts := strings.Split(name, ":")
	a := &arm{name: name, policy: parts[0]}
	if a.policy == stockName {
		a.policy = ""
	} else if _, known := builtin.Registry().Lookup(a.policy); !known {
		return nil, fmt.Errorf("arm %q: want %s or one of %v", name, stockName, builtin.Registry().Names())
	}
	for _, option := range parts[1:] {
		share, err := strconv.ParseFloat(option, 64)
		switch {
		case option == "holds" && a.policy != "" && !a.holds:
			a.holds = true
		case err == nil && share >= 0 && share <= 1 && a.slowstart == "":
			a.slowstart = option
		default:
			return nil, fmt.Errorf("arm %q: option %q: want a slowstart from 0 to 1 or, for a policy, holds", name, option)
		}
	}
	return a, nil
}

// armsOf reads the arms of these names, stock first, whether it is among them or not.
func armsOf(names []string) ([]*arm, error) {
	arms := []*arm{{name: stockName}}
	for _, name := range names {
		if slices.ContainsFunc(arms[1:], func(a *arm) bool { return a.name == name }) {
			return nil, fmt.Errorf("arm %q is there twice", name)
		}
		if name == stockName {
			continue
		}
		a, err := parseArm(name)
		if err != nil {
			return nil, err
		}
		arms = append(arms, a)
	}
	return arms, nil
}

// settings are those of every job of the arm.
func (a *arm) settings() hadoop.Settings {
	all := hadoop.Settings{}
	if a.slowstart != "" {
		all["mapreduce.job.reduce.slowstart.completedmaps"] = a.slowstart
	}
	return all
}

// config is the configuration of the arm's heddle, whose relay listens on an address. Deadlines are
// long, because all containers of the cluster are few. A policy has its defaults; but ShuffleWatcher's takes
// jobs it knows nothing of as the paper does. Jobs here last seconds, so that heddle polls every half second,
// unless there are many: observing those as often takes the processors that they run on.
func (a *arm) config(listen string, s *scenario) string {
	polls := `resource_manager: {poll_interval: 500ms, requests_per_second: 60}
mapreduce: {poll_interval: 500ms, requests_per_second: 120}
hdfs: {interval: 2s, user: root}`
	if s.manyJobs {
		polls = "mapreduce: {requests_per_second: 40}\nhdfs: {user: root}"
	}
	policy, limits, advanced := "name: "+a.policy, "pin_deadline: 3m, trim_deadline: 1m, decide_in: 2s", "state: {publish_interval: 200ms}"
	if a.policy == "shufflewatcher" {
		policy += ", params: {assume_unknown: true}"
	}
	if a.holds {
		limits += ", hold_by_rank: true, hold_max: 10m"
		advanced += ", relay: {limits: {hold_without_peer: true}}"
	}
	return fmt.Sprintf(`mode: enforce
uplinks: {capacity: %dMbps}
%s
advanced: {%s}
policy: {%s}
relay:
  listen: %s
  limits: {%s}
`, s.uplinkMbit(), polls, advanced, policy, listen, limits)
}

// runJobs runs jobs as the arm does: with a heddle of its policy, that is there
// for these jobs alone, or without. It returns the plans there were.
func (a *arm) runJobs(s *scenario, r *trial, jobs func(hadoop.Settings)) []*model.Plan {
	t := r.t
	t.Helper()
	with := a.settings()
	if a.policy == "" {
		jobs(with)
		return nil
	}
	h := startConfigured(t, r.c, a.config(r.c.GatewayAddr()+":"+relayPort, s))
	defer h.stop()
	maps.Copy(with, throughRelay(r.c))
	jobs(with)
	relay := h.relayStatus(withTimeout(t, 10*time.Second))
	var plans []*model.Plan
	for _, d := range h.decisions(withTimeout(t, time.Minute)) {
		if d.Plan != nil {
			plans = append(plans, d.Plan)
		}
	}
	t.Logf("%s: rewritten %v, passed %v, last plans: %s", a.name, relay.Counts.Rewritten, relay.Counts.Passed, lastPlans(plans))
	return plans
}

// lastPlans prints the last plan of each stage of each application.
func lastPlans(plans []*model.Plan) string {
	var order []string
	last := map[string]string{}
	for _, p := range plans {
		stage := string(p.App[len(p.App)-4:]) + " " + string(p.Stage)
		if _, known := last[stage]; !known {
			order = append(order, stage)
		}
		last[stage] = string(p.Reason)
		for _, r := range p.Racks {
			last[stage] += fmt.Sprintf(" %d on %s", r.Count, r.Rack)
		}
	}
	for i, stage := range order {
		order[i] += " " + last[stage]
	}
	return strings.Join(order, "; ")
}

// TestExperiment takes half an hour or more and runs on its own: make experiment. Each run is kept
// in a file as it ends; with HEDDLE_EXPERIMENT_RESUME those that are there already are not
// made again, so that an experiment that was interrupted goes on.
func TestExperiment(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("an experiment of half an hour or more: make experiment")
	}
	chosen, runs := chosenScenarios(t), repetitions(t, experimentRuns)
	e := &experiment{scheduler: hadoop.Scheduler(cmp.Or(os.Getenv("HEDDLE_SCHEDULER"), string(hadoop.Capacity))), file: experimentFile()}
	if e.scheduler != hadoop.Capacity && e.scheduler != hadoop.Fair {
		t.Fatalf("HEDDLE_SCHEDULER=%s: want %s or %s", e.scheduler, hadoop.Capacity, hadoop.Fair)
	}
	if os.Getenv("HEDDLE_EXPERIMENT_RESUME") != "" {
		var err error
		if e.records, err = readRecords(e.file); err != nil {
			t.Fatal(err)
		}
	}
	hadoop.Require(t)
	e.start(t)
	for _, s := range chosen {
		e.runScenario(t, s, runs)
	}
}

// experiment is what all runs share.
type experiment struct {
	c         *hadoop.Cluster
	scheduler hadoop.Scheduler
	file      string   // where runs are kept
	records   []record // of this experiment, and of those it goes on with
}

// start starts the cluster. FairScheduler rounds containers up to multiples of 1 GiB by default, which is a whole
// node here and little on any other cluster.
func (e *experiment) start(t *testing.T) {
	t.Helper()
	o := hadoop.Options{Racks: 3, HostsPerRack: 3, UplinkMbit: experimentMbit, Scheduler: e.scheduler, Log: os.Stdout}
	if e.scheduler == hadoop.Fair {
		o.YARN = hadoop.Settings{"yarn.scheduler.increment-allocation-mb": "256"}
	}
	var err error
	if e.c, err = hadoop.Start(withTimeout(t, 5*time.Minute), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// pendingRun is a run that is still to be made.
type pendingRun struct {
	runID
	arm *arm
}

// pending are the runs of a scenario that are not among the records. Arms run in turn, another one first each time,
// so that neither what changes in the course of the experiment nor the place after another arm favours one of them.
func (e *experiment) pending(s *scenario, arms []*arm, runs int) (todo []pendingRun) {
	for n := range runs {
		for i := range arms {
			a := arms[(n+i)%len(arms)]
			id := runID{s.name, e.scheduler, s.uplinkMbit(), a.name, n + 1}
			if !slices.ContainsFunc(e.records, func(r record) bool { return r.runID == id }) {
				todo = append(todo, pendingRun{id, a})
			}
		}
	}
	return todo
}

// runScenario runs the arms of a scenario as often as is wanted, and prints the tables. A run that fails is not kept, and
// the others go on.
func (e *experiment) runScenario(t *testing.T, s *scenario, runs int) {
	t.Helper()
	arms, err := armsOf(fromEnv("HEDDLE_POLICIES", s.policies...))
	if err != nil {
		t.Fatal(err)
	}
	todo := e.pending(s, arms, runs)
	t.Logf("%s: %d runs, of which %s has %d", s.name, runs*len(arms), e.file, runs*len(arms)-len(todo))
	if len(todo) > 0 {
		s.writeInput(t, e.c)
	}
	for _, one := range todo {
		name := fmt.Sprintf("%s/%s/%d", s.name, one.arm.name, one.Run)
		ok := t.Run(name, func(t *testing.T) {
			dir := "/" + strings.NewReplacer("/", "-", ":", "-").Replace(name) // a path of HDFS has no colon
			s.check(t, one.arm, e.run(s, one.arm, &trial{t: t, c: e.c, scheduler: e.scheduler, dir: dir}, one.runID))
		})
		if !ok {
			e.recover(t, name)
		}
	}
	for _, c := range compare(e.records) {
		if c.Scenario == s.name && c.Scheduler == e.scheduler && c.Mbit == s.uplinkMbit() {
			t.Logf("%s:\n%s", s.about, c.text())
		}
	}
}

// recover ends what a failed run left, so that the others can go on.
func (e *experiment) recover(t *testing.T, run string) {
	t.Helper()
	left, err := e.unfinished(withTimeout(t, time.Minute))
	if err != nil {
		t.Fatalf("%s left the cluster broken: %v", run, err)
	}
	for _, app := range left {
		killApp(t, e.c, app)
	}
	eventually(t, 2*time.Minute, "nothing of "+run+" is left", func(ctx context.Context) error {
		left, err := e.unfinished(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v have not ended", left)
		}
		return err
	})
	if err := e.c.WaitHealthy(withTimeout(t, 2*time.Minute)); err != nil {
		t.Fatalf("%s left the cluster broken: %v", run, err)
	}
}

// unfinished are the ids of all applications that have not ended.
func (e *experiment) unfinished(ctx context.Context) (ids []string, err error) {
	var answer struct{ Apps struct{ App []hadoop.App } }
	err = e.c.GetJSON(ctx, e.c.RMURL()+"/ws/v1/cluster/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING", &answer)
	for _, app := range answer.Apps.App {
		ids = append(ids, app.ID)
	}
	return ids, err
}

// TestExperimentTable prints the tables of all runs that the file has: make experiment-table.
func TestExperimentTable(t *testing.T) {
	file := experimentFile()
	all, err := readRecords(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Skipf("no runs in %s: make experiment", file)
	}
	for _, c := range compare(all) {
		fmt.Println(c.text())
	}
}

// chosenScenarios are the scenarios that HEDDLE_SCENARIO lists; the two of one
// job without it.
func chosenScenarios(t *testing.T) []*scenario {
	t.Helper()
	var chosen []*scenario
	for _, name := range fromEnv("HEDDLE_SCENARIO", "concentrated", "even") {
		all := allScenarios()
		i := slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })
		if i < 0 {
			t.Fatalf("HEDDLE_SCENARIO: no scenario %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// writeInput writes a scenario's input, over uplinks that are wide meanwhile.
func (s *scenario) writeInput(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	for _, step := range []func() error{
		func() error { return c.Shape(0) },
		func() error { return s.input(withTimeout(t, 5*time.Minute), c) },
		func() error { return c.Shape(s.uplinkMbit()) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// check fails unless some plan of an arm was made for the reason that the
// scenario is there to try.
func (s *scenario) check(t *testing.T, a *arm, plans []*model.Plan) {
	t.Helper()
	want, tried := s.reasons[a.policy]
	if tried && !slices.ContainsFunc(plans, func(p *model.Plan) bool { return p.Reason == want }) {
		t.Errorf("%s under %s: no plan has the reason %s", s.name, a.name, want)
	}
}

// run runs the scenario once. What is prepared is steered under every arm, so
// that it is in the same place.
func (e *experiment) run(s *scenario, a *arm, r *trial, id runID) []*model.Plan {
	r.t.Helper()
	if a.policy == "" && s.prepare != nil {
		(&arm{name: "shufflewatcher", policy: "shufflewatcher"}).runJobs(s, r, func(with hadoop.Settings) {
			r.with = with
			s.prepare(r)
		})
	}
	return a.runJobs(s, r, func(with hadoop.Settings) {
		r.with = with
		if a.policy != "" && s.prepare != nil {
			s.prepare(r)
		}
		e.measure(s, r, id)
	})
}

// measure runs what is measured of the scenario, and keeps it.
func (e *experiment) measure(s *scenario, r *trial, id runID) {
	r.t.Helper()
	before, err := r.c.UplinkBytes()
	if err != nil {
		r.t.Fatal(err)
	}
	began, err := readProcessorTime()
	if err != nil {
		r.t.Fatal(err)
	}
	values := s.run(r)
	ended, err := readProcessorTime()
	if err != nil {
		r.t.Fatal(err)
	}
	moved, err := r.c.UplinkBytesSince(before)
	if err != nil {
		r.t.Fatal(err)
	}
	total := 0.0
	for _, rack := range r.c.Racks() {
		total += float64(moved[rack].Out) / 1e6
	}
	one := record{
		runID: id, At: time.Now().UTC(), Columns: append(slices.Clone(s.columns), crossRackMB),
		Values: append(values, total), Busy: ended.busySince(began),
	}
	r.t.Logf("%s: %s: %.1f; processors busy %.0f %%", r.dir, strings.Join(one.Columns, ", "), one.Values, 100*one.Busy)
	if err := appendRecord(e.file, &one); err != nil {
		r.t.Fatal(err)
	}
	e.records = slices.DeleteFunc(e.records, func(old record) bool { return old.runID == id })
	e.records = append(e.records, one)
	if r.after != nil {
		r.after()
	}
	if _, err := r.c.FS(withTimeout(r.t, time.Minute), "-rm", "-r", "-skipTrash", r.dir); err != nil {
		r.t.Fatal(err)
	}
}
