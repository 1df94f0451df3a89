package amrm

import "heddle/core/model"

// reconcile completes a resync from the last poll of the ResourceManager's REST
// API. The next call reverts what has to be reverted.
func (r *steering) reconcile(a *attempt, now model.Time) {
	if rows, at, ok := r.opts.Guide.Pending(a.app); ok {
		a.asks.Reconcile(now, at, rows)
	}
}

// afterSend updates the guide once a call or an answer has been sent.
func (r *steering) afterSend(a *attempt) {
	r.guarded(a, func() {
		if !a.isRegistered() || a.failures.faults > 0 {
			return
		}
		now := r.opts.now()
		o := &a.observed
		if !o.due && (!o.outstanding || now.Sub(o.at) < observeEvery) {
			return
		}
		rows := a.withStages(a.asks.Table().Own())
		r.opts.Guide.Observe(a.app, rows, a.asks.Table().Relayed(now))
		a.observed = observed{at: now, outstanding: len(rows) > 0}
	})
}
