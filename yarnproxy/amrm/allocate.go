package amrm

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

const (
	// observeEvery is how often the guide is told of asks that stay the same.
	observeEvery = 5 * model.Second
	// keepScratch is the longest buffer that is kept for the next call.
	keepScratch = 256 << 10
)

// steering decides about the calls of all attempts. It is safe for concurrent
// use, and works on one attempt at a time: none waits for another.
type steering struct {
	opts     *Options
	rules    *atomic.Pointer[rules]
	log      hclog.Logger
	counts   *counts
	attempts *registry
	pool     sync.Pool // of *scratch
}

// scratch is what reading and editing one call takes.
type scratch struct {
	req             wire.Request
	resp            wire.Response
	asked           asks.Request
	answer          asks.Response
	headroom        model.Resource // of answer
	rows, body, out []byte
	running         []wire.Container
}

func (r *steering) scratch() *scratch {
	if s, ok := r.pool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

func (r *steering) putScratch(s *scratch) {
	if max(cap(s.rows), cap(s.body), cap(s.out), 64*cap(s.req.Asks)) <= keepScratch {
		r.pool.Put(s)
	}
}

// request takes an allocate call and returns the frame to send, which is the
// one that came or lies in s.
func (r *steering) request(ctx context.Context, a *attempt, frame, body []byte, s *scratch) (out []byte, edited bool) {
	r.counts.allocates.Add(1)
	if err := s.req.Parse(body); err != nil {
		r.unread(a, "an allocate call", err)
		return frame, false
	}
	s.take()
	if !r.edit(ctx, a, frame, body, s) {
		return frame, false
	}
	return s.out, true
}

// edit decides about a call. When it is to be edited, the frame to send is s.out.
func (r *steering) edit(ctx context.Context, a *attempt, frame, body []byte, s *scratch) (edited bool) {
	defer func() {
		if v := recover(); v != nil {
			r.fault(a, v)
			edited = false
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	if newest := r.rules.Load(); newest != a.rules {
		a.applyRules(newest)
	}
	now := r.opts.now()
	a.asks.CheckResponseID(now, s.req.ResponseID)
	a.last.at = now
	if !a.isRegistered() || a.failures.faults > 1 {
		return false
	}
	r.loadInputs(a)
	if len(s.asked.Rows) > 0 {
		a.observed.due = true
		if r.unplanned(a, &s.asked) {
			r.plan(ctx, a, &s.asked)
			r.loadInputs(a)
		}
	}
	edit := a.asks.Request(now, &s.asked, &a.intent)
	if a.asks.State() == asks.Resyncing {
		r.reconcile(a, now)
	}
	for i := range edit.Steps {
		r.counts.step(&edit.Steps[i])
	}
	if edit.Same {
		return false
	}
	if err := s.write(frame, body, edit.Rows); err != nil {
		panic(err) // the table believes it sent
	}
	return true
}

// take converts what a call says. What the table keeps of it is copied: the
// call lies in the connection's buffer.
func (s *scratch) take() {
	in, out := &s.req, &s.asked
	*out = asks.Request{
		ResponseID: in.ResponseID, Scheduling: in.Scheduling > 0,
		Rows: out.Rows[:0], Releases: out.Releases[:0], BlacklistAdd: out.BlacklistAdd[:0], BlacklistRemove: out.BlacklistRemove[:0],
	}
	for i := range in.Asks {
		row := &in.Asks[i]
		out.Rows = append(out.Rows, asks.Row{
			Key:  asks.Key{Priority: row.Priority, RequestID: row.RequestID},
			Name: intern(row.Name), Count: row.Count, Relax: row.Relax, Labelled: len(row.Label) > 0,
			Capability: model.Resource{MemoryMiB: row.Memory, VCores: int64(row.VCores)},
			Raw:        bytes.Clone(row.Raw),
		})
	}
	for _, id := range in.Releases {
		out.Releases = append(out.Releases, asks.ContainerID(id))
	}
	for _, name := range in.BlacklistAdd {
		out.BlacklistAdd = append(out.BlacklistAdd, intern(name))
	}
	for _, name := range in.BlacklistRemove {
		out.BlacklistRemove = append(out.BlacklistRemove, intern(name))
	}
}

// intern returns a name of a host or rack, of which there are few, as one string for all who hold it.
func intern(name []byte) string {
	if string(name) == model.AnyName {
		return model.AnyName
	}
	return unique.Make(string(name)).Value()
}

// write makes the frame with other asks.
func (s *scratch) write(frame, body []byte, rows []asks.Row) error {
	var err error
	s.rows = s.rows[:0]
	for i := range rows {
		switch row := &rows[i]; {
		case row.Verbatim:
			s.rows = wire.AppendVerbatim(s.rows, row.Raw)
		case row.Raw != nil:
			s.rows, err = wire.AppendRow(s.rows, row.Raw, row.Name, row.Count, row.Relax)
		default:
			s.rows = wire.AppendNewRow(s.rows, &wire.NewRow{
				Priority: row.Priority, RequestID: row.RequestID, Name: row.Name, Count: row.Count, Relax: row.Relax,
				Memory: row.Capability.MemoryMiB, VCores: int32(row.Capability.VCores), //nolint:gosec // came as one
			})
		}
		if err != nil {
			return err
		}
	}
	if s.body, err = wire.AppendRequest(s.body[:0], body, s.rows); err != nil {
		return err
	}
	s.out = ipc.ReplaceBody(s.out[:0], frame, body, s.body)
	return nil
}

// loadInputs brings the attempt's intent up to date. An attempt with a fault asks
// nobody any more.
func (r *steering) loadInputs(a *attempt) {
	if a.failures.faults > 0 {
		a.intent.Site, a.intent.Pass = nil, model.PassDecode
		return
	}
	if info, known := r.opts.Guide.App(a.app); known {
		a.about.info, a.about.known = info, true
	}
	site, fresh := r.opts.Guide.Site()
	a.intent.Site, a.intent.Pass = site, a.rules.passReason(&a.about.info, a.about.known)
	if a.intent.Pass == "" && (site == nil || !fresh) {
		a.intent.Pass = model.PassStale
	}
}

// unplanned reports whether a call asks at a key where nothing is outstanding,
// and no plan says where.
func (r *steering) unplanned(a *attempt, asked *asks.Request) bool {
	if a.failures.faults > 0 || a.asks.State() != asks.InSync || a.about.known && a.intent.Pass != "" {
		return false
	}
	return slices.ContainsFunc(asked.Rows, func(row asks.Row) bool {
		return row.Name == model.AnyName && row.Count > 0 && a.asks.Table().IsNew(row.Key) && r.unplannedKey(a, asked, row.Key)
	})
}

func (r *steering) unplannedKey(a *attempt, asked *asks.Request, k asks.Key) bool {
	if !a.about.known {
		return true
	}
	local := false
	for i := range asked.Rows {
		local = local || asked.Rows[i].Key == k && asked.Rows[i].Name != model.AnyName
	}
	stage, ok := a.rules.stage(a.about.info.Type, k, local)
	if !ok {
		return false
	}
	t, planned := r.opts.Guide.Target(a.app, stage)
	return !planned || !t.Hold && len(t.Racks) == 0 // a plan that was not sure may be by now
}

// plan has the policy decide now, and waits for it, but no longer than the call
// may wait (I8). The attempt is unlocked meanwhile.
func (r *steering) plan(ctx context.Context, a *attempt, asked *asks.Request) {
	if a.rules.decideIn <= 0 || a.deciding {
		return
	}
	a.deciding = true
	rows := a.withStages(mergeRows(a.asks.Table().Own(), asked.Rows))
	ctx, cancel := context.WithTimeout(ctx, a.rules.decideIn)
	defer cancel()
	decided := make(chan struct{})
	go func() {
		defer close(decided)
		defer func() {
			if v := recover(); v != nil {
				r.fault(a, v)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.deciding = false
		}()
		r.opts.Guide.Decide(ctx, a.app, rows)
	}()
	a.mu.Unlock()
	defer a.mu.Lock()
	select {
	case <-decided:
	case <-ctx.Done():
	}
}

// withStages says of rows which stage asks for them, by the rules for the
// application's type. It changes and returns them.
func (a *attempt) withStages(rows []model.AskRow) []model.AskRow {
	local := map[asks.Key]bool{}
	for i := range rows {
		if k := keyOf(&rows[i]); rows[i].ResourceName != model.AnyName {
			local[k] = true
		}
	}
	for i := range rows {
		k := keyOf(&rows[i])
		rows[i].Stage, _ = a.rules.stage(a.about.info.Type, k, local[k])
	}
	return rows
}

func keyOf(row *model.AskRow) asks.Key {
	return asks.Key{Priority: int32(row.Priority), RequestID: row.RequestID} //nolint:gosec // came as one
}

// mergeRows returns what an application asks for once a call is counted in.
func mergeRows(own []model.AskRow, rows []asks.Row) []model.AskRow {
	type name struct {
		asks.Key
		name string
	}
	last := make(map[name]int, len(rows))
	for i := range rows {
		last[name{rows[i].Key, rows[i].Name}] = i
	}
	all := make([]model.AskRow, 0, len(own)+len(rows))
	for _, row := range own {
		if _, newer := last[name{keyOf(&row), row.ResourceName}]; !newer {
			all = append(all, row)
		}
	}
	for i := range rows {
		if row := &rows[i]; last[name{row.Key, row.Name}] == i && row.Count > 0 {
			all = append(all, model.AskRow{
				Priority: int(row.Priority), RequestID: row.RequestID, ResourceName: row.Name,
				Capability: row.Capability, Count: int(row.Count), RelaxLocality: row.Relax,
			})
		}
	}
	return all
}
