package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/core/model"
)

// explainedRelay has the fields of the relay's state that `heddle explain` prints.
type explainedRelay struct {
	At        model.Time `json:"at_ms"`
	Enforcing bool       `json:"enforcing"`
	Attempts  []struct {
		Attempt int             `json:"attempt"`
		Keys    []explainedAsks `json:"keys"`
	} `json:"attempts"`
	Problem string `json:"problem"`
}

// explainedAsks are the asks of one scheduler key. The service sends the first rows of
// a long ask: any node, racks, then hosts.
type explainedAsks struct {
	model.RelayKey
	AskedRows int    `json:"asked_rows"`
	SentRows  int    `json:"sent_rows"`
	Text      string `json:"text"`
}

// table prints nothing without a relay.
func (r *explainedRelay) table(w io.Writer) {
	if r == nil {
		return
	}
	if r.Problem != "" {
		fmt.Fprintln(w, "relay: "+r.Problem)
		return
	}
	if len(r.Attempts) == 0 {
		fmt.Fprintln(w, "relay: no allocate call of this application came through the relay ('heddle client-config' prints what a job sets)")
	}
	for _, a := range r.Attempts {
		for i := range a.Keys {
			a.Keys[i].table(w, a.Attempt, r.At)
		}
	}
}

func (k *explainedAsks) table(w io.Writer, attempt int, now model.Time) {
	fmt.Fprintf(w, "%s asks of attempt %d, priority %d, at the relay: %s\n", stageText(k.Stage), attempt, k.Priority, k.Text)
	fmt.Fprintf(w, "  asked: %s\n  sent: %s\n", rowsText(k.Asked, k.AskedRows), rowsText(k.Sent, k.SentRows))
	if len(k.Granted) > 0 {
		var racks []string
		for _, rack := range slices.Sorted(maps.Keys(k.Granted)) {
			racks = append(racks, fmt.Sprintf("%d on %s", k.Granted[rack], rack))
		}
		fmt.Fprintf(w, "  granted: %s\n", strings.Join(racks, ", "))
	}
	if k.Action != "" {
		fmt.Fprintf(w, "  %s%s\n", k.Action, timesText(k.Since, k.Deadline, now))
	}
	fmt.Fprintln(w)
}

func stageText(s model.Stage) string {
	if s == "" {
		return "unnamed"
	}
	return string(s)
}

// rowsText summarizes the rows of an ask, of which there are total.
func rowsText(rows []model.AskRow, total int) string {
	count, strict := 0, false
	var places []string
	hosts := total
	for _, row := range rows {
		switch {
		case row.ResourceName == model.AnyName:
			count, strict = row.Count, !row.RelaxLocality
			hosts--
		case strings.HasPrefix(row.ResourceName, "/"):
			places = append(places, fmt.Sprintf("%d on %s", row.Count, row.ResourceName))
			hosts--
		}
	}
	if hosts > 0 {
		places = append(places, fmt.Sprintf("%d hosts", hosts))
	}
	switch {
	case total == 0:
		return "nothing"
	case len(places) == 0 && strict:
		return fmt.Sprintf("%d, held back from every node", count)
	case len(places) == 0:
		return fmt.Sprintf("%d on any node", count)
	case strict:
		return fmt.Sprintf("%d, only %s", count, strings.Join(places, ", "))
	}
	return fmt.Sprintf("%d, preferably %s", count, strings.Join(places, ", "))
}

// timesText prints how long an action has been in force and when it expires.
func timesText(since, deadline, now model.Time) string {
	var out string
	if since != 0 {
		out = " for " + roundedDuration(now.Sub(since))
	}
	switch {
	case deadline > now:
		out += ", ends by itself in " + roundedDuration(deadline.Sub(now))
	case deadline != 0:
		out += ", its deadline has passed: it ends at the application's next call"
	}
	return out
}

func roundedDuration(d model.Duration) string {
	return (time.Duration(max(d, 0)) * time.Millisecond).Round(100 * time.Millisecond).String()
}
