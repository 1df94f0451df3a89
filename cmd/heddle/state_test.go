package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/fakehadoop"
)

// TestClockSetBackWhileDown sets the clock back while the ResourceManager does
// not answer: its last good answer must still get old.
func TestClockSetBackWhileDown(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site))
	r.settled()
	site.RM.Stop()
	eventually(t, "the failure shows", func() error { return r.failed(model.SourceRM, model.PollUnreachable, 0) })
	r.advance(-2 * time.Hour)
	eventually(t, "the jump is counted", func() error { return r.shows("heddle_clock_jumps_total", 1) })
	r.advance(31 * time.Second)
	eventually(t, "the state gets old", func() error {
		if r.ready() == nil {
			return errors.New("ready")
		}
		return nil
	})
}

// TestRatioOfOneMoment wants the shuffle/input ratio of TeraSort near 1 from
// the first time it is measured.
func TestRatioOfOneMoment(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	r := start(t, fastConfig(site))
	for s := 20; s <= 66; s += 2 {
		site.At(time.Duration(s) * time.Second)
		before, _ := r.polls(model.SourceMapReduce, model.PollOK)
		eventually(t, "a poll", func() error {
			if now, err := r.polls(model.SourceMapReduce, model.PollOK); err != nil || now < before+2 {
				return fmt.Errorf("%v, %w", now, err)
			}
			return nil
		})
		if a := r.app(fakehadoop.TeraSort); a != nil && a.Predicted && (a.Ratio < 1 || a.Ratio > 1.2) {
			t.Fatalf("%d s: ratio %v, map output %+v", s, a.Ratio, a.MapOutput)
		}
	}
}

// TestLaunchedOfAnEndedJob counts each reduce of an ended job once.
func TestLaunchedOfAnEndedJob(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site, "poll_interval: 100ms", "poll_interval: 2s"))
	r.settled()
	site.At(site.Span())
	eventually(t, "the end", func() error {
		a := r.app(fakehadoop.TeraSort)
		if a.State != model.AppFinished || a.Reduce.Completed != 6 {
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	if err := cmpError(map[model.RackID]int{"/rack1": 3, "/rack2": 2, "/rack3": 1}, r.app(fakehadoop.TeraSort).Reduce.Launched); err != nil {
		t.Error(err)
	}
}
