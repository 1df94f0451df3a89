package api

import (
	"net/http"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// appLine is one application in a list.
type appLine struct {
	model.App
	Map       stageLine                            `json:"map"`
	Reduce    stageLine                            `json:"reduce"`
	Heavy     bool                                 `json:"shuffle_heavy"`
	CrossRack map[snapshot.TrafficKind]model.Bytes `json:"cross_rack_bytes"`
}

// stageLine is one stage in a list of applications.
type stageLine struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
}

func lineOf(s *snapshot.Stage) stageLine {
	return stageLine{Total: s.Total, Pending: s.Pending, Running: s.Running, Completed: s.Completed}
}

// appsBody is GET /v1/applications.
type appsBody struct {
	pageBody
	Applications []appLine `json:"applications"`
}

// appStates returns the values of the parameter state: heddle's own two words
// for what is over and what is not, and YARN's states.
func appStates() []string {
	return []string{
		"live", "ended", string(model.AppNew), string(model.AppNewSaving), string(model.AppSubmitted), string(model.AppAccepted),
		string(model.AppRunning), string(model.AppFinished), string(model.AppFailed), string(model.AppKilled),
	}
}

func getApplications(q *query) (any, error) {
	want := q.oneOf("state", "", appStates()...)
	user, queue, kind := model.UserID(q.text("user")), model.QueueID(q.text("queue")), q.text("type")
	p := q.page(100, 1000)
	if err := q.check(); err != nil {
		return nil, err
	}
	var found []*snapshot.App
	for _, a := range q.cache.snap.Apps {
		if inState(a, want) && (user == "" || a.User == user) && (queue == "" || a.Queue == queue) && (kind == "" || strings.EqualFold(a.Type, kind)) {
			found = append(found, a)
		}
	}
	found, b := pageOf(q, p, found)
	out := appsBody{pageBody: b, Applications: make([]appLine, 0, len(found))}
	for _, a := range found {
		out.Applications = append(out.Applications, appLine{
			App: a.App, Map: lineOf(&a.Map), Reduce: lineOf(&a.Reduce), Heavy: a.Heavy, CrossRack: a.CrossRack,
		})
	}
	return out, nil
}

func inState(a *snapshot.App, want string) bool {
	switch want {
	case "":
		return true
	case "live":
		return !a.State.Final()
	case "ended":
		return a.State.Final()
	}
	return string(a.State) == want
}

// appBody is GET /v1/applications/{id}.
type appBody struct {
	Application appDetail `json:"application"`
}

// appDetail is all that is known of an application.
type appDetail struct {
	*snapshot.App
	Input inputBody     `json:"input"`
	Plans []*model.Plan `json:"plans"`
}

// inputBody is what is known of an application's input.
type inputBody struct {
	snapshot.Input
	Paths []string `json:"paths"`
}

func getApplication(q *query) (any, error) {
	a, err := q.application()
	if err != nil {
		return nil, err
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	d := appDetail{App: a, Input: inputBody{a.Input, emptyNotNil(a.Input.Paths)}, Plans: []*model.Plan{}}
	for _, p := range q.cache.snap.Plans[a.ID] {
		d.Plans = append(d.Plans, wholePlan(p))
	}
	return appBody{d}, nil
}

// application returns the application a path names.
func (q *query) application() (*snapshot.App, error) {
	id, err := q.path("id")
	if err != nil {
		return nil, err
	}
	if a := q.cache.snap.App(model.AppID(id)); a != nil {
		return a, nil
	}
	hint := "GET /v1/applications lists those heddle knows: all that run, and the last ones that ended while it watched"
	if !strings.HasPrefix(id, "application_") {
		hint = "an application's id looks like application_1700000000000_0001; " + hint
	}
	return nil, notFound("application "+id+" is not known", hint)
}

// planOf returns an application's newest plan for a stage, or says why there is
// none.
func (q *query) planOf(a *snapshot.App, stage model.Stage) (*model.Plan, error) {
	plans := q.cache.snap.Plans[a.ID]
	i := slices.IndexFunc(plans, func(p *model.Plan) bool { return p.Stage == stage })
	if i >= 0 {
		return plans[i], nil
	}
	p := &problem{kind: "no-plan", status: http.StatusNotFound, detail: "application " + string(a.ID) + " has no plan for stage " + string(stage)}
	switch {
	case q.server.policy() == "":
		p.detail, p.hint = p.detail+": "+ErrNoPolicy.Error(), "set mode to advise in the configuration"
	case a.State.Final():
		p.hint = "it has ended"
	case stage != model.StageMap && stage != model.StageReduce:
		p.hint = "the stages of a MapReduce job are map and reduce"
	default:
		p.hint = "the policy has nothing to say about it yet: ask again when the application has asked for containers"
	}
	return nil, p
}

// stageOf returns what is known of a stage, nil for one that is not followed.
func stageOf(a *snapshot.App, stage model.Stage) *snapshot.Stage {
	switch stage {
	case model.StageMap:
		return &a.Map
	case model.StageReduce:
		return &a.Reduce
	default: // counted in containers only
		return nil
	}
}
