package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/state/snapshot"
	"heddle/integration/fakehadoop"
)

// TestOneFigure: what plans would have saved and lost is one figure over REST, in metrics and in an
// explanation, for the policy that decides and for one that is only compared.
func TestOneFigure(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site)+"shadow: {policies: [{name: dawn, label: other}], loop_time: 0.5}\n")
	r.settledPicture() // the ApplicationMasters have been read, so that the JobHistory server will be
	site.At(110 * time.Second)
	var shadow struct{ Policies []snapshot.PolicyAccount }
	find := func(policy string) *snapshot.JobAccount {
		for _, a := range shadow.Policies {
			for i := range a.Recent {
				if a.Policy == policy && a.Recent[i].App == fakehadoop.TeraSort {
					return &a.Recent[i]
				}
			}
		}
		return nil
	}
	eventually(t, "the account of TeraSort", func() error {
		if err := r.read("/v1/shadow", &shadow); err != nil {
			return err
		}
		if j := find("weave"); j == nil || find("other") == nil || j.Recorded == 0 {
			return fmt.Errorf("%+v", shadow.Policies)
		}
		for _, a := range shadow.Policies { // another job may end between the two answers
			for direction, want := range map[string]float64{"saved": float64(a.Saved), "lost": float64(a.Lost)} {
				if err := r.shows(fmt.Sprintf("heddle_regret_bytes_total{direction=%q,policy=%q}", direction, a.Policy), want); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, a := range shadow.Policies {
		if a.Decides != (a.Policy == "weave") || a.Recorded.Total != shadow.Policies[0].Recorded.Total || a.Recorded.Total == 0 {
			t.Errorf("%+v", a)
		}
	}
	code, out, errs := heddle(t, "explain", fakehadoop.TeraSort, "--url="+r.url, "-o", "json")
	var explained struct{ Outcome *snapshot.JobAccount }
	if err := json.Unmarshal([]byte(out), &explained); err != nil || code != exit.OK || explained.Outcome == nil {
		t.Fatal(errors.Join(err, fmt.Errorf("exit %d: %s%s", code, out, errs)))
	}
	if *explained.Outcome != *find("weave") {
		t.Errorf("explain says %+v, /v1/shadow %+v", *explained.Outcome, *find("weave"))
	}
	_, out, _ = heddle(t, "explain", fakehadoop.TeraSort, "--url="+r.url)
	if !strings.Contains(out, "ended: ") || !strings.Contains(out, "where weave wanted them") {
		t.Errorf("explain has no outcome:\n%s", out)
	}
}
