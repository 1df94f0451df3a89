//go:build linux

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/integration/hadoop"
)

// TestFair tries everything that depends on the scheduler with FairScheduler as
// it comes; all other tests have CapacityScheduler.
func TestFair(t *testing.T) {
	c := cluster(t)
	set := func(s hadoop.Scheduler) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if err := c.SetScheduler(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	set(hadoop.Fair)
	defer set(hadoop.Capacity)
	t.Run("heddle sees it", func(t *testing.T) { seesFair(t, c) })
	t.Run("the relay steers", func(t *testing.T) { checkSteering(t, c) })
	t.Run("asks", func(t *testing.T) {
		askRecipes(t, c, hadoop.Fair)
		askMixes(t, c, hadoop.Fair)
	})
}

// seesFair checks that heddle names the scheduler, and queues by their full path.
func seesFair(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	ctx := withTimeout(t, 4*time.Minute)
	var sched struct {
		Scheduler struct{ SchedulerInfo struct{ Type string } }
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/scheduler", &sched); err != nil {
		t.Fatal(err)
	}
	if sched.Scheduler.SchedulerInfo.Type != "fairScheduler" {
		t.Errorf("the scheduler is %+v", sched)
	}
	s := startService(t, c)
	job, err := c.SleepJob(ctx, "-Dmapreduce.job.queuename=root.batch", "-m", "1", "-r", "1", "-mt", "100", "-rt", "100")
	if err != nil {
		t.Fatal(err)
	}
	var app struct {
		App struct{ Queue, FinalStatus string }
	}
	url := c.RMURL() + "/ws/v1/cluster/apps/" + strings.Replace(job, "job_", "application_", 1)
	if err := c.GetJSON(ctx, url, &app); err != nil {
		t.Fatal(err)
	}
	if app.App.Queue != "root.batch" || app.App.FinalStatus != "SUCCEEDED" {
		t.Errorf("the job ended as %+v, want SUCCEEDED in root.batch", app.App)
	}
	eventually(t, time.Minute, "heddle sees the same", func(ctx context.Context) error {
		var seen snapshot.Cluster
		if err := s.get(ctx, "/v1/cluster", &seen); err != nil {
			return err
		}
		a, err := s.app(ctx, job)
		if err == nil && (seen.Scheduler != "fairScheduler" || len(seen.Queues) != 2 || a.Queue != "root.batch" || a.State != model.AppFinished) {
			err = fmt.Errorf("cluster %+v, application %+v", seen, a.App)
		}
		return err
	})
}
