package rmmodel

import (
	"math"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// Task is one task of an application, or one executor.
type Task struct {
	Stage    model.Stage
	Key      asks.Key
	Again    asks.Key       // where it is asked for after it failed: priority 5 for maps, without hosts
	Hosts    []string       // where its input is; none: any node will do
	Need     model.Resource // of all tasks of a key the same
	Runs     model.Duration
	Failures int        // how often it fails before it succeeds
	At       model.Time // not asked for before
	Labelled bool       // its ANY row carries a node label expression
}

// App is an application: its tasks in the order in which they are asked for.
type App struct {
	Tasks []Task
	// SlowStart is the fraction of maps that are done before reduces are asked for
	// (mapreduce.job.reduce.slowstart.completedmaps).
	SlowStart float64
	// Lag: the application takes its own count back only after its next call, as an AMRMClientAsync
	// may whose callback handler runs behind.
	Lag bool
	// Rebuild: a call that was not answered is made again with what changed meanwhile, as AMRMClientImpl.allocate and
	// RMContainerRequestor.makeRemoteRequest do when their retry proxy has given up; else it is repeated as it was.
	Rebuild bool
}

type taskState uint8

const (
	waiting taskState = iota // not asked for
	asked
	running
	failed // its process ended, and the ResourceManager has not said so yet
	done
)

// task is a task on its way.
type task struct {
	Task
	state     taskState
	at        asks.Key // where it is asked for
	names     []string // the rows it is in
	container asks.ContainerID
	host      string
	ends      model.Time
}

// AM is the ApplicationMaster of an App. It knows nothing of any relay. It is
// not safe for concurrent use.
type AM struct {
	app      App
	rackOf   func(host string) model.RackID // its own resolver (net.topology.*)
	tasks    []*task
	own      *ownRows
	late     []*task // matched, still to be taken off the own rows
	last     int32   // response id
	release  []asks.ContainerID
	unended  map[asks.ContainerID]bool // released, and not reported as ended yet
	refused  map[string]bool           // hosts and racks
	add, sub []string                  // changes of refused, for the next call
	surplus  int
}

// NewAM returns the ApplicationMaster of an application that has registered.
func NewAM(app App, rackOf func(host string) model.RackID) *AM {
	am := &AM{
		app: app, rackOf: rackOf, own: newOwnRows(), unended: map[asks.ContainerID]bool{}, refused: map[string]bool{},
	}
	for _, t := range app.Tasks {
		am.tasks = append(am.tasks, &task{Task: t, at: t.Key})
	}
	return am
}

// Next returns the next allocate call. When it is not answered, the same call is
// made again (the retry proxy of the real one holds it), or what Rebuild returns.
func (am *AM) Next(now model.Time) *asks.Request {
	am.askDue(now)
	r := &asks.Request{
		ResponseID: am.last, Rows: am.own.changed(), Releases: am.release, BlacklistAdd: am.add, BlacklistRemove: am.sub,
	}
	am.release, am.add, am.sub = nil, nil, nil
	for _, t := range am.late {
		am.own.remove(t.at, t.names)
	}
	am.late = nil
	return r
}

// Rebuild returns a call that was not answered with what changed since. A
// ResourceManager that has applied the first one ignores the second, and a real
// application loses what is new in it. This one sends it once more with the next
// call, so that only the relay can lose anything.
func (am *AM) Rebuild(now model.Time, held *asks.Request) *asks.Request {
	r := am.Next(now)
	am.release, am.add, am.sub = slices.Clone(r.Releases), slices.Clone(r.BlacklistAdd), slices.Clone(r.BlacklistRemove)
	newer := map[asks.Key]map[string]bool{}
	for _, row := range r.Rows {
		am.own.touch(row.Key, row.Name)
		if newer[row.Key] == nil {
			newer[row.Key] = map[string]bool{}
		}
		newer[row.Key][row.Name] = true
	}
	for _, row := range held.Rows {
		if !newer[row.Key][row.Name] {
			r.Rows = append(r.Rows, row)
		}
	}
	r.Releases = append(slices.Clone(held.Releases), r.Releases...)
	r.BlacklistAdd = append(slices.Clone(held.BlacklistAdd), r.BlacklistAdd...)
	r.BlacklistRemove = append(slices.Clone(held.BlacklistRemove), r.BlacklistRemove...)
	return r
}

// askDue asks for the tasks whose time has come: reduces once enough maps are
// done, all of them when no map waits, else as many as maps are done
// (RMContainerAllocator.scheduleReduces, without headroom).
func (am *AM) askDue(now model.Time) {
	maps, doneMaps, waitingMaps, reduces, askedReduces := countTasks(am.tasks)
	ready := doneMaps >= int(math.Ceil(am.app.SlowStart*float64(maps)))
	allowed := reduces
	if waitingMaps > 0 {
		allowed = reduces * doneMaps / maps
	}
	for _, t := range am.tasks {
		if t.state != waiting || t.At > now {
			continue
		}
		if t.Stage == model.StageReduce {
			if !ready || askedReduces >= allowed {
				continue
			}
			askedReduces++
		}
		am.ask(t)
	}
}

// countTasks returns the maps there are, are done and wait for a container, and the
// reduces there are and were asked for.
func countTasks(tasks []*task) (maps, doneMaps, waitingMaps, reduces, askedReduces int) { //nolint:revive // five counts of one loop
	for _, t := range tasks {
		switch t.Stage {
		case model.StageReduce:
			reduces++
			if t.state != waiting {
				askedReduces++
			}
		case model.StageMap:
			maps++
			switch t.state {
			case done:
				doneMaps++
			case asked:
				waitingMaps++
			default:
			}
		default:
		}
	}
	return maps, doneMaps, waitingMaps, reduces, askedReduces
}

// ask puts a task into the own rows: its hosts, their racks, ANY.
func (am *AM) ask(t *task) {
	t.state = asked
	t.names = nil
	if t.at == t.Key {
		t.names = am.places(t.Hosts)
	}
	t.names = append(t.names, model.AnyName)
	am.own.add(t.at, t.names, t.Task)
}

// places are the rows of hosts: those that are not refused, and every rack.
func (am *AM) places(hosts []string) []string {
	var places, racks []string
	for _, host := range hosts {
		if !am.refused[host] {
			places = append(places, host)
		}
		if rack := string(am.rackOf(host)); !slices.Contains(racks, rack) {
			racks = append(racks, rack)
		}
	}
	return append(places, racks...)
}

// Answer takes the answer to the last call.
func (am *AM) Answer(now model.Time, r *asks.Response) {
	am.last = r.ResponseID
	for _, e := range r.Ended {
		delete(am.unended, e.ID)
		for _, t := range am.tasks {
			if t.container != e.ID || t.state != running && t.state != failed {
				continue
			}
			if t.state == failed && t.Again != (asks.Key{}) {
				t.at = t.Again
			}
			am.ask(t)
		}
	}
	for _, g := range r.Granted {
		am.assign(now, g)
	}
}

// assign gives a container to the first task that is asked for there: one with
// input on the host, else on the rack, else any (ScheduledRequests.assign). What
// no task waits for is released, and what is on a refused host is replaced.
func (am *AM) assign(now model.Time, g asks.Grant) {
	t := am.match(g)
	if t == nil {
		am.surplus++
		am.giveBack(g.ID)
		return
	}
	if am.refused[g.Host] || am.refused[string(am.rackOf(g.Host))] {
		am.giveBack(g.ID)
		am.own.remove(t.at, t.names)
		am.ask(t)
		return
	}
	t.state, t.container, t.host, t.ends = running, g.ID, g.Host, now.Add(t.Runs)
	if am.app.Lag {
		am.late = append(am.late, t)
	} else {
		am.own.remove(t.at, t.names)
	}
}

func (am *AM) match(g asks.Grant) *task {
	var onRack, first *task
	for _, t := range am.tasks {
		if t.state != asked || t.at != g.Key {
			continue
		}
		sameRack := func(host string) bool { return am.rackOf(host) == am.rackOf(g.Host) }
		switch {
		case slices.Contains(t.Hosts, g.Host):
			return t
		case onRack == nil && slices.ContainsFunc(t.Hosts, sameRack):
			onRack = t
		case first == nil:
			first = t
		}
	}
	if onRack != nil {
		return onRack
	}
	return first
}

func (am *AM) giveBack(id asks.ContainerID) {
	am.release = append(am.release, id)
	am.unended[id] = true
}

// Exits ends the processes whose time is over. The application learns of a
// success at once, of a failure when the ResourceManager reports the container.
func (am *AM) Exits(now model.Time) []asks.Ended {
	var ended []asks.Ended
	for _, t := range am.tasks {
		if t.state != running || t.ends > now {
			continue
		}
		e := asks.Ended{ID: t.container}
		t.state = done
		if t.Failures > 0 {
			t.Failures--
			t.state, e.ExitStatus = failed, 1
		}
		ended = append(ended, e)
	}
	return ended
}

// Resync has everything said again to a ResourceManager that knows nothing:
// rows, releases, refused places (addOutstandingRequestOnResync).
func (am *AM) Resync() {
	am.last = 0
	am.own.touchAll()
	am.release, am.add, am.sub = nil, nil, nil
	for id := range am.unended { // any order: a set of releases
		am.release = append(am.release, id)
	}
	slices.SortFunc(am.release, func(a, b asks.ContainerID) int { return int(a.ID - b.ID) })
	for place := range am.refused { // any order: a set of places
		am.add = append(am.add, place)
	}
	slices.Sort(am.add)
}

// Refuse has the application refuse a host or a rack from now on.
func (am *AM) Refuse(place string) {
	if am.refused[place] {
		return
	}
	am.refused[place] = true
	am.add = append(am.add, place)
	if am.rackOf(place) != "" { // rows of racks stay
		am.own.drop(place)
	}
}

// Accept ends a refusal.
func (am *AM) Accept(place string) {
	if am.refused[place] {
		delete(am.refused, place)
		am.sub = append(am.sub, place)
	}
}

// Withdraw takes back what is asked for a stage, until a moment: what MapReduce
// does with reduces when maps have to run again (clearAllPendingReduceRequests),
// and Spark when a stage needs fewer executors.
func (am *AM) Withdraw(stage model.Stage, until model.Time) {
	for _, t := range am.tasks {
		if t.Stage == stage && t.state == asked {
			am.own.remove(t.at, t.names)
			t.state, t.At = waiting, until
		}
	}
}

// Done reports whether every task succeeded.
func (am *AM) Done() bool {
	return !slices.ContainsFunc(am.tasks, func(t *task) bool { return t.state != done })
}

// Left counts the tasks that have not succeeded.
func (am *AM) Left() int {
	left := 0
	for _, t := range am.tasks {
		if t.state != done {
			left++
		}
	}
	return left
}

// ByRack counts the tasks that succeeded by stage and rack.
func (am *AM) ByRack() map[model.Stage]map[model.RackID]int {
	counts := map[model.Stage]map[model.RackID]int{}
	for _, t := range am.tasks {
		if t.state != done {
			continue
		}
		if counts[t.Stage] == nil {
			counts[t.Stage] = map[model.RackID]int{}
		}
		counts[t.Stage][am.rackOf(t.host)]++
	}
	return counts
}

// Outstanding counts the tasks that are asked for at a key.
func (am *AM) Outstanding(key asks.Key) int {
	count := 0
	for _, t := range am.tasks {
		if t.state == asked && t.at == key {
			count++
		}
	}
	return count
}

// Holds reports whether a container is one that a task runs in.
func (am *AM) Holds(id asks.ContainerID) bool {
	return slices.ContainsFunc(am.tasks, func(t *task) bool { return t.container == id && t.state == running })
}

// Surplus counts the containers that were released because no task waited for them.
func (am *AM) Surplus() int { return am.surplus }
