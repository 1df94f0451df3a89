package state

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// Job is one application with its map and reduce stages. Applications that are
// not MapReduce jobs have empty stages.
type Job struct {
	model.App
	Owner       *User
	Map, Reduce *Stage
	Input       *Input // never nil; shared by jobs that read the same paths
	Output      MapOutput
	Ratio       float64 // shuffle bytes over map input bytes; Config.InitialRatio until Predicted
	Predicted   bool    // Ratio was measured on this job's own maps
	Heavy       bool    // Ratio is above 1 (ShuffleWatcher §3.1)
	Slowstart   float64 // of maps done before Hadoop asks for reduces; Hadoop's 0.05 until the configuration is known
	Conf        JobConf
	Blacklist   []string // hosts the application refuses

	done                bool // the JobHistory server has given the last facts
	counted             bool // counters has been read
	counters            model.CountersFact
	live                [stageCount]stageRows
	moved               moved // bytes already attributed to rack pairs
	mapPlan, reducePlan *model.Plan
	joinedLate          bool     // it had run for a while when heddle first saw it
	view                *AppView // as last published, nil when the job changed since
}

// JobConf is what heddle knows of a job's configuration.
type JobConf struct {
	Known       bool
	Inputs      []string
	Output      string
	Replication int // copies of the output; 0 when not known
}

// DefaultSlowstart is Hadoop's mapreduce.job.reduce.slowstart.completedmaps.
const DefaultSlowstart = 0.05

// User is one user with live jobs.
type User struct {
	ID     model.UserID
	Weight float64
	Usage  model.Resource // of live applications; more what the current what-if assumes
	jobs   []*Job         // by arrival
	light  []*Job
	heavy  []*Job
}

// Jobs returns the user's live jobs by arrival.
func (u *User) Jobs() []*Job { return u.jobs }

// Light returns the user's live shuffle-light jobs by arrival.
func (u *User) Light() []*Job { return u.light }

// Heavy returns the user's live shuffle-heavy jobs by arrival.
func (u *User) Heavy() []*Job { return u.heavy }

// Share returns usage over weight, the quantity fair order compares.
func (u *User) Share() float64 { return float64(u.Usage.MemoryMiB) / u.Weight }

type jobIndex struct {
	byID        map[model.AppID]*Job
	live        []*Job // by arrival
	ended       []*Job // oldest first
	firstSubmit model.Time
}

type userIndex struct {
	byID map[model.UserID]*User
	fair []*User // users with live jobs, in fair order
}

func compareJobs(a, b *Job) int { return model.CompareApps(&a.App, &b.App) }

func insertJob(list []*Job, j *Job) []*Job {
	i, found := slices.BinarySearchFunc(list, j, compareJobs)
	if found {
		return list
	}
	return slices.Insert(list, i, j)
}

func removeJob(list []*Job, j *Job) []*Job {
	if i, found := slices.BinarySearchFunc(list, j, compareJobs); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// compareUsers is fair order (FairSharePolicy, algorithms.md 2.5.2 rules 2 to 4).
func compareUsers(a, b *User) int {
	return cmp.Or(cmp.Compare(a.Share(), b.Share()), cmp.Compare(a.jobs[0].Submitted, b.jobs[0].Submitted), cmp.Compare(a.ID, b.ID))
}

func (c *Cluster) applyApps(f model.AppsFact) {
	listed := make(map[model.AppID]bool, len(f.Apps))
	for i := range f.Apps {
		app := &f.Apps[i]
		listed[app.ID] = true
		j := c.jobs.byID[app.ID]
		switch {
		case j == nil && app.State.Final():
			// It ended before heddle saw it: nothing to follow.
		case j == nil:
			c.addJob(*app)
		case j.App != *app:
			c.updateJob(j, *app)
		}
	}
	for i := 0; i < len(c.jobs.live); {
		j := c.jobs.live[i]
		if listed[j.ID] {
			i++
			continue
		}
		c.endJob(j) // takes j out of live
	}
	c.sortUsers()
}

func (c *Cluster) addJob(app model.App) {
	j := &Job{App: app, Ratio: c.cfg.InitialRatio, Slowstart: DefaultSlowstart, Input: &Input{}}
	j.joinedLate = c.now.Sub(app.Submitted) > staleJob
	j.Map = newStage(model.StageMap, c.cfg.TaskDefault)
	j.Reduce = newStage(model.StageReduce, c.cfg.TaskDefault)
	j.Heavy = j.Ratio > 1
	c.jobs.byID[app.ID] = j
	c.jobs.live = insertJob(c.jobs.live, j)
	if c.jobs.firstSubmit == 0 || app.Submitted < c.jobs.firstSubmit {
		c.jobs.firstSubmit = app.Submitted
	}
	u := c.users.byID[app.User]
	if u == nil {
		u = &User{ID: app.User, Weight: 1}
		if w := c.cfg.Weights[app.User]; w > 0 {
			u.Weight = w
		}
		c.users.byID[app.User] = u
	}
	j.Owner = u
	u.jobs = insertJob(u.jobs, j)
	c.classify(j)
	u.Usage = u.Usage.Add(app.Allocated)
}

func (c *Cluster) updateJob(j *Job, app model.App) {
	j.view = nil
	ended := j.State.Final()
	if app.State.Final() {
		if !ended {
			c.endJob(j)
		}
		j.App = app
		return
	}
	if ended { // back from the dead: a work-preserving restart listed it late
		delete(c.jobs.byID, j.ID)
		c.jobs.ended = slices.DeleteFunc(c.jobs.ended, func(e *Job) bool { return e == j })
		c.addJob(app)
		c.adopt(j)
		return
	}
	if app.User != j.User || app.Submitted != j.Submitted { // its place in every list changes
		c.endJob(j)
		c.updateJob(j, app)
		return
	}
	j.Owner.Usage = j.Owner.Usage.Add(app.Allocated).Sub(j.Allocated)
	j.App = app
}

// adopt carries what was known of a job over to its new entry.
func (c *Cluster) adopt(old *Job) {
	j := c.jobs.byID[old.ID]
	j.Map, j.Reduce, j.Input, j.Output = old.Map, old.Reduce, old.Input, old.Output
	j.Slowstart, j.Conf, j.counters, j.counted, j.moved = old.Slowstart, old.Conf, old.counters, old.counted, old.moved
	j.joinedLate, j.done = old.joinedLate, old.done
	c.setRatio(j)
}

// endJob takes a job out of the live indexes and keeps it among the ended ones
// for its last facts. Its state stays what it was until a source says better.
func (c *Cluster) endJob(j *Job) {
	u := j.Owner
	u.Usage = u.Usage.Sub(j.Allocated)
	u.jobs, u.light, u.heavy = removeJob(u.jobs, j), removeJob(u.light, j), removeJob(u.heavy, j)
	c.jobs.live = removeJob(c.jobs.live, j)
	if len(u.jobs) == 0 {
		delete(c.users.byID, u.ID)
	}
	if !j.State.Final() {
		j.State = model.AppFinished
	}
	j.Allocated, j.Containers = model.Resource{}, 0
	j.live = [stageCount]stageRows{}
	j.moved.rateOut, j.moved.rateIn = nil, nil
	j.view = nil
	c.jobs.ended = append(c.jobs.ended, j)
	if over := len(c.jobs.ended) - c.cfg.FinishedJobs; over > 0 {
		for _, old := range c.jobs.ended[:over] {
			delete(c.jobs.byID, old.ID)
		}
		c.jobs.ended = slices.Delete(c.jobs.ended, 0, over)
	}
}

// classify puts a job into its user's list of light or heavy jobs.
func (c *Cluster) classify(j *Job) {
	u := j.Owner
	if j.Heavy {
		u.light, u.heavy = removeJob(u.light, j), insertJob(u.heavy, j)
	} else {
		u.light, u.heavy = insertJob(u.light, j), removeJob(u.heavy, j)
	}
}

// setRatio recomputes the shuffle/input ratio from the job's own counters.
func (c *Cluster) setRatio(j *Job) {
	in, out := j.counters.MapInput, j.Output.Total
	if j.Map.Completed == 0 || in <= 0 || out < 0 {
		return
	}
	j.Ratio, j.Predicted = float64(out)/float64(in), true
	if heavy := j.Ratio > 1; heavy != j.Heavy {
		j.Heavy = heavy
		if !j.State.Final() {
			c.classify(j)
		}
	}
}

// sortUsers puts the users with live jobs into fair order.
func (c *Cluster) sortUsers() {
	c.users.fair = c.users.fair[:0]
	for _, u := range c.users.byID { // order-free: sorted below
		c.users.fair = append(c.users.fair, u)
	}
	slices.SortFunc(c.users.fair, compareUsers)
}

// moveUser restores fair order after one user's usage changed.
func (c *Cluster) moveUser(u *User) {
	i := slices.Index(c.users.fair, u)
	if i < 0 {
		return
	}
	f := c.users.fair
	for ; i+1 < len(f) && compareUsers(f[i], f[i+1]) > 0; i++ {
		f[i], f[i+1] = f[i+1], f[i]
	}
	for ; i > 0 && compareUsers(f[i-1], f[i]) > 0; i-- {
		f[i-1], f[i] = f[i], f[i-1]
	}
}
