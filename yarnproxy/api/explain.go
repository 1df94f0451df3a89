package api

import (
	"cmp"
	"strings"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// explainBody is GET /v1/applications/{id}/explain.
type explainBody struct {
	Application model.AppID      `json:"application"`
	Policy      string           `json:"policy"`
	Live        string           `json:"live"` // what the policy's plans do to asks, in a sentence
	Stages      []stageExplained `json:"stages"`
	Uplinks     []uplinkBody     `json:"uplinks"`
	Decisions   []model.Decision `json:"decisions"` // the newest about it, newest first
	Sources     []sourceBody     `json:"sources"`
	Relay       *relayExplained  `json:"relay,omitempty"` // absent without a relay
	// Unsteered is why the relay is to steer nothing of it; absent while it may.
	Unsteered *unsteeredBody `json:"unsteered,omitempty"`
	// Outcome is what it sent across racks, and would have by its plans: that of /v1/shadow. It is absent until the
	// application has ended and its last facts have come.
	Outcome *snapshot.JobAccount `json:"outcome,omitempty"`
}

// unsteeredBody is why nothing of an application is steered.
type unsteeredBody struct {
	Cause model.PassCause `json:"cause"`
	Text  string          `json:"text"`
}

// unsteered returns why nothing of an application is steered, nil while it may be.
func unsteered(s *snapshot.Snapshot, app model.AppID) *unsteeredBody {
	cause := s.Guard.Unsteered[app]
	if cause == "" {
		return nil
	}
	return &unsteeredBody{cause, causeTexts()[cause]}
}

// stageExplained is why a stage's plan is what it is.
type stageExplained struct {
	Stage        model.Stage     `json:"stage"`
	Reason       model.Reason    `json:"reason"`
	Text         string          `json:"text"` // the reason in words
	Plan         *model.Plan     `json:"plan"`
	Inputs       stageInputs     `json:"inputs"`
	Alternatives []alternativeOf `json:"alternatives"`
}

// stageInputs is what the policy could see when it planned the stage.
type stageInputs struct {
	Progress  stageLine            `json:"progress"`
	Task      model.Resource       `json:"task"`
	Launched  map[model.RackID]int `json:"launched"`
	Ratio     float64              `json:"shuffle_input_ratio"`
	Measured  bool                 `json:"ratio_measured"`
	Heavy     bool                 `json:"shuffle_heavy"`
	Slowstart float64              `json:"slowstart"`
	Input     inputBody            `json:"input"`
	MapOutput snapshot.Output      `json:"map_output"`
}

// alternativeOf is what another way to place the stage would send across racks.
type alternativeOf struct {
	model.Cost
	Extra model.Bytes `json:"extra_bytes"` // across racks above the plan; below zero when it would send less
	Text  string      `json:"text"`
}

// uplinkBody is the state of one rack's uplink.
type uplinkBody struct {
	Rack model.RackID `json:"rack"`
	snapshot.Uplink
}

// maxExplained is how many decisions an explanation repeats.
const maxExplained = 10

func getExplain(q *query) (any, error) {
	a, err := q.application()
	if err != nil {
		return nil, err
	}
	only := model.Stage("")
	if q.values.Has("stage") {
		only = q.stage()
	} else {
		q.known = append(q.known, "stage")
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	policy := q.server.activePolicy()
	b := explainBody{Application: a.ID, Policy: policy.Name, Live: policy.liveText(), Stages: []stageExplained{}, Uplinks: []uplinkBody{}, Decisions: []model.Decision{}}
	for _, p := range q.cache.snap.Plans[a.ID] {
		if only == "" || p.Stage == only {
			b.Stages = append(b.Stages, explainStage(a, p))
		}
	}
	b.Relay, b.Outcome, b.Unsteered = explainRelay(q, a.ID, only), outcomeOf(q.cache.snap, a.ID), unsteered(q.cache.snap, a.ID)
	if len(b.Stages) == 0 && !b.Relay.hasAttempts() {
		_, err := q.planOf(a, cmp.Or(only, model.StageReduce))
		return nil, err
	}
	for i := range q.cache.snap.Racks {
		r := &q.cache.snap.Racks[i]
		b.Uplinks = append(b.Uplinks, uplinkBody{r.ID, r.Uplink})
	}
	for i := len(q.cache.snap.Decisions) - 1; i >= 0 && len(b.Decisions) < maxExplained; i-- {
		if d := q.cache.snap.Decisions[i]; appOf(&d) == a.ID {
			d.Plan = wholePlan(d.Plan)
			b.Decisions = append(b.Decisions, d)
		}
	}
	b.Sources, _ = q.server.sources(q.cache.snap, q.now)
	return b, nil
}

// liveText says what the policy's plans do to asks, "" without a policy.
func (p PolicyInfo) liveText() string {
	switch {
	case p.Name == "":
		return ""
	case len(p.Live) == 0:
		return "Live the policy does nothing: it ranks jobs only, and no ask carries a rank."
	}
	return "Live the policy sets " + strings.Join(p.Live, ", ") + "; the order of jobs is the scheduler's, because no ask carries a rank."
}

// outcomeOf returns the account of an application that ended, under the policy that decides; nil
// without one.
func outcomeOf(s *snapshot.Snapshot, app model.AppID) *snapshot.JobAccount {
	for i := range s.Accounts {
		for k := range s.Accounts[i].Recent {
			if j := s.Accounts[i].Recent[k]; s.Accounts[i].Decides && j.App == app {
				return &j
			}
		}
	}
	return nil
}

func explainStage(a *snapshot.App, p *model.Plan) stageExplained {
	e := stageExplained{
		Stage: p.Stage, Reason: p.Reason, Text: reasonTexts()[p.Reason], Plan: wholePlan(p),
		Inputs: stageInputs{
			Ratio: a.Ratio, Measured: a.Predicted, Heavy: a.Heavy, Slowstart: a.Slowstart,
			Input: inputBody{a.Input, emptyNotNil(a.Input.Paths)}, MapOutput: a.MapOutput, Launched: map[model.RackID]int{},
		},
	}
	if s := stageOf(a, p.Stage); s != nil {
		e.Inputs.Progress, e.Inputs.Task, e.Inputs.Launched = lineOf(s), s.Task, s.Launched
	}
	e.Alternatives = alternatives(p)
	return e
}

// alternatives compares every way to place a stage with the plan.
func alternatives(p *model.Plan) []alternativeOf {
	var plan model.Bytes
	for _, c := range p.Costs {
		if c.Name == "plan" || c.Name == "not_pinned" {
			plan = c.CrossRack
		}
	}
	out := make([]alternativeOf, 0, len(p.Costs))
	for _, c := range p.Costs {
		out = append(out, alternativeOf{Cost: c, Extra: c.CrossRack - plan, Text: costTexts()[c.Name]})
	}
	return out
}

// costTexts says what each way to place a stage is.
func costTexts() map[string]string {
	return map[string]string{
		"plan":         "what the policy wants",
		"not_pinned":   "what the policy would have, were it sure; no rack is asked for",
		"fewest_bytes": "all reduces on the rack with most map output: the fewest bytes across racks, on one busy uplink",
		"proportional": "reduces in proportion to the map output of each rack: the least load on the busiest uplink of an idle network",
		"uniform":      "reduces spread evenly: what a scheduler does that does not look at map output",
		"as_placed":    "where its reduces run or ran so far",
	}
}

// reasonTexts puts every reason of a plan or a placement into words.
func reasonTexts() map[model.Reason]string {
	return map[model.Reason]string{
		model.ReasonPreferredMapRack:   "A map on one of the few racks that hold the job's input.",
		model.ReasonLocalMap:           "A map whose input is on the node or on its rack.",
		model.ReasonAnyMap:             "A map that reads its input across racks, because nothing closer was left to start.",
		model.ReasonLightReduce:        "A reduce of a job that shuffles less than it reads: its rack matters little.",
		model.ReasonPreferredReduce:    "A reduce on a rack that has not got its share of the job's reduces yet.",
		model.ReasonHeavyReduce:        "A reduce of a job that shuffles more than it reads, started because the uplinks have room.",
		model.ReasonAnyReduce:          "A reduce of whatever job, because nothing better was left to start.",
		model.ReasonWindow:             "Its job was submitted in an older window than others: it goes first, so that it does not starve.",
		model.ReasonFairShare:          "Its user, or the job itself where jobs share, is furthest below a fair share.",
		model.ReasonFIFO:               "Its job is the first in line that can use the node.",
		model.ReasonQueueCapacity:      "Its queue uses the least of its capacity.",
		model.ReasonDominantShare:      "Its user has the least dominant share.",
		model.ReasonDelayNodeLocal:     "Delay scheduling: a node with the input was offered.",
		model.ReasonDelayRackLocal:     "Delay scheduling: it waited for a node with the input and then took a node of the rack.",
		model.ReasonDelayExpired:       "Delay scheduling: it waited long enough to take any node.",
		model.ReasonMapOutput:          "Reduces go to racks in proportion to the map output that lies there: that is what they fetch.",
		model.ReasonTentative:          "Too few maps are done to know the map output; reduces follow the racks its maps are planned for.",
		model.ReasonInputRacks:         "Maps go to the fewest racks that hold the whole input, so that their output lies together.",
		model.ReasonUnpredicted:        "The size of the job's shuffle is not known yet: every rack will do.",
		model.ReasonNoInput:            "The job's input is not known or empty: every rack will do.",
		model.ReasonHoldWhileSaturated: "The uplinks are saturated; reduces of a job that shuffles much wait, for a limited time.",
		model.ReasonFewestRacks:        "Nothing is known of the application's input: its containers go to the fewest racks that have room, which keeps its shuffle off the uplinks.",
		model.ReasonRankOnly:           "The policy orders jobs and prefers no rack.",
		model.ReasonShuffleQualified:   "NAS: its input is on the node, and the node has room for its output below the traffic threshold.",
		model.ReasonMapWaited:          "NAS: its user was passed over for long enough; the node has room for its output, wherever it reads.",
		model.ReasonOverThreshold:      "NAS: its user was passed over for long enough and has no map the node has room for.",
		model.ReasonBelowReduceNum:     "NAS: the rack has fewer of the job's reduces than its part of the job's map output.",
		model.ReasonReduceNumReached:   "NAS: no job still wants a reduce on the rack; this one does the least harm.",
		model.ReasonReduceWaited:       "NAS: the uplink is congested, but its user has waited long enough for a light reduce.",
		model.ReasonMostInput:          "Dawn: the rack holds most of the job's input.",
		model.ReasonMostIntermediate:   "Dawn: the rack holds most of the job's map output.",
		model.ReasonDependents:         "The jobs that read this job's output have least to fetch if it lies there.",
		model.ReasonHoldForMaps:        "Too few maps are complete: a reduce would hold a container and wait for their output.",
		model.ReasonLeastRemaining:     "Its job has the least work left: who waits for it waits the shortest.",
		model.ReasonFeedsNetwork:       "NUM: little map output waits to be fetched; this job's maps put out enough to keep the network busy.",
		model.ReasonShuffleOrder:       "NUM: its job is the first of those whose reduces may run.",
		model.ReasonUncertain:          "Where the job's map output will lie is not known well enough for the policy's plan to be surely better than an even spread: every rack will do.",
		model.ReasonBusierUplink:       "The policy's plan would load its busiest uplink more than an even spread does: every rack will do.",
		model.ReasonOffers:             "Counted from where the policy put the job's tasks when every free container was offered to it once.",
	}
}
