package rm

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// reporter logs changes, once each.
type reporter struct {
	log      hclog.Logger
	optional map[string]model.PollResult // of the last attempt at each optional part
}

// logOptional logs when an optional part cannot be read any more, or (err nil) can be
// read again.
func (r *reporter) logOptional(what string, err error) {
	result := rest.FromError(err)
	before, known := r.optional[what]
	r.optional[what] = result
	switch {
	case result == model.PollOK && known && before != model.PollOK:
		r.log.Info("an optional part of the resource manager's state can be read again", "what", what)
	case result != model.PollOK && before != result:
		r.log.Warn("an optional part of the resource manager's state cannot be read; continuing without it", "what", what, "error", err, "do", advice(result))
	}
}

// changed logs that the active ResourceManager is another one or was restarted.
func (r *reporter) changed(before, now model.ClusterFact) {
	what := "resource manager was restarted"
	if before.Address != now.Address {
		what = "another resource manager is active"
	}
	r.log.Info(what, "address", now.Address, "before", before.Address, "version", now.Version,
		"started", time.UnixMilli(int64(now.Started)).UTC().Format(time.RFC3339))
}

// advice says what an operator can do about a result.
func advice(result model.PollResult) string {
	switch result {
	case model.PollUnreachable:
		return "check that the ResourceManager runs and that its web address and port are right"
	case model.PollStandby:
		return "no ResourceManager is active: check yarn rmadmin -getAllServiceState, and that every one of them is configured here"
	case model.PollDenied:
		return "check the user or Kerberos principal, and that it may read the cluster"
	case model.PollInvalid:
		return "check that the address is the ResourceManager's and no login page or proxy; raise the answer limit if it is too large"
	default:
		return "look into the ResourceManager's log"
	}
}
