package replay_test

import (
	"errors"
	"strings"
	"testing"

	"heddle/core/account"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

func figures() *replay.Result {
	r := &replay.Result{Runs: []replay.PolicyRun{{Policy: "nas"}, {Policy: `nas{"skips":"count"}`}}}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.CrossRack = snapshot.CrossRack{Shuffle: 80, MapRead: 10, Total: 90 + model.Bytes(i)}
		run.Recorded = snapshot.CrossRack{Shuffle: 90, MapRead: 10, Total: 100}
		run.Least = snapshot.CrossRack{Shuffle: 50, Total: 50}
		run.Busiest = account.Bytes{Recorded: 40, Policy: 30, Least: 20}
		run.Regret = account.Regret{Saved: 15, Lost: 5, Net: 10}
		run.UplinkPeak = replay.Peaks{Recorded: 7, Policy: 8}
	}
	return r
}

func TestAssertions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text        string
		left, right float64
		holds       bool
	}{
		{"nas.cross_rack_bytes.total < 0.9*actual", 90, 90, false},
		{"nas.cross_rack_bytes.total<=0.9*actual", 90, 90, true},
		{"nas.cross_rack_bytes.shuffle < actual", 80, 90, true},
		{"nas.cross_rack_bytes.total < 2 * least", 90, 100, true},
		{"  nas.regret_bytes.net>=1e1 ", 10, 10, true},
		{"nas.regret_bytes.lost > 0.5*nas.regret_bytes.saved", 5, 7.5, false},
		{`0.9*nas.cross_rack_bytes.total < "nas{\"skips\":\"count\"}".cross_rack_bytes.total`, 81, 91, true},
		{"nas.busiest_uplink_bytes.policy < actual", 30, 40, true},
		{"nas.busiest_uplink_bytes.policy > 1.4*least", 30, 28, true},
		{"nas.uplink_peak_bytes_per_second.policy <= actual", 8, 7, false},
		{"50 < nas.cross_rack_bytes.total", 50, 90, true},
		{"nas.jobs >= 0", 0, 0, true},
	} {
		a, err := replay.ParseAssertion(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got, err := a.Evaluate(figures())
		if err != nil || got.Left-tt.left > 1e-9 || tt.left-got.Left > 1e-9 || got.Right-tt.right > 1e-9 || tt.right-got.Right > 1e-9 || got.Holds != tt.holds {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
	}
}

// Every error names the column.
func TestWrongAssertions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		column int
		says   string
	}{
		{"", 1, "want a number, or a figure"},
		{"nas", 4, "want a dot and a key"},
		{"nas.", 5, "want a key after the dot"},
		{"nas.jobs", 9, "want <"},
		{"nas.jobs = 3", 10, "want <"},
		{"nas.jobs < ", 12, "want a number, or a figure"},
		{"nas.jobs < 3 jobs", 14, `"jobs" after the condition`},
		{"nas.jobs < 1.2.3", 12, "no number"},
		{"nas.jobs < 0.9*", 16, "want a number, or a figure"},
		{`"nas.jobs < 3`, 1, "does not end"},
		{"3 < 4", 1, "two numbers"},
		{"actual < nas.jobs", 1, "needs a figure"},
		{"3 < actual", 5, "needs a figure"},
		{"ñandú.jobs > é", 15, "want a dot"},
		{"fair.jobs > 3", 1, `want one of ["nas"`},
		{"nas.jobs > 2*fair.jobs", 12, "no policy"},
		{"nas.cross_rack_bytes > 3", 1, "is no number"},
		{"nas.cross_rack_bytes.totals > 3", 1, "no figure cross_rack_bytes.totals"},
		{"nas.jobs.total > 3", 1, "is a number, and has no"},
		{"nas.jobs > actual", 12, "no counterpart"},
		{"nas.uplink_peak_bytes_per_second.policy < least", 43, "no counterpart"},
	} {
		a, err := replay.ParseAssertion(tt.text)
		if err == nil {
			_, err = a.Evaluate(figures())
		}
		var syntax *replay.SyntaxError
		if !errors.As(err, &syntax) || syntax.Column != tt.column || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want column %d: %s", tt.text, err, tt.column, tt.says)
		}
	}
}

// Any text is an assertion, or refused at a column within it.
func FuzzAssertion(f *testing.F) {
	f.Add("nas.cross_rack_bytes.total < 0.9*actual")
	f.Add(`"nas{}".jobs >= -1e3`)
	f.Add("3*")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := replay.ParseAssertion(text)
		if err == nil {
			_, err = a.Evaluate(figures())
		}
		var syntax *replay.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Column < 1 || syntax.Column > len(text)+1) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
