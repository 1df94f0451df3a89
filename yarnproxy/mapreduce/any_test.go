package mapreduce

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
)

// TestAnyLife lets tasks of a job change at random and compares the picture
// that the facts give with the site, after rounds enough to see all of it.
func TestAnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		j := jobOf(93, 0)
		j.history = true
		maps := rapid.IntRange(0, 4).Draw(rt, "maps")
		for i := range maps {
			j.tasks[mapKey(i)] = &fakeTask{state: "SCHEDULED"}
		}
		j.tasks[taskKey{model.StageReduce, 0}] = &fakeTask{state: "SCHEDULED"}
		site := &fakeSite{jobs: []*fakeJob{j}}
		s := newStage(t, site, func(cfg *Config) { cfg.RefreshEvery = 1 })
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			for key, task := range j.tasks { // order-free: drawn by label
				task.step(rt, key, step)
			}
			s.round()
		}
		s.round()
		s.round()
		compareTasks(rt, j, s.tasks[j.app])
		j.listed = model.AppFinished
		s.round()
		s.round()
		compareTasks(rt, j, s.tasks[j.app])
		if !s.jobs[j.app].Done {
			rt.Fatal("not done")
		}
	})
}

// step moves a task to another state, with another attempt where it needs one.
func (t *fakeTask) step(rt *rapid.T, key taskKey, step int) {
	label := fmt.Sprintf("%v at %d", key, step)
	switch rapid.IntRange(0, 5).Draw(rt, label) {
	case 0: // (again) pending
		t.state, t.progress = "SCHEDULED", 0
	case 1: // another attempt runs
		n := len(t.attempts)
		for i := range t.attempts {
			t.attempts[i].state = "FAILED"
		}
		t.state, t.progress = "RUNNING", float64(step)
		t.attempts = append(t.attempts, fakeAttempt{
			state: "RUNNING", host: fmt.Sprintf("w%d%d", key.index, n), rack: fmt.Sprintf("/rack%d", n),
			input: int64(100*n + key.index), output: int64(10*n + key.index), shuffled: int64(1000 + n),
		})
	case 2: // the last attempt succeeds
		if n := len(t.attempts); n > 0 && t.state == "RUNNING" {
			t.state, t.progress, t.won, t.attempts[n-1].state = "SUCCEEDED", 100, n-1, "SUCCEEDED"
		}
	default: // nothing
	}
}

func compareTasks(rt *rapid.T, j *fakeJob, got map[taskKey]model.Task) {
	for key, task := range j.tasks { // order-free
		g, ok := got[key]
		if !ok {
			rt.Fatalf("task %v was never sent", key)
		}
		want := map[string]model.TaskState{"SCHEDULED": model.TaskPending, "RUNNING": model.TaskRunning, "SUCCEEDED": model.TaskSucceeded}[task.state]
		if g.State != want || g.Progress != task.progress/100 {
			rt.Fatalf("task %v is %+v, want %+v", key, g, task)
		}
		if task.state == "SCHEDULED" {
			if g.Host != "" || g.Output != model.Unknown {
				rt.Fatalf("a pending task is somewhere: %+v", g)
			}
			continue
		}
		last := task.attempts[len(task.attempts)-1]
		if g.Host != last.host || string(g.Rack) != last.rack {
			rt.Fatalf("task %v is at %s, want %s", key, g.Host, last.host)
		}
		if task.state != "SUCCEEDED" {
			continue
		}
		if key.stage == model.StageMap && (g.Output != model.Bytes(last.output) || g.Input != model.Bytes(last.input)) ||
			key.stage == model.StageReduce && g.Shuffled != model.Bytes(last.shuffled) {
			rt.Fatalf("task %v has %+v, want %+v", key, g, last)
		}
	}
}
