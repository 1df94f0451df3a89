package rm_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/core/model"
)

// step is one recorded round of a real cluster: the parsed answers by path.
type step struct {
	TMS     int64                      `json:"t_ms"`
	Answers map[string]json.RawMessage `json:"answers"`
}

func steps(t *testing.T) []step {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "sequence.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zr, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 4<<20)
	var out []step
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := lines.Err(); err != nil || len(out) != 12 {
		t.Fatalf("%d rounds, error %v", len(out), err)
	}
	return out
}

// serve makes the fake answer as the recorded round did.
func (f *fakeRM) serve(s step) {
	f.broken["/ws/v1/cluster/apps"] = func(w http.ResponseWriter, r *http.Request) {
		var doc struct {
			Apps struct {
				App []map[string]any `json:"app"`
			} `json:"apps"`
		}
		if err := json.Unmarshal(s.Answers["/ws/v1/cluster/apps"], &doc); err != nil {
			f.tb.Error(err)
		}
		states := strings.Split(r.URL.Query().Get("states"), ",")
		doc.Apps.App = slices.DeleteFunc(doc.Apps.App, func(a map[string]any) bool { return !slices.Contains(states, a["state"].(string)) })
		body, _ := json.Marshal(doc)
		writeJSON(w, string(body))
	}
	for _, prefix := range []string{"/ws/v1/cluster/nodes", "/ws/v1/cluster/scheduler"} {
		f.broken[prefix] = answerWith(http.StatusOK, "application/json", string(s.Answers[prefix]))
	}
	var listed struct {
		Apps struct {
			App []json.RawMessage `json:"app"`
		} `json:"apps"`
	}
	if err := json.Unmarshal(s.Answers["/ws/v1/cluster/apps"], &listed); err != nil {
		f.tb.Error(err)
	}
	for _, raw := range listed.Apps.App { // the recording has running applications in the list alone
		var app struct{ ID string }
		if err := json.Unmarshal(raw, &app); err != nil {
			f.tb.Error(err)
		}
		f.broken["/ws/v1/cluster/apps/"+app.ID] = answerWith(http.StatusOK, "application/json", `{"app":`+string(raw)+`}`)
	}
	for path, body := range s.Answers {
		if strings.HasPrefix(path, "/ws/v1/cluster/apps/") {
			f.broken[path] = answerWith(http.StatusOK, "application/json", string(body))
		}
	}
}

// lists are the newest lists of nodes and applications, put together from whole and partial ones.
type lists struct {
	nodes map[model.NodeID]model.Node
	apps  map[model.AppID]model.App
}

func newLists() *lists {
	return &lists{nodes: map[model.NodeID]model.Node{}, apps: map[model.AppID]model.App{}}
}

func (l *lists) apply(facts []model.Observation) {
	for id, a := range l.apps { // order-free: each on its own
		if a.State.Final() {
			delete(l.apps, id)
		}
	}
	for _, f := range only[model.NodesFact](facts) {
		if !f.Partial {
			clear(l.nodes)
		}
		for _, n := range f.Nodes {
			l.nodes[n.ID] = n
		}
	}
	for _, f := range only[model.AppsFact](facts) {
		if !f.Partial {
			clear(l.apps)
		}
		for _, a := range f.Apps {
			l.apps[a.ID] = a
		}
	}
}

// listed returns the applications that have not ended by id, then those that have.
func (l *lists) listed() []model.App {
	return slices.SortedFunc(maps.Values(l.apps), func(a, b model.App) int {
		if a.State.Final() != b.State.Final() {
			if a.State.Final() {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.ID, b.ID)
	})
}

// TestRecordedSequence polls a recorded cluster while three jobs come and go.
func TestRecordedSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		recording := steps(t)
		f.change(func() { f.serve(recording[0]) })
		p := start(t, f, nil)
		synctest.Wait()
		var summary []string
		lastState := map[model.AppID]model.AppState{}
		known := newLists()
		for i, s := range recording {
			if i > 0 {
				known.apply(p.take())
				f.change(func() { clear(f.broken); f.serve(s) })
				settle(time.Second)
			}
			facts := p.take()
			line := []string{fmt.Sprintf("%d:", s.TMS)}
			known.apply(facts)
			onNodes, inApps := 0, 0
			for _, n := range known.nodes { // order-free: a sum
				onNodes += n.Containers
			}
			for _, a := range known.listed() {
				lastState[a.ID] = a.State
				if !a.State.Final() {
					inApps += a.Containers
				}
				line = append(line, fmt.Sprintf("%s=%s", a.ID[len(a.ID)-4:], a.State))
			}
			for _, a := range only[model.AsksFact](facts) {
				maps, reduces := 0, 0
				for _, row := range a.Rows {
					if row.ResourceName == model.AnyName && row.Priority == model.PriorityMap {
						maps += row.Count
					}
					if row.ResourceName == model.AnyName && row.Priority == model.PriorityReduce {
						reduces += row.Count
					}
				}
				line = append(line, fmt.Sprintf("asks(%s)=%dm+%dr", a.App[len(a.App)-4:], maps, reduces))
			}
			for _, c := range only[model.ContainersFact](facts) {
				byPriority := map[int]int{}
				for _, one := range c.Containers {
					byPriority[one.Priority]++
				}
				line = append(line, fmt.Sprintf("containers(%s)=%v", c.App[len(c.App)-4:], byPriority))
			}
			if got := only[model.PollFact](facts)[0]; got.Result != model.PollOK {
				t.Errorf("%d: %+v", s.TMS, got)
			}
			if diff := onNodes - inApps; diff < -2 || diff > 2 {
				t.Errorf("%d: %d containers on the nodes, %d of the applications", s.TMS, onNodes, inApps)
			}
			summary = append(summary, strings.Join(line, " "))
		}
		golden(t, "sequence", summary)
		for _, id := range []model.AppID{"application_1795215638925_0054", "application_1795215638925_0055", "application_1795215638925_0056"} {
			if lastState[id] != model.AppFinished {
				t.Errorf("%s was last seen %s", id, lastState[id])
			}
		}
	})
}
