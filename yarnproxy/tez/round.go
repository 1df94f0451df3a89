package tez

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// root is where the timeline server's REST begins (TimelineWebServices, ATSConstants).
const root = "/ws/v1/timeline"

// newestDAGs is how many DAGs of an application are listed. The newest come
// first, by the time of their first event; that several have the same is the
// reason to ask for more than one.
const newestDAGs = 5

// outcome is how a round went.
type outcome struct {
	answered    int
	budgetSpent bool  // something was left for the next round
	serverDown  bool  // the server does not answer: further requests would fail, too
	err         error // the first
}

// poll reads every application once, as far as the budget allows. Those that were
// read longest ago come first.
func (p *Poller) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	p.rounds++
	p.updateApps()
	apps := slices.SortedFunc(maps.Values(p.apps), func(a, b *app) int {
		return cmp.Or(cmp.Compare(a.askedRound, b.askedRound), cmp.Compare(a.id, b.id))
	})
	limited := rest.AdmitWithin(ctx, p.cfg.Interval)
	o := &outcome{}
	if len(apps) == 0 {
		_, err := p.cfg.Client.Get(limited, p.cfg.Base+root, "application/json") // only to see whether the server answers
		p.recordAnswer(o, nil, err)
	}
	for _, a := range apps {
		if o.budgetSpent || o.serverDown || ctx.Err() != nil {
			break
		}
		fact, err := p.read(limited, a)
		p.recordAnswer(o, a, err)
		if err == nil && fact != nil && (a.lastSent == nil && len(fact.Stages) > 0 || a.lastSent != nil && !reflect.DeepEqual(fact, a.lastSent)) {
			current.Send(ctx, *fact)
			a.lastSent = fact
		}
	}
	result, text := o.result()
	return poll.Outcome{Result: result, Error: text, BackOff: o.serverDown}
}

// recordAnswer adds the result of one request to the outcome of the round. Without
// an application, the request only checked that the server answers.
func (p *Poller) recordAnswer(o *outcome, a *app, err error) {
	if errors.Is(err, rest.ErrBudget) {
		o.budgetSpent = true // not read: it is among the first of the next round
		return
	}
	if a != nil {
		a.askedRound = p.rounds
		if err != nil && !a.failed {
			p.cfg.Logger.Debug("graph of a Tez application cannot be read, trying on", "app_id", a.id, "error", err)
		}
		a.failed = err != nil
	}
	if err == nil {
		o.answered++
		return
	}
	o.err = cmp.Or(o.err, err)
	var invalid *rest.InvalidError
	var status *rest.StatusError
	o.serverDown = !errors.As(err, &invalid) && !errors.As(err, &status)
}

// result returns the poll result of a round. A server that answered for some
// applications is up; the error's text has the first failure.
func (o *outcome) result() (result model.PollResult, text string) {
	if o.err != nil {
		text = o.err.Error()
	}
	switch {
	case o.err != nil && (o.answered == 0 || o.serverDown):
		return rest.FromError(o.err), text
	case o.budgetSpent:
		return model.PollBudget, text
	}
	return model.PollOK, text
}

// read reads the graph of an application's current DAG: one without stages
// where it has none, nil where the timeline server does not know enough yet.
func (p *Poller) read(ctx context.Context, a *app) (*model.GraphFact, error) {
	none := &model.GraphFact{App: a.id}
	dags, err := get(ctx, p, list("TEZ_DAG_ID", "applicationId", string(a.id), newestDAGs), func(body []byte) ([]dag, error) {
		return decodeDAGs(body, a.id)
	})
	if err != nil {
		return nil, err
	}
	d, runs := current(dags)
	if !runs {
		return none, nil
	}
	if d.id != a.dag {
		a.dag, a.plan, a.tooLarge = d.id, nil, false
	}
	if err := p.readPlan(ctx, a, d); err != nil {
		return nil, err
	}
	if a.plan == nil || a.tooLarge {
		return none, nil
	}
	vertices, err := get(ctx, p, list("TEZ_VERTEX_ID", "TEZ_DAG_ID", a.dag, p.cfg.MaxVertices), func(body []byte) (map[string]vertex, error) {
		return decodeVertices(body, a.dag)
	})
	if err != nil {
		return nil, err
	}
	fact := a.plan.graph(a.id, vertices)
	return &fact, nil
}

// readPlan reads the plan of the current DAG, once.
func (p *Poller) readPlan(ctx context.Context, a *app, d dag) error {
	if a.plan != nil {
		return nil
	}
	a.plan = d.plan // Tez up to 0.8 keeps it with the DAG
	if a.plan == nil {
		var err error
		a.plan, err = get(ctx, p, root+"/TEZ_DAG_EXTRA_INFO/"+url.PathEscape(d.id)+"?fields=otherinfo", func(body []byte) (*plan, error) {
			return decodePlan(body, d.id)
		})
		var status *rest.StatusError
		switch {
		case errors.As(err, &status) && status.Status == http.StatusNotFound:
			return nil // not stored yet
		case err != nil:
			return err
		}
	}
	if a.plan != nil && len(a.plan.vertices) > p.cfg.MaxVertices {
		a.tooLarge = true
		p.cfg.Full(FullVertices)
		p.cfg.Logger.Warn("DAG has more vertices than are read: it has no graph", "app_id", a.id, "dag", d.id,
			"vertices", len(a.plan.vertices), "limit", p.cfg.MaxVertices)
	}
	return nil
}

// get is rest.GetDecoded for a path of the timeline server.
func get[T any](ctx context.Context, p *Poller, path string, decode func([]byte) (T, error)) (T, error) {
	return rest.GetDecoded(ctx, p.cfg.Client, p.cfg.Base+path, decode)
}

// list is the path of the newest entities of a type that have a primary filter.
func list(entity, filter, value string, limit int) string {
	return fmt.Sprintf("%s/%s?primaryFilter=%s:%s&fields=otherinfo&limit=%s", root, entity, filter, url.QueryEscape(value), strconv.Itoa(limit))
}

// current returns the DAG that runs: the newest, unless it has ended.
func current(dags []dag) (dag, bool) {
	if len(dags) == 0 {
		return dag{}, false
	}
	d := slices.MaxFunc(dags, func(a, b dag) int { return cmp.Compare(a.number, b.number) })
	return d, !d.ended
}
