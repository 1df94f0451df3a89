package replay_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/replay"
	"heddle/core/model"
)

// decisions reads a log: "SECOND APP RACK:COUNT,… [hold]" for each.
func decisions(t *testing.T, lines ...string) iter.Seq2[model.Decision, error] {
	t.Helper()
	return func(yield func(model.Decision, error) bool) {
		for _, line := range lines {
			var second int
			var app, racks, hold string
			if n, _ := fmt.Sscan(line, &second, &app, &racks, &hold); n < 3 {
				t.Errorf("%q", line)
			}
			p := &model.Plan{App: model.AppID(app), Stage: model.StageReduce, Rank: second, Hold: hold == "hold", Reason: model.Reason("r" + racks)}
			for rack := range strings.SplitSeq(racks, ",") {
				var r model.RackTarget
				if name, count, ok := strings.Cut(rack, ":"); ok {
					r.Rack = model.RackID(name)
					_, _ = fmt.Sscan(count, &r.Count)
					p.Racks = append(p.Racks, r)
				}
			}
			if !yield(model.Decision{At: model.Time(second * 1000), Plan: p}, nil) {
				return
			}
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		a, b   []string
		within model.Duration
		want   []string // SECOND APP REASON REASON
	}{
		{"the same", []string{"1 x /r1:2", "2 y /r2:1"}, []string{"1 x /r1:2", "2 y /r2:1"}, 0, nil},
		{"both empty", nil, nil, 0, nil},
		{"another rack", []string{"1 x /r1:2", "3 y /r1:1"}, []string{"1 x /r1:2", "3 y /r2:1"}, 0, []string{"3 y r/r1:1 r/r2:1"}},
		{"another count", []string{"1 x /r1:2"}, []string{"1 x /r1:1"}, 0, []string{"1 x r/r1:2 r/r1:1"}},
		{"a hold", []string{"1 x /r1:2 hold"}, []string{"1 x /r1:2"}, 0, []string{"1 x r/r1:2 r/r1:2"}},
		{"only one decides", []string{"1 x /r1:2"}, nil, 0, []string{"1 x r/r1:2 -"}},
		{"only the other decides", nil, []string{"1 x /r1:2"}, 0, []string{"1 x - r/r1:2"}},
		{"a plan that wants nothing", []string{"1 x -"}, nil, 0, nil},
		{"twice, the same in between", []string{"1 x /r1:2", "3 x /r2:2"}, []string{"1 x /r2:2", "5 x /r1:2"}, 0, []string{"1 x r/r1:2 r/r2:2", "5 x r/r2:2 r/r1:2"}},
		{"later, but the same", []string{"1 x /r1:2"}, []string{"2 x /r1:2"}, 0, []string{"1 x r/r1:2 -"}},
		{"later within the time", []string{"1 x /r1:2"}, []string{"2 x /r1:2"}, 2000, nil},
		{"never again within the time", []string{"1 x /r1:2"}, []string{"2 x /r2:2"}, 5000, []string{"1 x r/r1:2 -"}},
		{"one differs all along", []string{"1 x /r1:2", "2 y /r1:1", "4 y /r3:1"}, []string{"1 x /r2:2", "2 y /r1:1", "4 y /r3:1"}, 0, []string{"1 x r/r1:2 r/r2:2"}},
	} {
		got, err := replay.Diff(decisions(t, tt.a...), decisions(t, tt.b...), tt.within)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		reason := func(p *model.Plan) string {
			if p == nil {
				return "-"
			}
			return string(p.Reason)
		}
		for _, d := range got {
			shown = append(shown, fmt.Sprintf("%d %s %s %s", d.At/1000, d.App, reason(d.A), reason(d.B)))
		}
		if diff := cmp.Diff(tt.want, shown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDiffOfABrokenLog(t *testing.T) {
	t.Parallel()
	broken := errors.New("cut short")
	bad := func(yield func(model.Decision, error) bool) { yield(model.Decision{}, broken) }
	good := decisions(t, "1 x /r1:2")
	if _, err := replay.Diff(bad, good, 0); !errors.Is(err, broken) {
		t.Errorf("A: %v", err)
	}
	if _, err := replay.Diff(good, bad, 0); !errors.Is(err, broken) {
		t.Errorf("B: %v", err)
	}
}
