package sim

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// claimOf is a job of a user in a queue, with containers and pending tasks.
type claimOf struct {
	queue, user  string
	has, pending int
}

// divided returns the shares of jobs' users.
func divided(of []claimOf, containers float64) *shareStats {
	b := newShareStats(&workload.Workload{Jobs: make([]workload.Job, len(of))})
	var live []*job
	for i, c := range of {
		j := &job{index: i, spec: &workload.Job{User: model.UserID(c.user), Queue: model.QueueID(c.queue)}, stages: []stage{{tasks: tasks{asked: c.pending + c.has, running: c.has}}}}
		b.jobArrived(j)
		j.account.has += c.has
		live = append(live, j)
	}
	b.divide(live, containers)
	return &b
}

// What a queue or a user does not want the others have, in equal parts.
func TestDivide(t *testing.T) {
	t.Parallel()
	b := divided([]claimOf{
		{"q", "ann", 40, 10}, {"q", "bob", 0, 5}, {"q", "ann", 10, 20}, {"q", "eve", 30, 30},
		{"r", "ann", 1, 0}, {"s", "ann", 20, 100}, {"s", "bob", 0, 4},
	}, 121)
	// r wants 1, q 145 and s 124 of what is left: 60 each. Of q's Bob wants 5, and Ann and Eve have 27.5 each; of s's Bob
	// wants 4.
	want := map[shareKey]float64{
		{"q", "ann"}: 27.5, {"q", "bob"}: 5, {"q", "eve"}: 27.5, {"r", "ann"}: 1, {"s", "ann"}: 56, {"s", "bob"}: 4,
	}
	for key, share := range want { // order-free: each by itself
		if a := b.accounts[key]; math.Abs(a.share-share) > 1e-9 {
			t.Errorf("%v: %g, want %g", key, a.share, share)
		}
	}
	if q := b.queues["q"]; q.share != 60 || q.has != 80 || q.pending != 65 {
		t.Errorf("%+v", q)
	}
}

// Shares never sum to more than the cluster, use it up while anybody wants more, and are at most what somebody wants; who has
// less than it wants has no less than any other of its queue.
func TestDivideProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pick := rapid.SampledFrom([]string{"a", "b", "c"})
		count := rapid.IntRange(0, 50)
		var of []claimOf
		for range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			of = append(of, claimOf{pick.Draw(rt, "queue"), pick.Draw(rt, "user"), count.Draw(rt, "has"), count.Draw(rt, "pending")})
		}
		containers := float64(rapid.IntRange(1, 200).Draw(rt, "containers"))
		b := divided(of, containers)
		sum, wants := 0.0, 0.0
		for _, a := range b.active {
			sum += a.share
			wants += a.wants()
			if a.share > a.wants()+1e-9 || a.share < 0 {
				rt.Errorf("%s: %g of %g", a.name, a.share, a.wants())
			}
			for _, o := range b.active {
				if o.queue == a.queue && a.share < a.wants()-1e-9 && o.share > a.share+1e-9 {
					rt.Errorf("%s has %g of %g, and %s %g", a.name, a.share, a.wants(), o.name, o.share)
				}
			}
		}
		if math.Abs(sum-min(wants, containers)) > 1e-6 {
			rt.Errorf("%g are divided of %g, and %g are wanted", sum, containers, wants)
		}
	})
}

// Windows are as summed up one by one.
func TestShareWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var c claim
		var got windowStats
		var samples []JobShare // since the last break
		var want []float64
		at := 0
		for range rapid.IntRange(1, 30).Draw(rt, "times") {
			n := rapid.IntRange(1, 40).Draw(rt, "samples")
			c.has, c.share, c.pending = rapid.IntRange(0, 9).Draw(rt, "has"), rapid.Float64Range(0.1, 9).Draw(rt, "share"), min(rapid.IntRange(0, 20).Draw(rt, "pending"), 1)
			if rapid.IntRange(0, 20).Draw(rt, "away") == 0 {
				at, samples = at+1, nil
			}
			c.add(at, n, &got)
			at += n
			if c.pending == 0 {
				samples = nil
				continue
			}
			for range n {
				samples = append(samples, JobShare{float64(c.has), c.share})
				if len(samples) < 60 || len(samples)%6 != 0 {
					continue
				}
				var sum JobShare
				for _, s := range samples[len(samples)-60:] {
					sum.Had += s.Had
					sum.Share += s.Share
				}
				want = append(want, sum.Had/sum.Share)
			}
		}
		if len(want) != len(got.ratios) {
			rt.Fatalf("%d windows, want %d", len(got.ratios), len(want))
		}
		for i := range want {
			if math.Abs(want[i]-got.ratios[i]) > 1e-6 {
				rt.Errorf("window %d: %g, want %g", i, got.ratios[i], want[i])
			}
		}
	})
}
