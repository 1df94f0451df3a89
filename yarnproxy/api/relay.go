package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"heddle/core/model"
)

// Limits of GET /v1/relay. An ask of a large job names a host in every other
// row: of each key the first rows are shown, and how many there are.
const (
	shownRows       = 100
	defaultAttempts = 50
	maxAttempts     = 200
)

// relayBody is GET /v1/relay.
type relayBody struct {
	pageBody
	At          model.Time            `json:"at_ms"`
	Age         model.Duration        `json:"relay_age_ms"`
	Enforcing   bool                  `json:"enforcing"`
	Listeners   []model.RelayListener `json:"listeners"`
	Connections int                   `json:"connections"`
	Blind       int                   `json:"blind_connections"`
	Counts      model.RelayCounts     `json:"counts"`
	Attempts    []relayAttempt        `json:"attempts"`
}

// relayExplained is what the relay does to the asks of one application.
type relayExplained struct {
	At        model.Time     `json:"at_ms"`
	Enforcing bool           `json:"enforcing"`
	Attempts  []relayAttempt `json:"attempts"`          // empty when none of its calls came this way
	Problem   string         `json:"problem,omitempty"` // why the relay did not answer
}

// relayAttempt is an attempt with its keys in words.
type relayAttempt struct {
	model.RelayAttempt
	Keys []relayKey `json:"keys"`
}

// relayKey is a key with its first rows and in words.
type relayKey struct {
	model.RelayKey
	Asked     []model.AskRow       `json:"asked"`
	Sent      []model.AskRow       `json:"sent"`
	AskedRows int                  `json:"asked_rows"`
	SentRows  int                  `json:"sent_rows"`
	Granted   map[model.RackID]int `json:"granted"`
	Text      string               `json:"text"`
}

// relayNow returns what the relay does now to a page of the attempts of an application, "" for all. It is nil where there
// is to be no relay. What is made of it changes between snapshots.
func relayNow(q *query, app model.AppID, p page) (*model.Relay, error) {
	if q.server.opts.Relay == nil {
		return nil, nil
	}
	q.uncacheable = true
	return q.server.opts.Relay(q.r.Context(), app, p.offset, p.limit)
}

func getRelay(q *query) (any, error) {
	app := model.AppID(q.text("application"))
	p := q.page(defaultAttempts, maxAttempts)
	if err := q.check(); err != nil {
		return nil, err
	}
	r, err := relayNow(q, app, p)
	switch {
	case err != nil:
		return nil, &problem{
			kind: "relay-not-linked", status: http.StatusBadGateway, detail: err.Error(),
			hint: "run 'heddle relay' with the same configuration; its own /healthz says whether this heddle is linked",
		}
	case r == nil:
		return nil, &problem{
			kind: "no-relay", status: http.StatusNotFound, detail: "no relay runs: mode is not enforce, nor is it advise with relay.listen set",
			hint: "set mode to enforce in the configuration; with mode advise and relay.listen the relay counts and rewrites nothing",
		}
	}
	b := relayBody{
		pageBody: pageBodyOf(q, p, len(r.Attempts), r.Total), At: r.At, Age: max(q.now.Sub(r.At), 0), Enforcing: r.Enforcing, Listeners: emptyNotNil(r.Listeners),
		Connections: r.Connections, Blind: r.Blind, Counts: r.Counts, Attempts: make([]relayAttempt, 0, len(r.Attempts)),
	}
	b.Counts.Rewritten = withAllKeys(model.Actions(), r.Counts.Rewritten)
	b.Counts.Passed = withAllKeys(model.PassCauses(), r.Counts.Passed)
	for i := range r.Attempts {
		b.Attempts = append(b.Attempts, attemptInWords(&r.Attempts[i], ""))
	}
	return b, nil
}

// withAllKeys returns counts with every value of a closed set in them.
func withAllKeys[K comparable](set []K, counts map[K]int64) map[K]int64 {
	out := make(map[K]int64, len(set))
	for _, k := range set {
		out[k] = counts[k]
	}
	return out
}

// explainRelay returns what the relay does to the asks of an application's
// stage, or of all when only is "". It is nil without a relay.
func explainRelay(q *query, app model.AppID, only model.Stage) *relayExplained {
	r, err := relayNow(q, app, page{limit: maxAttempts})
	switch {
	case err != nil:
		return &relayExplained{At: q.now, Attempts: []relayAttempt{}, Problem: err.Error()}
	case r == nil:
		return nil
	}
	e := &relayExplained{At: r.At, Enforcing: r.Enforcing, Attempts: []relayAttempt{}}
	for i := range r.Attempts {
		if a := attemptInWords(&r.Attempts[i], only); only == "" || len(a.Keys) > 0 {
			e.Attempts = append(e.Attempts, a)
		}
	}
	return e
}

// hasAttempts reports whether there is something to explain without a plan.
func (e *relayExplained) hasAttempts() bool { return e != nil && len(e.Attempts) > 0 }

func attemptInWords(a *model.RelayAttempt, only model.Stage) relayAttempt {
	out := relayAttempt{RelayAttempt: *a, Keys: []relayKey{}}
	for i := range a.Keys {
		if k := &a.Keys[i]; only == "" || k.Stage == only {
			out.Keys = append(out.Keys, keyInWords(k))
		}
	}
	return out
}

func keyInWords(k *model.RelayKey) relayKey {
	out := relayKey{
		RelayKey: *k, Asked: firstRows(k.Asked), Sent: firstRows(k.Sent), AskedRows: len(k.Asked), SentRows: len(k.Sent),
		Granted: k.Granted, Text: keyText(k),
	}
	if out.Granted == nil {
		out.Granted = map[model.RackID]int{}
	}
	return out
}

// firstRows returns the rows that are shown: the one for any node first, then
// racks, then hosts.
func firstRows(rows []model.AskRow) []model.AskRow {
	out := append([]model.AskRow{}, rows...)
	slices.SortStableFunc(out, func(a, b model.AskRow) int {
		return cmp.Or(cmp.Compare(breadth(a.ResourceName), breadth(b.ResourceName)), cmp.Compare(a.ResourceName, b.ResourceName))
	})
	return out[:min(len(out), shownRows)]
}

func breadth(name string) int {
	switch {
	case name == model.AnyName:
		return 0
	case strings.HasPrefix(name, "/"):
		return 1
	}
	return 2
}

// keyText says in words what is done at a key and why.
func keyText(k *model.RelayKey) string {
	var parts []string
	if k.Action != "" {
		parts = append(parts, actionTexts()[k.Action])
	}
	switch {
	case k.Cause != "":
		parts = append(parts, causeTexts()[k.Cause])
	case k.Action == "":
		parts = append(parts, "Passed as asked.")
	}
	if text := reasonTexts()[k.Reason]; text != "" {
		parts = append(parts, "The plan: "+text)
	}
	return strings.Join(parts, " ")
}

// actionTexts puts every action of the relay into words.
func actionTexts() map[model.Action]string {
	return map[model.Action]string{
		model.ActionPin:      "Asked for on the planned racks and their hosts alone, until the deadline.",
		model.ActionTrim:     "Asked for on those of its own racks alone that the plan prefers, until the deadline.",
		model.ActionHold:     "Held back: what was sent in its place is granted nowhere, until the deadline.",
		model.ActionWiden:    "Asked for on every host of the planned racks, because fewer of them granted too little.",
		model.ActionNextRack: "What a full or lost rack could not take is asked for on the next planned rack.",
		model.ActionFallBack: "The deadline passed: the application's own rows were sent again.",
		model.ActionRestore:  "Nothing is planned any more: the application's own rows were sent again.",
		model.ActionRepeat:   "The application repeated its call, and the same rows were sent again.",
	}
}

// causeTexts puts every cause of passing an ask as it came into words.
func causeTexts() map[model.PassCause]string {
	return map[model.PassCause]string{
		model.PassNoPlan:    "Passed as asked: there is no plan for it, or one that prefers no rack.",
		model.PassScope:     "Passed as asked: the application is not in the configured scope.",
		model.PassOptOut:    "Passed as asked: the application carries the tag that opts out.",
		model.PassType:      "Passed as asked: no rule of the configuration says which stage asks at this priority.",
		model.PassStale:     "Passed as asked: the state of the cluster is too old to act on.",
		model.PassLocality:  "Passed as asked: none of its own hosts and racks is on a rack the plan prefers.",
		model.PassConstrain: "Passed as asked: the application constrains this ask itself, by strict rows, a label or scheduling requests.",
		model.PassDeadline:  "Passed as asked: its deadline passed, and it is not steered again.",
		model.PassDecode:    "Passed as it came: the call did not decode.",
		model.PassPrivacy:   "Passed as it came: the connection is protected by integrity or privacy, so that nothing on it can be read.",
		model.PassAdvise:    "Passed as asked: it would have been rewritten, but heddle only advises.",
		model.PassSite:      "Passed as asked: no usable node is known on a planned rack.",
		model.PassUncertain: "Passed as asked: the plan is not sure enough, or worse than an even spread, to tie containers to its racks.",
		model.PassGuard:     "Passed as asked: steering is off for the application's queue, because it lost there; /v1/shadow has the figures.",
		model.PassControl:   "Passed as asked: the application is of the share that stays unsteered, to compare with (guard.control).",
	}
}
