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

// steering is the configuration of a heddle with a relay. Deadlines are long,
// because all containers of the cluster are few, and a call waits long for its
// first plan: a machine that stands still for a moment is not what is tested.
func steering(t *testing.T, c *hadoop.Cluster, mode string) string {
	t.Helper()
	return fmt.Sprintf(`
mode: %s
uplinks: {capacity: 100Mbps}
resource_manager: {poll_interval: 500ms, requests_per_second: 60}
mapreduce: {poll_interval: 500ms, requests_per_second: 120}
hdfs: {interval: 2s, user: root}
state: {publish_interval: 200ms}
policy: {name: shufflewatcher, params: {assume_unknown: true}}
relay:
  listen: %s:%s
  journal: %s
  limits: {pin_deadline: 3m, trim_deadline: 1m, decide_in: 2s}
`, mode, c.GatewayAddr(), relayPort, t.TempDir())
}

// throughRelay is the one key by which a job opts in.
func throughRelay(c *hadoop.Cluster) hadoop.Settings {
	return hadoop.Settings{"yarn.resourcemanager.scheduler.address": c.GatewayAddr() + ":" + relayPort}
}

// runs is how often a job is repeated: few times in the suite, as often as
// HEDDLE_RUNS says otherwise.
func runs(t *testing.T, few int) int {
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

// landed holds one job's reduces against the policy's plan of them.
type landed struct {
	app    model.AppID
	actual map[string]int
	match  int // reduces that ran on a rack, and no more there, as planned
	named  int // reduces that ran on a rack of the plan, be it beyond its share: what one rack cannot hold goes to the next
	all    int
}

// reducesOf compares where a finished job's reduces ran with the plans that said
// how many go where.
func reducesOf(t *testing.T, c *hadoop.Cluster, s *service, job string) landed {
	t.Helper()
	ctx := within(t, time.Minute)
	l := landed{app: model.AppID(hadoop.AppID(job)), actual: map[string]int{}}
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
		l.all++
		l.actual[a.Rack]++
		if plannedBy(plans, model.RackID(a.Rack), l.actual[a.Rack], model.Time(a.Started)) {
			l.match++
		}
		if plannedBy(plans, model.RackID(a.Rack), 1, model.Time(a.Started)) {
			l.named++
		}
	}
	last := map[model.RackID]int{}
	if len(plans) > 0 {
		for _, r := range plans[len(plans)-1].Plan.Racks {
			last[r.Rack] = r.Count
		}
	}
	t.Logf("%s: %d plans of reduces, the last %v; ran %v, of %d %d as planned, %d on racks of the plan; maps ran %v",
		l.app, len(plans), last, l.actual, l.all, l.match, l.named, hadoop.AttemptsByRack(attempts, "MAP"))
	return l
}

// grantTakes bounds the time from the plan an ask is rewritten by to the start of
// the attempt: a heartbeat of the application, one of the node, the next of the
// application, and the start of the container's process.
const grantTakes = 8 * model.Second

// plannedBy reports whether a plan in force when a container was granted wanted
// so many on the rack. Plans move as maps finish; the one that counts is older than the attempt's start.
func plannedBy(plans []model.Decision, rack model.RackID, count int, started model.Time) bool {
	for i := range plans {
		if plans[i].At > started {
			break
		}
		if i+1 < len(plans) && plans[i+1].At.Add(grantTakes) < started {
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

// relayed reads what the relay did.
func (s *service) relayed(ctx context.Context) model.Relay {
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
	ctx := within(t, 2*time.Minute)
	if err := c.TeraInput(ctx, "/skewed", c.HostsOf("/rack2"), 2, 4_000_000); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"terasort":  {"-Dmapreduce.job.reduces=3", "/skewed", "OUT"},
		"wordcount": {"-Dmapreduce.job.reduces=2", "/skewed", "OUT"},
		"sleep":     {"-m", "1", "-r", "20", "-mt", "1000", "-rt", "300"},
	}
}

// runThrough runs a program of relayJobs with a fresh output directory.
func runThrough(t *testing.T, c *hadoop.Cluster, program string, args []string, n int) string {
	t.Helper()
	args = slices.Clone(args)
	if last := len(args) - 1; args[last] == "OUT" {
		args[last] = fmt.Sprintf("/out-%s-%s-%d", t.Name(), program, n)
	}
	with := throughRelay(c)
	with["mapreduce.job.queuename"] = "default" // FairScheduler wants a job of root to name one
	job, err := c.JobWith(within(t, 5*time.Minute), with, program, args...)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return job
}

// steers runs every job through the relay and wants at least 95 % of all
// reduces on the racks they were planned for.
func steers(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	s := startConfigured(t, c, steering(t, c, "enforce"))
	match, all := 0, 0
	jobs := relayJobs(t, c)
	for _, program := range slices.Sorted(maps.Keys(jobs)) {
		for n := range runs(t, 1) {
			l := reducesOf(t, c, s, runThrough(t, c, program, jobs[program], n))
			match, all = match+l.match, all+l.all
		}
	}
	r := s.relayed(within(t, 10*time.Second))
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
func TestRelaySteers(t *testing.T) { steers(t, cluster(t)) }

// TestRelaySteersFair is the same with FairScheduler, as it comes.
func TestRelaySteersFair(t *testing.T) {
	c := cluster(t)
	set := func(s hadoop.Scheduler) {
		if err := c.SetScheduler(within(t, 3*time.Minute), s); err != nil {
			t.Fatal(err)
		}
	}
	set(hadoop.Fair)
	defer set(hadoop.Capacity)
	steers(t, c)
}
