package asks_test

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/asks"
	"heddle/core/model"
)

// world is an application, a ResourceManager and two tables: one in use, and one
// that hears the same and looks at every key at every call.
type world struct {
	*rig
	t      *rapid.T
	limits asks.Limits
	base   *asks.Site
	twin   *asks.Table

	own     map[asks.Key]map[string]int32 // as the application last said, less what it was told of
	said    map[asks.Key]bool             // to be said again at the next call
	rm      map[asks.Key]map[string]asks.Row
	untold  []asks.Grant
	running []asks.ContainerID
	waits   map[asks.Key]model.Time // since when nothing was granted or taken back
	strict  map[asks.Key]model.Time // since when ANY is strict
	steered bool                    // an edit was made
}

// TestProperties: whatever is asked, granted, planned and lost.
func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limits()
		l.WaitMax = model.Duration(rapid.SampledFrom([]int{30, 60, 180}).Draw(t, "wait")) * model.Second
		l.Spread = rapid.SampledFrom([]asks.Spread{asks.SpreadPack, asks.SpreadEven}).Draw(t, "spread")
		base := site(3, 2, 2)
		w := &world{
			rig: newRig(l, base), t: t, limits: l, base: base, twin: asks.New(l),
			own: map[asks.Key]map[string]int32{}, said: map[asks.Key]bool{}, rm: map[asks.Key]map[string]asks.Row{},
			waits: map[asks.Key]model.Time{}, strict: map[asks.Key]model.Time{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"call":     func(t *rapid.T) { w.t = t; w.call() },
			"idle":     func(t *rapid.T) { w.t = t; w.call(); w.call(); w.call() },
			"reduces":  func(t *rapid.T) { w.t = t; w.reduces() },
			"maps":     func(t *rapid.T) { w.t = t; w.maps() },
			"schedule": func(t *rapid.T) { w.t = t; w.schedule() },
			"end":      func(t *rapid.T) { w.t = t; w.end() },
			"plan":     func(t *rapid.T) { w.t = t; w.plan() },
			"site":     func(t *rapid.T) { w.t = t; w.change() },
			"intent":   func(t *rapid.T) { w.t = t; w.mode() },
		})
	})
}

func (w *world) pick(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(w.t, "n") }

func (w *world) host() string { return fmt.Sprintf("w%d%d", w.pick(1, 3), w.pick(1, 2)) }

func (w *world) set(k asks.Key, name string, n int32) {
	if w.own[k] == nil {
		w.own[k] = map[string]int32{}
	}
	w.own[k][name] = max(0, n)
	w.said[k] = true
}

// reduces changes how many reduces, or maps that failed, are asked for.
func (w *world) reduces() {
	k := key(rapid.SampledFrom([]int32{model.PriorityReduce, model.PriorityReduce, model.PriorityFailedMap}).Draw(w.t, "priority"))
	n := int32(w.pick(0, 8))
	w.progress(k, n)
	w.set(k, model.AnyName, n)
}

// progress notes that an ask is new, or became smaller.
func (w *world) progress(k asks.Key, n int32) {
	if was := w.own[k][model.AnyName]; was == 0 || n < was {
		w.waits[k] = -1 // from the next call on
	}
}

// maps asks for another map, or takes all back.
func (w *world) maps() {
	k := key(model.PriorityMap)
	if w.pick(0, 9) == 0 {
		for name := range w.own[k] {
			w.set(k, name, 0)
		}
		return
	}
	w.progress(k, w.own[k][model.AnyName]+1)
	names := map[string]bool{model.AnyName: true}
	for range w.pick(0, 2) {
		h := w.host()
		names[h], names["/r"+h[1:2]] = true, true
	}
	for name := range names {
		w.set(k, name, w.own[k][name]+1)
	}
}

// schedule allocates on a host what the rows at the ResourceManager allow there.
func (w *world) schedule() {
	host := w.host()
	rack := "/r" + host[1:2]
	for _, k := range []asks.Key{key(model.PriorityFailedMap), key(model.PriorityReduce), key(model.PriorityMap)} {
		rows := w.rm[k]
		anyRow := rows[model.AnyName]
		names := []string{model.AnyName}
		switch {
		case anyRow.Count == 0:
			continue
		case rows[rack].Count > 0 && rows[host].Count > 0:
			names = append(names, rack, host)
		case rows[rack].Count > 0 && w.pick(0, 1) == 0:
			names = append(names, rack)
		case !anyRow.Relax:
			continue
		}
		for _, name := range names {
			r := rows[name]
			if r.Count--; r.Count == 0 {
				delete(rows, name)
			} else {
				rows[name] = r
			}
		}
		w.untold = append(w.untold, asks.Grant{ID: asks.ContainerID{Attempt: 1, ID: w.next}, Key: k, Host: host})
		w.next++
		return
	}
}

func (w *world) plan() {
	stage := rapid.SampledFrom([]model.Stage{model.StageMap, model.StageReduce}).Draw(w.t, "stage")
	if w.pick(0, 4) == 0 {
		delete(w.plans, stage)
		return
	}
	var target asks.Target
	for r := 1; r <= 4; r++ { // /r4 is unknown
		if w.pick(0, 1) == 0 {
			target.Racks = append(target.Racks, on(fmt.Sprintf("/r%d", r), w.pick(0, 6))...)
		}
	}
	if w.pick(0, 3) == 0 {
		target.Hold, target.Until = true, w.now.Add(model.Duration(w.pick(0, 60))*model.Second)
		target.MaxRunning = w.pick(0, 3) * w.pick(0, 4)
	}
	w.plans[stage] = target
}

// change changes the cluster.
func (w *world) change() {
	var lost, full []string
	for range w.pick(0, 3) {
		lost = append(lost, w.host())
	}
	for range w.pick(0, 2) {
		full = append(full, "/r"+w.host()[1:2])
	}
	w.intent.Site = without(w.base, lost, full)
}

// mode passes everything, only advises, or steers.
func (w *world) mode() {
	w.intent.Pass = rapid.SampledFrom([]model.PassCause{"", "", "", model.PassStale}).Draw(w.t, "pass")
	w.intent.Advise = w.pick(0, 4) == 0
}

// end ends a container.
func (w *world) end() {
	if len(w.running) == 0 {
		return
	}
	i := w.pick(0, len(w.running)-1)
	w.answer(asks.Response{Ended: []asks.Ended{{ID: w.running[i], ExitStatus: int32(w.pick(-1, 1))}}})
	w.running = slices.Delete(w.running, i, i+1)
}

// answer gives both tables an answer.
func (w *world) answer(a asks.Response) {
	w.id++
	a.ResponseID = w.id
	w.table.Response(w.now, &a, w.intent.Site)
	w.twin.Response(w.now, &a, w.intent.Site)
}

// call makes a call, now and then twice, and has the ResourceManager apply it.
func (w *world) call() {
	w.now = w.now.Add(model.Duration(w.pick(1, 15)) * model.Second)
	r := asks.Request{ResponseID: w.id, Rows: w.rows()}
	for k, since := range w.waits {
		if since < 0 {
			w.waits[k] = w.now
		}
	}
	e := w.bothTables(&r)
	first := w.now // a repetition changes nothing, the deadline neither
	if w.pick(0, 5) == 0 {
		w.now = w.now.Add(model.Second)
		if again := w.bothTables(&r); again.Same != e.Same || !reflect.DeepEqual(again.Rows, e.Rows) {
			w.t.Fatalf("a repetition is\n%sand was\n%s", text(again), text(e))
		}
	}
	w.t.Logf("%v: asks %s untold %v:\n%s", w.now, text(asks.Edit{Rows: r.Rows}), w.untold, text(e))
	w.check(&e, r.Rows)
	rows := e.Rows
	if e.Same {
		rows = r.Rows
	}
	w.apply(rows)
	w.checkKeys(first)
	w.checkProgress()
	room := size().Times(int64(w.pick(0, 2)))
	a := asks.Response{Granted: w.untold, Headroom: &room}
	for _, g := range w.untold {
		w.told(g)
	}
	w.untold = nil
	w.answer(a)
}

// bothTables puts a call to the two tables, which have to agree.
func (w *world) bothTables(r *asks.Request) asks.Edit {
	given := slices.Clone(r.Rows)
	e := w.table.Request(w.now, r, &w.intent)
	w.twin.LookAgain()
	got := w.twin.Request(w.now, &asks.Request{ResponseID: r.ResponseID, Rows: slices.Clone(given)}, &w.intent)
	if text(got) != text(e) || !reflect.DeepEqual(got.Rows, e.Rows) {
		w.t.Fatalf("one table says\n%sthe other\n%s", text(e), text(got))
	}
	if !reflect.DeepEqual(given, r.Rows) {
		w.t.Fatalf("the application's rows were written to")
	}
	e.Rows, e.Steps = slices.Clone(e.Rows), slices.Clone(e.Steps)
	return e
}

// rows are those the application says at a call.
func (w *world) rows() []asks.Row {
	var rows []asks.Row
	for _, k := range []asks.Key{key(model.PriorityMap), key(model.PriorityReduce), key(model.PriorityFailedMap)} {
		if !w.said[k] {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(w.own[k])) {
			rows = append(rows, row(k.Priority, name, w.own[k][name]))
			if w.own[k][name] == 0 {
				delete(w.own[k], name)
			}
		}
		delete(w.said, k)
	}
	return rows
}

// check holds an edit against what the application asks for.
func (w *world) check(e *asks.Edit, rows []asks.Row) {
	w.t.Helper()
	if e.Same {
		return
	}
	if !w.steered && (w.intent.Pass != "" || w.intent.Advise) {
		w.t.Fatalf("nothing was steered, and the call is\n%s", text(*e))
	}
	w.steered = true
	for _, r := range e.Rows {
		known := r.Name == model.AnyName || strings.HasPrefix(r.Name, "/") || w.base.RackOf[r.Name] != ""
		switch {
		case r.Count < 0 || !known || r.Key == asks.Key{}:
			w.t.Fatalf("a row %+v", r)
		case r.Verbatim && !slices.ContainsFunc(rows, func(o asks.Row) bool { return bytes.Equal(o.Raw, r.Raw) && o.Count == r.Count }):
			w.t.Fatalf("row %s is not the application's", r.Name)
		case r.Name == model.AnyName && r.Count > w.own[r.Key][model.AnyName]:
			w.t.Fatalf("%d are asked for, and the application waits for %d", r.Count, w.own[r.Key][model.AnyName])
		}
	}
}

// checkKeys holds what the tables say of their keys against the rows at the ResourceManager.
func (w *world) checkKeys(now model.Time) {
	w.t.Helper()
	for _, k := range w.table.Keys() {
		id := key(int32(k.Priority))
		rows := w.rm[id]
		r, asked := rows[model.AnyName]
		switch since, was := w.strict[id]; {
		case !asked || r.Relax:
			delete(w.strict, id)
		case !was:
			w.strict[id] = now
		case now.Sub(max(since, w.waits[id])) >= w.limits.WaitMax+w.limits.HoldMax:
			w.t.Fatalf("%v waits strictly for %v: %+v", id, now.Sub(since), k)
		}
		if r, asked := rows[model.AnyName]; asked && k.Action == "" && len(w.untold) == 0 && len(k.Asked) > 0 && r.Count != w.own[id][model.AnyName] {
			w.t.Fatalf("%v is passed, %d are asked for and the application waits for %d: %+v", id, r.Count, w.own[id][model.AnyName], k)
		}
		if k.Action == "" || w.intent.Advise {
			if r, asked := rows[model.AnyName]; asked && !r.Relax && len(k.Asked) > 0 {
				w.t.Fatalf("%v is passed and strict: %+v", id, k)
			}
			continue
		}
		w.checkSteered(&k, rows)
	}
}

// checkSteered: racks sum to ANY, hosts have their rack, and what the table
// believes to be at the ResourceManager is there.
func (w *world) checkSteered(k *model.RelayKey, rows map[string]asks.Row) {
	w.t.Helper()
	sums := map[model.RackID]int{}
	all, racks := 0, 0
	for _, r := range k.Sent {
		if _, there := rows[r.ResourceName]; !there && len(w.untold) == 0 {
			w.t.Fatalf("%s is believed to be asked for, and is not: %+v", r.ResourceName, k)
		}
		switch {
		case r.ResourceName == model.AnyName:
			all = r.Count
		case strings.HasPrefix(r.ResourceName, "/"):
			racks += r.Count
		default:
			sums[w.base.RackOf[r.ResourceName]] += r.Count
		}
	}
	if k.Action == model.ActionHold {
		w.checkHeld(k, all)
		return
	}
	if racks != all-k.Held {
		w.t.Fatalf("racks have %d, %s has %d: %+v", racks, model.AnyName, all, k)
	}
	for _, r := range k.Sent {
		if strings.HasPrefix(r.ResourceName, "/") && sums[model.RackID(r.ResourceName)] < r.Count && k.Action == model.ActionPin {
			w.t.Fatalf("hosts of %s have %d of %d: %+v", r.ResourceName, sums[model.RackID(r.ResourceName)], r.Count, k)
		}
	}
}

// checkHeld: of a key that is held and not tied to racks, none or fewer are asked for than the application waits for. There
// is one at least if no container runs, of the application or, of maps, of the stage.
func (w *world) checkHeld(k *model.RelayKey, all int) {
	w.t.Helper()
	waits := int(w.own[key(int32(k.Priority))][model.AnyName])
	strict := slices.ContainsFunc(k.Sent, func(r model.AskRow) bool { return r.ResourceName == model.AnyName && !r.RelaxLocality })
	if strict && (len(k.Sent) != 1 || all != waits) || !strict && all != waits-k.Held {
		w.t.Fatalf("%d of %d are held, and %d are asked for: %+v", k.Held, waits, all, k)
	}
}

// checkProgress: an application without a container has one asked for that may be granted, if it waits for any.
func (w *world) checkProgress() {
	w.t.Helper()
	if len(w.running)+len(w.untold) > 0 || w.intent.Advise {
		return
	}
	waits := 0
	for _, k := range w.table.Keys() {
		if len(k.Asked) == 0 {
			continue
		}
		if waits++; k.Held < int(w.own[key(int32(k.Priority))][model.AnyName]) {
			return
		}
	}
	if waits > 0 {
		w.t.Fatalf("nothing runs, and all that is waited for is held: %+v", w.table.Keys())
	}
}

// apply is what the ResourceManager does with rows.
func (w *world) apply(rows []asks.Row) {
	var dropped []asks.Key
	for _, r := range rows {
		if w.rm[r.Key] == nil {
			w.rm[r.Key] = map[string]asks.Row{}
		}
		if r.Count == 0 {
			delete(w.rm[r.Key], r.Name)
			if r.Name == model.AnyName {
				dropped = append(dropped, r.Key)
			}
		} else {
			w.rm[r.Key][r.Name] = r
		}
	}
	for _, k := range dropped {
		delete(w.rm, k)
	}
}

// told is what the application does with a container: it takes a task off its rows, and says so.
func (w *world) told(g asks.Grant) {
	w.running = append(w.running, g.ID)
	own := w.own[g.Key]
	if own[model.AnyName] == 0 {
		return // a surplus one
	}
	w.waits[g.Key] = w.now
	names := []string{model.AnyName}
	if rack := "/r" + g.Host[1:2]; own[rack] > 0 {
		names = append(names, rack)
		if own[g.Host] > 0 {
			names = append(names, g.Host)
		}
	}
	for _, name := range names {
		if w.pick(0, 9) > 0 || name == model.AnyName {
			w.set(g.Key, name, own[name]-1)
		}
	}
}
