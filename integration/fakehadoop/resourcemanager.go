package fakehadoop

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// listPath is how the list of applications was asked for when it was recorded.
const listPath = "/ws/v1/cluster/apps?applicationTags=rec3"

const clusterPath = "/ws/v1/cluster"

func (s *Site) resourceManager(r *http.Request) Answer {
	path := r.URL.Path
	switch {
	case path == clusterPath+"/info":
		return jsonAnswer(http.StatusOK, s.tape.file("rm-info.json"))
	case path == clusterPath+"/nodes", path == clusterPath+"/scheduler":
		m, _ := s.tape.from(path, s.now.Load())
		return jsonAnswer(http.StatusOK, m.body)
	case path == clusterPath+"/apps":
		return s.list(r)
	case strings.HasPrefix(path, clusterPath+"/apps/"):
		return s.application(path)
	case strings.HasPrefix(path, "/proxy/"):
		return s.proxy(path)
	case path == "/jmx": // the queue that was recorded stands for root
		return jsonAnswer(http.StatusOK, strings.Replace(s.tape.file("rm-queue-metrics.json"), `"root.default"`, `"root"`, 1))
	}
	return Answer{Status: http.StatusNotFound, Type: "text/html", Body: "<html>Not Found</html>"}
}

// app is an application as the recorded list holds it.
type app struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Finished int64  `json:"finishedTime"`
	raw      json.RawMessage
}

// apps returns the applications listed now, and since when.
func (s *Site) apps() ([]app, int64) {
	m, _ := s.tape.from(listPath, s.now.Load())
	var doc struct {
		Apps struct {
			App []json.RawMessage `json:"app"`
		} `json:"apps"`
	}
	if err := json.Unmarshal([]byte(m.body), &doc); err != nil {
		panic(err) // the tape is broken
	}
	list := make([]app, len(doc.Apps.App))
	for i, raw := range doc.Apps.App {
		if err := json.Unmarshal(raw, &list[i]); err != nil {
			panic(err)
		}
		list[i].raw = raw
	}
	return list, m.at
}

// state returns the state of an application now, "" before it was submitted.
func (s *Site) state(id string) string {
	list, _ := s.apps()
	for _, a := range list {
		if a.ID == id {
			return a.State
		}
	}
	return ""
}

func (s *Site) list(r *http.Request) Answer {
	q := r.URL.Query()
	states := strings.Split(q.Get("states"), ",")
	since, _ := strconv.ParseInt(q.Get("finishedTimeBegin"), 10, 64)
	var kept []string
	all, _ := s.apps()
	for _, a := range all {
		if (q.Get("states") == "" || slices.Contains(states, a.State)) && a.Finished >= since {
			kept = append(kept, without(a.raw, q.Get("deSelects")))
		}
	}
	if len(kept) == 0 {
		return jsonAnswer(http.StatusOK, `{"apps":{}}`)
	}
	return jsonAnswer(http.StatusOK, `{"apps":{"app":[`+strings.Join(kept, ",")+`]}}`)
}

// without leaves out of an application what deSelects names. As Hadoop does,
// it leaves nothing of it but the name's absence.
func without(raw json.RawMessage, deSelects string) string {
	if deSelects == "" {
		return string(raw)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		panic(err)
	}
	for name := range strings.SplitSeq(deSelects, ",") {
		delete(fields, name)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// application answers what lies under one application.
func (s *Site) application(path string) Answer {
	id, below, _ := strings.Cut(strings.TrimPrefix(path, clusterPath+"/apps/"), "/")
	list, listed := s.apps()
	i := slices.IndexFunc(list, func(a app) bool { return a.ID == id })
	if i < 0 {
		return jsonAnswer(http.StatusNotFound, s.tape.file("rm-unknown-404.json"))
	}
	m, ok := s.tape.until(path, s.now.Load())
	if below == "" && (!ok || m.at < listed) { // while it ran, the list alone was recorded
		return jsonAnswer(http.StatusOK, `{"app":`+string(list[i].raw)+`}`)
	}
	if !ok {
		return jsonAnswer(http.StatusOK, `{}`)
	}
	return jsonAnswer(http.StatusOK, m.body)
}
