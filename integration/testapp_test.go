//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/rm"
)

// nodeHeartbeats is after how long all nodes have sent a heartbeat: they do each second.
const nodeHeartbeats = 2 * time.Second

// testApp is an unmanaged application of a test, and what it was granted.
type testApp struct {
	*unmanaged.AM
	t         *testing.T
	c         *hadoop.Cluster
	address   string // where its calls go
	requestID int64  // allocation request id of its asks, -1 is none
	size      int64  // MiB of each of its containers: what half a node has, or with FairScheduler, which rounds up, a whole
	slots     int    // containers of a rack
	seen      map[wire.ContainerID]bool
	held      []wire.ContainerID
	lastGrant *unmanaged.Answer // the last that granted something
}

// newTestApp submits and registers an application of a type.
func newTestApp(t *testing.T, c *hadoop.Cluster, s hadoop.Scheduler, kind, address string) *testApp {
	t.Helper()
	if s == hadoop.Fair {
		a := newQueuedApp(t, c, "root.default", kind, address)
		a.size, a.slots = 1024, perRack
		return a
	}
	return newQueuedApp(t, c, "default", kind, address)
}

// newQueuedApp submits and registers an application of a type in a queue.
func newQueuedApp(t *testing.T, c *hadoop.Cluster, queue, kind, address string) *testApp {
	t.Helper()
	ctx := withTimeout(t, time.Minute)
	o := unmanaged.Options{Web: c.RMURL(), Client: "master:8032", User: "root", Queue: queue, Type: kind, Name: t.Name()}
	a := &testApp{t: t, c: c, address: address, requestID: -1, size: 512, slots: 2 * perRack, seen: map[wire.ContainerID]bool{}}
	am, err := unmanaged.Submit(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	a.AM = am
	a.connect()
	if err := a.Register(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.end)
	return a
}

// connect goes to the application's scheduler address on a new connection, as
// often as it takes for one to stand.
func (a *testApp) connect() {
	a.t.Helper()
	eventually(a.t, 20*time.Second, "a connection to "+a.address, func(ctx context.Context) error { return a.Connect(ctx, a.address) })
}

// end finishes the application at the ResourceManager itself, which frees its containers.
func (a *testApp) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := errors.Join(a.Connect(ctx, rmScheduler), a.Finish(ctx)); err != nil {
		a.t.Errorf("finish %s: %v", a.ID, err)
	}
}

// rmScheduler is the ResourceManager's own scheduler address.
const rmScheduler = "master:8030"

// grant is a container that was granted.
type grant struct {
	id   wire.ContainerID
	key  asks.Key
	host string
}

// call makes an allocate call and returns what is granted for the first time.
// When the connection is gone, it makes the same call again on a new one.
func (a *testApp) call(c unmanaged.Call) []grant {
	a.t.Helper()
	answer, err := a.Allocate(withTimeout(a.t, 20*time.Second), c)
	if err != nil && a.address != rmScheduler {
		a.t.Logf("%s: once more after %v", a.ID, err)
		return a.repeatCall()
	}
	if err != nil {
		a.t.Fatalf("%s: %v", a.ID, err)
	}
	return a.recordGrants(answer)
}

// repeatCall makes the last call again, on a new connection.
func (a *testApp) repeatCall() []grant {
	a.t.Helper()
	a.connect()
	answer, err := a.Repeat(withTimeout(a.t, 20*time.Second))
	if err != nil {
		a.t.Fatalf("%s: %v", a.ID, err)
	}
	return a.recordGrants(answer)
}

func (a *testApp) recordGrants(answer *unmanaged.Answer) (fresh []grant) {
	for i := range answer.Allocated {
		g := &answer.Allocated[i]
		if a.seen[g.ID] {
			continue
		}
		a.lastGrant = answer
		a.seen[g.ID] = true
		a.held = append(a.held, g.ID)
		fresh = append(fresh, grant{g.ID, asks.Key{Priority: g.Priority, RequestID: g.RequestID}, string(g.Host)})
	}
	return fresh
}

// ask sends rows, written as "10: w11=2 /rack1=2 *=2!": the priority, which is 10 by
// default, and names with counts. An exclamation mark means relaxLocality=false.
func (a *testApp) ask(text string) []grant {
	a.t.Helper()
	return a.call(unmanaged.Call{Rows: a.rows(text)})
}

func (a *testApp) rows(text string) []wire.NewRow {
	a.t.Helper()
	priority := 10
	if p, rest, ok := strings.Cut(text, ": "); ok {
		priority, _ = strconv.Atoi(p)
		text = rest
	}
	// N fill a rack; M are one less, H half of them.
	counts := map[string]int{"N": a.slots, "M": a.slots - 1, "H": a.slots / 2}
	var rows []wire.NewRow
	for field := range strings.FieldsSeq(text) {
		name, count, _ := strings.Cut(field, "=")
		number, strict := strings.CutSuffix(count, "!")
		n, known := counts[number]
		if !known {
			var err error
			if n, err = strconv.Atoi(number); err != nil {
				a.t.Fatalf("%s in %q is no count", number, text)
			}
		}
		rows = append(rows, wire.NewRow{
			Priority: int32(priority), RequestID: a.requestID, Name: name, Count: int32(n), Relax: !strict, Memory: a.size, VCores: 1,
		})
	}
	return rows
}

// callUntilGranted makes empty calls until so many containers are granted in all, got
// among them, or time is up.
func (a *testApp) callUntilGranted(got []grant, n int, patience time.Duration) []grant {
	a.t.Helper()
	for end := time.Now().Add(patience); len(got) < n && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
		got = append(got, a.call(unmanaged.Call{})...)
	}
	return got
}

// releaseAll releases every container, and returns new grants.
func (a *testApp) releaseAll() []grant {
	a.t.Helper()
	held := a.held
	a.held = nil
	return a.call(unmanaged.Call{Release: held})
}

// pending is the asks that the ResourceManager shows over REST.
func (a *testApp) pending(ctx context.Context) ([]model.AskRow, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.c.RMURL()+"/ws/v1/cluster/apps/"+a.ID, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	_, fact, err := rm.DecodeApp(body)
	return fact.Rows, err
}

// outstanding counts what rows ask for: their ANY. Rows of hosts and racks that
// are left over when ANY is used up stay, and mean nothing until ANY comes back.
func outstanding(rows []model.AskRow) (n int) {
	for _, r := range rows {
		if r.ResourceName == wire.Any {
			n += r.Count
		}
	}
	return n
}

// waitReleased waits until the application holds no container and asks for none.
func (a *testApp) waitReleased() {
	a.t.Helper()
	eventually(a.t, 10*time.Second, a.ID+" holds nothing and asks for nothing", func(ctx context.Context) error {
		rows, err := a.pending(ctx)
		if err != nil {
			return err
		}
		var answer struct {
			App struct{ RunningContainers, AllocatedMB int }
		}
		if err := a.c.GetJSON(ctx, a.c.RMURL()+"/ws/v1/cluster/apps/"+a.ID, &answer); err != nil {
			return err
		}
		if app := answer.App; app.RunningContainers > 0 || app.AllocatedMB > 0 || outstanding(rows) > 0 {
			return fmt.Errorf("%+v, asks %v", app, rows)
		}
		return nil
	})
}

// byRack counts grants by rack.
func (a *testApp) byRack(got []grant) map[string]int {
	racks := map[string]int{}
	for _, g := range got {
		racks[a.c.RackOf(g.host)]++
	}
	return racks
}
