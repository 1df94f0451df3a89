package asks_test

import (
	"fmt"
	"slices"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
)

// size is that of every container of the tests.
func size() model.Resource { return model.Resource{MemoryMiB: 1024, VCores: 1} }

// site returns racks /r1, /r2, … with hosts w11, w12, … that hold a number of containers each.
func site(racks, hosts, containers int) *asks.Site {
	s := &asks.Site{RackOf: map[string]model.RackID{}}
	for r := 1; r <= racks; r++ {
		rack := asks.Rack{ID: model.RackID(fmt.Sprintf("/r%d", r))}
		for h := 1; h <= hosts; h++ {
			name := fmt.Sprintf("w%d%d", r, h)
			room := size().Times(int64(containers))
			rack.Hosts = append(rack.Hosts, asks.Host{Name: name, Total: room, Free: room, Idle: room})
			s.RackOf[name] = rack.ID
		}
		s.Racks = append(s.Racks, rack)
	}
	return s
}

// without is a site that does not list hosts as usable; full is one on which racks have no room.
func without(s *asks.Site, hosts []string, full []string) *asks.Site {
	out := &asks.Site{RackOf: s.RackOf, VCores: s.VCores}
	for _, r := range s.Racks {
		rack := asks.Rack{ID: r.ID}
		for _, h := range r.Hosts {
			if slices.Contains(full, string(r.ID)) {
				h.Free, h.Idle = model.Resource{}, model.Resource{}
			}
			if !slices.Contains(hosts, h.Name) {
				rack.Hosts = append(rack.Hosts, h)
			}
		}
		if len(rack.Hosts) > 0 {
			out.Racks = append(out.Racks, rack)
		}
	}
	return out
}

// key is a key of a MapReduce ApplicationMaster.
func key(priority int32) asks.Key { return asks.Key{Priority: priority, RequestID: -1} }

// row is a row of the application.
func row(priority int32, name string, count int32) asks.Row {
	return asks.Row{
		Key: key(priority), Name: name, Count: count, Relax: true, Capability: size(),
		Raw: fmt.Appendf(nil, "%d %s %d", priority, name, count),
	}
}

// mapReduce is the stage rule of MapReduce.
func mapReduce(k asks.Key, _ bool) (model.Stage, bool) {
	switch k.Priority {
	case model.PriorityMap, model.PriorityFailedMap:
		return model.StageMap, true
	case model.PriorityReduce:
		return model.StageReduce, true
	}
	return "", false
}

// limits are those of the tests, unless they say otherwise.
func limits() asks.Limits {
	return asks.Limits{
		PinDeadline: 60 * model.Second, TrimDeadline: 20 * model.Second, HoldMax: 30 * model.Second, WaitMax: 3 * model.Minute,
		WidenAfter: 5 * model.Second, FullAfter: 10 * model.Second, Spread: asks.SpreadPack,
	}
}

// on makes rack targets from names and counts.
func on(counts ...any) []model.RackTarget {
	var racks []model.RackTarget
	for i := 0; i < len(counts); i += 2 {
		racks = append(racks, model.RackTarget{Rack: model.RackID(counts[i].(string)), Count: counts[i+1].(int)})
	}
	return racks
}

// rig is a table with what it is told.
type rig struct {
	table  *asks.Table
	intent asks.Intent
	plans  map[model.Stage]asks.Target
	now    model.Time
	id     int32 // of the next call
	next   int64 // container
}

func newRig(l asks.Limits, s *asks.Site) *rig {
	r := &rig{table: asks.New(l), plans: map[model.Stage]asks.Target{}, next: 1}
	r.intent = asks.Intent{Site: s, Stage: mapReduce, Target: func(stage model.Stage) (asks.Target, bool) {
		t, planned := r.plans[stage]
		return t, planned
	}}
	return r
}

// ask makes a call a second after the last one.
func (r *rig) ask(rows ...asks.Row) {
	r.now = r.now.Add(model.Second)
	r.table.Request(r.now, &asks.Request{ResponseID: r.id, Rows: rows}, &r.intent)
	r.id++
}

// text prints an edit: a line for every key with its rows as they are sent (! strict, ' as the application sent
// it), then what was done.
func text(e asks.Edit) string {
	var b strings.Builder
	if e.Same {
		b.WriteString("as it came\n")
	}
	for i, row := range e.Rows {
		if i == 0 || e.Rows[i-1].Key != row.Key {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%d:", row.Priority)
		}
		fmt.Fprintf(&b, " %s=%d", row.Name, row.Count)
		if !row.Relax {
			b.WriteString("!")
		}
		if row.Verbatim {
			b.WriteString("'")
		}
	}
	if len(e.Rows) > 0 {
		b.WriteString("\n")
	}
	for _, s := range e.Steps {
		fmt.Fprintf(&b, "(%d %s:", s.Key.Priority, s.Stage)
		if s.Action != "" {
			fmt.Fprintf(&b, " %s", s.Action)
		}
		if s.Cause != "" {
			fmt.Fprintf(&b, " passed, %s", s.Cause)
		}
		b.WriteString(")\n")
	}
	return b.String()
}
