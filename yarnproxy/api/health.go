package api

import (
	"encoding/json"
	"net/http"
	"strconv"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// sourceBody is the health of one source at the moment it is asked for.
type sourceBody struct {
	Source   model.Source     `json:"source"`
	Required bool             `json:"required"` // heddle is not ready without it
	Fresh    bool             `json:"fresh"`    // its last good poll is not older than max_age_ms
	Age      *model.Duration  `json:"age_ms,omitempty"`
	Result   model.PollResult `json:"result,omitempty"` // of the last poll
	Error    string           `json:"error,omitempty"`
	Hint     string           `json:"hint,omitempty"` // what to do
}

// isRequired reports whether heddle can decide nothing without a source: only
// the ResourceManager knows what there is to place and where.
func isRequired(source model.Source) bool { return source == model.SourceRM }

// sources returns the health of every source the snapshot knows, and of the
// required ones it does not.
func (s *server) sources(snap *snapshot.Snapshot, now model.Time) (all []sourceBody, ready bool) {
	limit := model.Duration(s.opts.MaxAge.Milliseconds())
	all, ready = []sourceBody{}, true
	seen := false
	if snap != nil {
		for i := range snap.Sources {
			b := health(&snap.Sources[i], now, limit)
			all = append(all, b)
			seen = seen || b.Required
			ready = ready && (b.Fresh || !b.Required)
		}
	}
	if !seen {
		all, ready = append(all, health(&snapshot.Source{Source: model.SourceRM}, now, limit)), false
	}
	return all, ready
}

func health(v *snapshot.Source, now model.Time, limit model.Duration) sourceBody {
	b := sourceBody{Source: v.Source, Required: isRequired(v.Source), Result: v.Result, Error: v.Error}
	if v.LastOK != 0 {
		age := max(now.Sub(v.LastOK), 0)
		b.Age, b.Fresh = &age, age <= limit
	}
	switch {
	case v.Result != "":
		b.Hint = hints()[v.Result]
		if b.Hint == "" && !b.Fresh {
			b.Hint = "its last poll was good and none has ended since: look for a poll that hangs, or a clock that was set"
		}
	case v.LastOK == 0:
		b.Hint = "no poll has ended yet: wait, or check the address in the configuration"
	}
	return b
}

// hints says what to do about a poll that ended badly.
func hints() map[model.PollResult]string {
	return map[model.PollResult]string{
		model.PollUnreachable: "check that the daemon runs, its address in the configuration, and the way there",
		model.PollStandby:     "no active daemon answered: look at its HA state (yarn rmadmin or hdfs haadmin -getAllServiceState)",
		model.PollDenied:      "check the section security of the configuration, and that heddle's user may view (ACLs)",
		model.PollInvalid:     "something else answers at this address, or the answer is larger than allowed: check the address and advanced.resource_manager.max_answer",
		model.PollBudget:      "not everything was asked: raise requests_per_second or bytes_per_second, or poll less often",
		model.PollError:       "the daemon answered with an error: its own log says more",
	}
}

// mustBeFresh refuses what rests on decisions while they are not made.
func (q *query) mustBeFresh() error {
	all, ready := q.server.sources(q.cache.snap, q.now)
	if ready {
		return nil
	}
	for i := range all {
		if b := &all[i]; b.Required && !b.Fresh {
			age := "it has not given a good answer yet"
			if b.Age != nil {
				age = "its last good answer is " + strconv.FormatFloat(b.Age.Seconds(), 'f', 1, 64) + " s old"
			}
			return &problem{
				kind: "stale-state", status: http.StatusServiceUnavailable, retryAfter: 5, sources: all, hint: b.Hint,
				detail: "source " + string(b.Source) + " is stale: " + age + ", and nothing is decided on state older than " + q.server.opts.MaxAge.String(),
			}
		}
	}
	return nil
}

// healthBody is what /healthz and /readyz answer when they answer 200.
type healthBody struct {
	Status   string        `json:"status"` // "ok", or "degraded" while a source is not fresh
	Version  string        `json:"version"`
	Snapshot *snapshotBody `json:"snapshot"` // null before the first
	MaxAge   int64         `json:"max_age_ms"`
	Sources  []sourceBody  `json:"sources"`
}

func (s *server) health() (body healthBody, ready bool) {
	snap, now := s.snapshot(), model.Time(s.opts.Now().UnixMilli())
	body = healthBody{Status: "ok", Version: s.opts.Version, MaxAge: s.opts.MaxAge.Milliseconds()}
	body.Sources, ready = s.sources(snap, now)
	for i := range body.Sources {
		if !body.Sources[i].Fresh {
			body.Status = "degraded"
		}
	}
	if snap != nil {
		body.Snapshot = &snapshotBody{Seq: snap.Seq, At: snap.At, Age: max(now.Sub(snap.At), 0)}
	}
	return body, ready && snap != nil
}

// healthz says that the process answers, and how old its sources are. It is
// 200 with stale sources too: a restart of heddle would not mend them.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	body, _ := s.health()
	s.plain(w, r, body)
}

// readyz is 200 only while heddle can decide: there is a snapshot, and the
// required sources are fresh now, not when it was published.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	body, ready := s.health()
	if ready {
		s.plain(w, r, body)
		return
	}
	p := &problem{kind: "not-ready", status: http.StatusServiceUnavailable, retryAfter: 5, detail: "there is no picture of the cluster yet", sources: body.Sources}
	for i := range body.Sources {
		if b := &body.Sources[i]; b.Required && !b.Fresh {
			p.detail, p.hint = "source "+string(b.Source)+" is not fresh", b.Hint
		}
	}
	s.fail(w, r, p)
}

func (s *server) plain(w http.ResponseWriter, r *http.Request, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		s.fail(w, r, asProblem(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(data, '\n')) // the caller is gone if this fails
	}
}
