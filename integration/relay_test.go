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
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
)

// The tests of this file send unmodified jobs through heddle's relay, by the one
// key a user would set, and look in the JobHistory server where tasks ran.

// relayPort is where heddle listens for ApplicationMasters, on the gateway.
const relayPort = "7930"

// relaySettings is the configuration of a heddle with a relay. Deadlines are long,
// because all containers of the cluster are few, and a call waits long for its
// first plan: a machine that stands still for a moment is not what is tested.
func relaySettings(t *testing.T, c *hadoop.Cluster, mode string) string {
	t.Helper()
	return fmt.Sprintf(`
mode: %s
uplinks: {capacity: 100Mbps}
resource_manager: {poll_interval: 500ms, requests_per_second: 60}
mapreduce: {poll_interval: 500ms, requests_per_second: 120}
hdfs: {interval: 2s, user: root}
advanced: {state: {publish_interval: 200ms}}
policy: {name: shufflewatcher, params: {assume_unknown: true}}
relay:
  listen: %s:%s
  limits: {pin_deadline: 3m, trim_deadline: 1m, decide_in: 2s}
`, mode, c.GatewayAddr(), relayPort)
}

// throughRelay returns the one setting that sends a job through the relay.
func throughRelay(c *hadoop.Cluster) hadoop.Settings {
	return hadoop.Settings{"yarn.resourcemanager.scheduler.address": c.GatewayAddr() + ":" + relayPort}
}

// repetitions returns how often a job is repeated: HEDDLE_RUNS, or few times where
// that is not set.
func repetitions(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("HEDDLE_RUNS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HEDDLE_RUNS=%s: want a number of runs", text)
	}
	return n
}

// reduceRun compares where one job's reduces ran with the policy's plans of them.
type reduceRun struct {
	app           model.AppID
	ranOn         map[string]int
	asPlanned     int // reduces that ran on a rack, and no more there, as planned
	onPlannedRack int // reduces that ran on a rack of the plan, be it beyond its share: what one rack cannot hold goes to the next
	total         int
}

// reducesOf compares the racks on which a finished job's reduces ran with the plans
// of them.
func reducesOf(t *testing.T, c *hadoop.Cluster, s *service, job string) reduceRun {
	t.Helper()
	ctx := withTimeout(t, time.Minute)
	l := reduceRun{app: model.AppID(hadoop.AppID(job)), ranOn: map[string]int{}}
	var plans []model.Decision
	for _, d := range s.decisions(ctx) {
		if p := d.Plan; p != nil && p.App == l.app && p.Stage == model.StageReduce && len(p.Racks) > 0 {
			plans = append(plans, d)
		}
	}
	attempts, err := c.Attempts(ctx, job)
	if err != nil {
		t.Fatalf("attempts of %s: %v", job, err)
	}
	slices.SortFunc(attempts, func(a, b hadoop.Attempt) int { return cmp.Compare(a.Started, b.Started) })
	for _, a := range attempts {
		if a.Type != "REDUCE" {
			continue
		}
		l.total++
		l.ranOn[a.Rack]++
		if plannedBy(plans, model.RackID(a.Rack), l.ranOn[a.Rack], model.Time(a.Started)) {
			l.asPlanned++
		}
		if plannedBy(plans, model.RackID(a.Rack), 1, model.Time(a.Started)) {
			l.onPlannedRack++
		}
	}
	last := map[model.RackID]int{}
	if len(plans) > 0 {
		for _, r := range plans[len(plans)-1].Plan.Racks {
			last[r.Rack] = r.Count
		}
	}
	t.Logf("%s: %d plans of reduces, the last %v; ran %v, of %d %d as planned, %d on racks of the plan; maps ran %v",
		l.app, len(plans), last, l.ranOn, l.total, l.asPlanned, l.onPlannedRack, hadoop.AttemptsByRack(attempts, "MAP"))
	return l
}

// grantDelay bounds the time from the plan an ask is rewritten by to the start of
// the attempt: a heartbeat of the application, one of the node, the next of the
// application, and the start of the container's process.
const grantDelay = 8 * model.Second

// plannedBy reports whether a plan in force when a container was granted had at
// least count reduces on the rack. Plans change as maps finish, so any plan counts
// that was in force within grantDelay before the attempt's start.
func plannedBy(plans []model.Decision, rack model.RackID, count int, started model.Time) bool {
	for i := range plans {
		if plans[i].At > started {
			break
		}
		if i+1 < len(plans) && plans[i+1].At.Add(grantDelay) < started {
			continue // replaced long before
		}
		for _, r := range plans[i].Plan.Racks {
			if r.Rack == rack && r.Count >= count {
				return true
			}
		}
	}
	return false
}

// decisions reads heddle's whole log of decisions.
func (s *service) decisions(ctx context.Context) []model.Decision {
	s.t.Helper()
	var all []model.Decision
	for since := uint64(0); ; {
		var page struct {
			Decisions []model.Decision
			Next      uint64 `json:"next"`
		}
		if err := s.get(ctx, fmt.Sprintf("/v1/decisions?since=%d", since), &page); err != nil {
			s.t.Fatal(err)
		}
		if len(page.Decisions) == 0 {
			return all
		}
		all = append(all, page.Decisions...)
		since = page.Decisions[len(page.Decisions)-1].Seq
	}
}

// relayStatus reads what the relay did.
func (s *service) relayStatus(ctx context.Context) model.Relay {
	s.t.Helper()
	var r model.Relay
	if err := s.get(ctx, "/v1/relay", &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// relayJobs are the jobs that are steered: programs with their arguments.
func relayJobs(t *testing.T, c *hadoop.Cluster) map[string][]string {
	t.Helper()
	ctx := withTimeout(t, 2*time.Minute)
	if err := c.TeraInput(ctx, "/skewed", c.HostsOf("/rack2"), 2, 4_000_000); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"terasort":  {"-Dmapreduce.job.reduces=3", "/skewed", "OUT"},
		"wordcount": {"-Dmapreduce.job.reduces=2", "/skewed", "OUT"},
		"sleep":     {"-m", "1", "-r", "20", "-mt", "1000", "-rt", "300"},
	}
}

// runThroughRelay runs a program of relayJobs with a fresh output directory.
func runThroughRelay(t *testing.T, c *hadoop.Cluster, program string, args []string, n int) string {
	t.Helper()
	args = slices.Clone(args)
	if last := len(args) - 1; args[last] == "OUT" {
		args[last] = fmt.Sprintf("/out-%s-%s-%d", t.Name(), program, n)
	}
	with := throughRelay(c)
	with["mapreduce.job.queuename"] = "default" // FairScheduler refuses a job of root that names no queue
	job, err := c.JobWith(withTimeout(t, 5*time.Minute), with, program, args...)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return job
}

// checkSteering runs every job through the relay and checks that at least 95 % of
// all reduces ran on the racks planned for them.
func checkSteering(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	match, all := 0, 0
	jobs := relayJobs(t, c)
	for _, program := range slices.Sorted(maps.Keys(jobs)) {
		for n := range repetitions(t, 1) {
			l := reducesOf(t, c, s, runThroughRelay(t, c, program, jobs[program], n))
			match, all = match+l.asPlanned, all+l.total
		}
	}
	r := s.relayStatus(withTimeout(t, 10*time.Second))
	t.Logf("%d of %d reduces on the rack planned for them; relay: rewritten %v, passed %v", match, all, r.Counts.Rewritten, r.Counts.Passed)
	if match*100 < all*95 {
		t.Errorf("%d of %d reduces ran on the rack planned for them, want 95 %%", match, all)
	}
	if r.Counts.Rewritten[model.ActionPin] == 0 || r.Counts.Rewritten[model.ActionTrim] == 0 {
		t.Errorf("the relay pinned %d and trimmed %d asks: nothing was steered", r.Counts.Rewritten[model.ActionPin], r.Counts.Rewritten[model.ActionTrim])
	}
}

// TestRelaySteers: unmodified jobs land where the policy planned, with
// CapacityScheduler as it comes.
func TestRelaySteers(t *testing.T) { checkSteering(t, cluster(t)) }
