package frontier

import (
	"fmt"
	"slices"
	"strings"

	"heddle/core/lab/sim"
)

// Fair is the policy that Subject's shares and the times of single jobs are compared with, with Hadoop's slowstart.
const Fair = "fair"

// LongestRatio is how many times its completion time under Fair a job may take whose user had no more than its share.
const LongestRatio = 3

// PerJob is what came of each job of a run.
type PerJob struct {
	Shares sim.Shares `json:"shares"`
	JCT    []float64  `json:"jct_s"`           // by job of the workload; below 0 where it did not finish
	More   []int      `json:"more_than_share"` // jobs whose user had more than its share of its queue while they lived
}

func newPerJob(r *sim.Run) *PerJob {
	p := &PerJob{Shares: r.Shares, JCT: r.Responses, More: []int{}}
	for i, s := range r.JobShares {
		if s.More() {
			p.More = append(p.More, i)
		}
	}
	return p
}

// Fairness is how far Subject keeps shares, and how much longer than under Fair single jobs take. Of several seeds figures of
// shares are the worst ones, and jobs are all of them.
type Fairness struct {
	Shares sim.Shares `json:"shares"`
	OfFair sim.Shares `json:"shares_under_fair"`
	// Jobs are those whose user had no more than its share under Subject while they lived, More the others.
	Jobs LongerJobs `json:"jobs"`
	More LongerJobs `json:"jobs_of_users_with_more"`
}

// LongerJobs compares the completion times of jobs under Subject with those under Fair with the same seed.
type LongerJobs struct {
	Jobs      int     `json:"jobs"`       // that finished under both
	Beyond    int     `json:"beyond"`     // of these, those that took more than LongestRatio times as long
	Largest   float64 `json:"largest"`    // ratio of the two times
	LargestOf string  `json:"largest_of"` // the job
	AtSubject float64 `json:"largest_s"`  // its time
	AtFair    float64 `json:"largest_fair_s"`
}

// newFairness compares the runs of two variants seed by seed; nil where one of them is missing or says nothing of single jobs.
func newFairness(s *Setup, subject, fair *Variant) *Fairness {
	if subject == nil || fair == nil || len(subject.Runs) != len(fair.Runs) {
		return nil
	}
	f := &Fairness{}
	for i := range subject.Runs {
		mine, other := subject.Runs[i].PerJob, fair.Runs[i].PerJob
		if mine == nil || other == nil {
			return nil
		}
		f.Shares = sim.Shares{Users: worse(&f.Shares.Users, &mine.Shares.Users), Queues: worse(&f.Shares.Queues, &mine.Shares.Queues)}
		f.OfFair = sim.Shares{Users: worse(&f.OfFair.Users, &other.Shares.Users), Queues: worse(&f.OfFair.Queues, &other.Shares.Queues)}
		for k, took := range mine.JCT {
			to := &f.Jobs
			if slices.Contains(mine.More, k) {
				to = &f.More
			}
			if took >= 0 && other.JCT[k] > 0 {
				to.add(string(s.Work.Jobs[k].ID), took, other.JCT[k])
			}
		}
	}
	return f
}

func (l *LongerJobs) add(id string, took, fair float64) {
	l.Jobs++
	ratio := took / fair
	if ratio > LongestRatio {
		l.Beyond++
	}
	if ratio > l.Largest {
		l.Largest, l.LargestOf, l.AtSubject, l.AtFair = ratio, id, took, fair
	}
}

// worse returns the windows of two runs together: all of them, and of each figure the worse one.
func worse(a, b *sim.ShareWindows) sim.ShareWindows {
	if a.Windows == 0 || b.Windows == 0 {
		if a.Windows == 0 {
			return *b
		}
		return *a
	}
	out := *a
	if b.Least < a.Least {
		out.Least, out.LeastOf = b.Least, b.LeastOf
	}
	out.P05 = min(a.P05, b.P05)
	out.Count, out.CountBelow = max(a.Count, b.Count), max(a.CountBelow, b.CountBelow)
	out.Windows = a.Windows + b.Windows
	out.WindowsBelow = (a.WindowsBelow*float64(a.Windows) + b.WindowsBelow*float64(b.Windows)) / float64(out.Windows)
	return out
}

// fairnessText says how the figures of the section are taken.
const fairnessText = `
## Shares

How far users and queues had their shares over ten minutes in which they wanted more than they had, as [the simulator](simulator.md#shares) measures it: the least
over all users and windows, the 5th percentile, and the part of the windows in which less than 0.9 of the share was had. A user or queue that nobody lets wait
for ten minutes has no windows. Then the jobs that took more than three times as long as under ` + "`fair`" + ` with Hadoop's slowstart and the same seed: those whose
user had, from the job's submission to its end under ` + "`weave`" + `, no more container-seconds in its queue than its share, and the largest ratio of any of these; and those
of users that had more. Figures of shares are those of the worst seed, jobs are those of all seeds.

| workload | users: least, 5th percentile, below 0.9 | under fair | queues: least, 5th percentile, below 0.9 | under fair | jobs beyond 3 ×, of | largest ratio | of users with more: beyond, of |
|---|---|---|---|---|--:|---|--:|
`

func (r *Report) writeFairness(b *strings.Builder) {
	if !slices.ContainsFunc(r.Results, func(res Result) bool { return res.Fairness != nil }) {
		return
	}
	b.WriteString(fairnessText)
	for i := range r.Results {
		f := r.Results[i].Fairness
		if f == nil {
			continue
		}
		largest := "–"
		if f.Jobs.Jobs > 0 {
			largest = fmt.Sprintf("%.2f (%s to %s s)", f.Jobs.Largest, value(f.Jobs.AtFair), value(f.Jobs.AtSubject))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d of %d | %s | %d of %d |\n", r.Results[i].Name, windowsText(&f.Shares.Users), windowsText(&f.OfFair.Users),
			windowsText(&f.Shares.Queues), windowsText(&f.OfFair.Queues), f.Jobs.Beyond, f.Jobs.Jobs, largest, f.More.Beyond, f.More.Jobs)
	}
}

// windowsText is a cell of windows.
func windowsText(w *sim.ShareWindows) string {
	if w.Windows == 0 {
		return "no windows"
	}
	return fmt.Sprintf("%.2f, %.2f, %.1f %%", w.Least, w.P05, 100*w.WindowsBelow)
}
