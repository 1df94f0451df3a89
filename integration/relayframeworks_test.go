//go:build linux

package integration

import (
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
)

// TestRelaySteersSpark: the executors of a Spark application go to one rack,
// where they would be spread over three.
func TestRelaySteersSpark(t *testing.T) {
	hadoop.Require(t, hadoop.Spark)
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	defer s.logRelayChanges(t)()
	for _, mode := range []hadoop.SparkMode{hadoop.SparkClient, hadoop.SparkCluster} {
		app, err := c.SparkJob(withTimeout(t, 5*time.Minute), mode, hadoop.Settings{
			"spark.executor.instances":                            "2",
			"spark.hadoop.yarn.resourcemanager.scheduler.address": c.GatewayAddr() + ":" + relayPort,
		}, hadoop.SparkShuffle{Maps: 4, Reduces: 4, Rows: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		ended, err := c.Ended(withTimeout(t, time.Minute), app)
		if err != nil || ended.FinalStatus != "SUCCEEDED" {
			t.Fatalf("%s: %+v, %v", mode, ended, err)
		}
		workers, err := c.Workers(app)
		if err != nil {
			t.Fatal(err)
		}
		racks := c.ByRack(workers)
		t.Logf("Spark in %s mode: executors %v after %.1f s", mode, racks, ended.Took().Seconds())
		if len(racks) != 1 {
			t.Errorf("Spark in %s mode: two executors on racks %v, want one rack; the plans:%s", mode, racks, s.plansOf(t, model.AppID(app)))
		}
	}
	if r := s.relayStatus(withTimeout(t, 10*time.Second)); r.Counts.Rewritten[model.ActionPin] == 0 {
		t.Errorf("no ask of Spark was pinned: rewritten %v, passed %v", r.Counts.Rewritten, r.Counts.Passed)
	}
}

// TestRelaySteersTez: vertices that read HDFS are trimmed and those that shuffle
// pinned, to the rack of the input. Containers that are used again are asked for once.
func TestRelaySteersTez(t *testing.T) {
	hadoop.Require(t, hadoop.Tez)
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	if err := c.TeraInput(withTimeout(t, time.Minute), "/tez-skewed", c.HostsOf("/rack3"), 1, 2_000_000); err != nil {
		t.Fatal(err)
	}
	for _, reuse := range []string{"true", "false"} {
		with := throughRelay(c)
		with["tez.am.container.reuse.enabled"] = reuse
		app, err := c.TezJob(withTimeout(t, 5*time.Minute), with, "orderedwordcount", "/tez-skewed", "/tez-out-"+reuse, "2")
		if err != nil {
			t.Fatal(err)
		}
		ended, err := c.Ended(withTimeout(t, time.Minute), app)
		if err != nil || ended.FinalStatus != "SUCCEEDED" {
			t.Fatalf("%+v, %v", ended, err)
		}
		workers, err := c.Workers(app)
		if err != nil {
			t.Fatal(err)
		}
		racks := c.ByRack(workers)
		t.Logf("Tez, reuse %s: containers %v after %.1f s", reuse, racks, ended.Took().Seconds())
		if racks["/rack3"] == 0 || len(racks) != 1 {
			t.Errorf("Tez, reuse %s: containers on %v, want all on /rack3, where the input is; the plans:%s", reuse, racks, s.plansOf(t, model.AppID(app)))
		}
	}
	r := s.relayStatus(withTimeout(t, 10*time.Second))
	t.Logf("relay: rewritten %v, passed %v", r.Counts.Rewritten, r.Counts.Passed)
	if r.Counts.Rewritten[model.ActionTrim] == 0 || r.Counts.Rewritten[model.ActionPin] == 0 {
		t.Errorf("asks of Tez were rewritten %v, passed %v; want trims and pins", r.Counts.Rewritten, r.Counts.Passed)
	}
}

// TestRelayAdvises: in mode advise everything is counted and nothing rewritten.
func TestRelayAdvises(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "advise"))
	job := runThroughRelay(t, c, "sleep", []string{"-m", "2", "-r", "6", "-mt", "500", "-rt", "3000"}, 0)
	l := reducesOf(t, c, s, job)
	r := s.relayStatus(withTimeout(t, 10*time.Second))
	t.Logf("relay: would rewrite %v, passed %v", r.Counts.Rewritten, r.Counts.Passed)
	if len(l.ranOn) < 2 {
		t.Errorf("six reduces on %v: without steering they spread", l.ranOn)
	}
	if r.Counts.Passed[model.PassAdvise] == 0 || r.Counts.Rewritten[model.ActionPin] == 0 {
		t.Errorf("nothing was counted: %v, %v", r.Counts.Rewritten, r.Counts.Passed)
	}
}
