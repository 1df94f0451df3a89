package fakehadoop

import (
	"encoding/json"
	"net/http"
	"strings"
)

// proxy answers for the ApplicationMaster of a running application, and as the
// web proxy does for one that has none.
func (s *Site) proxy(path string) Answer {
	id, below, _ := strings.Cut(strings.TrimPrefix(path, "/proxy/"), "/")
	job := strings.Replace(id, "application", "job", 1)
	switch s.state(id) {
	case "":
		return Answer{Status: http.StatusNotFound, Type: "text/html", Body: "<html>Not Found</html>"}
	case "RUNNING":
		rest, ok := strings.CutPrefix(below, "ws/v1/mapreduce/jobs/"+job)
		if !ok {
			return jsonAnswer(http.StatusNotFound, s.tape.file("am-unknown-404.json"))
		}
		return jsonAnswer(http.StatusOK, s.master(path, job, strings.TrimPrefix(rest, "/")))
	case "FINISHED":
		page := strings.ReplaceAll(s.tape.file("am-redirect.html"), "job_1795215638925_0021", job)
		return redirect(http.StatusFound, s.History.URL+"/jobhistory/job/"+job+"/ws/v1/mapreduce/jobs", page)
	}
	return redirect(http.StatusFound, s.RM.URL+"/cluster/app/"+id, "")
}

// master answers for an ApplicationMaster. Of running attempts only those of
// reduces were recorded: the others are told as they were at their end, with
// the end left out.
func (s *Site) master(path, job, below string) string {
	now := s.now.Load()
	if below == "conf" {
		return s.tape.conf[job]
	}
	parts := strings.Split(below, "/")
	switch len(parts) {
	case 3: // tasks/TASK/attempts
		return s.attempts(path, job, parts[1])
	case 5: // tasks/TASK/attempts/ATTEMPT/counters
		body := `{"jobTaskAttemptCounters":{"id":"` + parts[3] + `"}}`
		if m, ok := s.tape.from(path, now); ok && s.task(path, parts[1]).State == "SUCCEEDED" {
			body = m.body
		}
		return body
	}
	if below == "counters" {
		m, ok := s.tape.until(path, now)
		if !ok {
			return `{"jobCounters":{"id":"` + job + `"}}`
		}
		return m.body
	}
	m, _ := s.tape.from(path, now)
	return m.body
}

// taskState is what the list of tasks says of a task now.
type taskState struct {
	ID       string  `json:"id"`
	State    string  `json:"state"`
	Progress float64 `json:"progress"`
}

// task returns a task of the list above a path.
func (s *Site) task(path, id string) taskState {
	m, _ := s.tape.from(path[:strings.Index(path, "/tasks")]+"/tasks", s.now.Load())
	var doc struct {
		Tasks struct {
			Task []taskState `json:"task"`
		} `json:"tasks"`
	}
	_ = json.Unmarshal([]byte(m.body), &doc) // an empty list
	for _, t := range doc.Tasks.Task {
		if t.ID == id {
			return t
		}
	}
	return taskState{}
}

func (s *Site) attempts(path, job, task string) string {
	t := s.task(path, task)
	m, recorded := s.tape.until(path, s.now.Load())
	if recorded {
		return m.body
	}
	body := s.tape.history["/ws/v1/history/mapreduce/jobs/"+job+"/tasks/"+task+"/attempts"]
	if m, ok := s.tape.from(path, s.now.Load()); ok {
		body = m.body
	}
	if body == "" {
		return `{"taskAttempts":{}}`
	}
	if t.State == "SUCCEEDED" {
		return body
	}
	var doc struct {
		Attempts struct {
			Attempt []map[string]any `json:"taskAttempt"`
		} `json:"taskAttempts"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		panic(err) // the tape is broken
	}
	for _, a := range doc.Attempts.Attempt {
		a["state"], a["progress"], a["finishTime"] = t.State, t.Progress, 0
		if t.State != "RUNNING" {
			delete(a, "rack")
			delete(a, "nodeHttpAddress")
			delete(a, "assignedContainerId")
		}
	}
	out, err := json.Marshal(map[string]any{"taskAttempts": doc.Attempts})
	if err != nil {
		panic(err)
	}
	return string(out)
}

// historyServer answers for the JobHistory server, which knows a job once it
// has ended.
func (s *Site) historyServer(r *http.Request) Answer {
	if r.URL.Path == "/ws/v1/history/info" {
		return jsonAnswer(http.StatusOK, s.tape.file("jhs-info.json"))
	}
	job, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/ws/v1/history/mapreduce/jobs/"), "/")
	body, ok := s.tape.history[r.URL.Path]
	if below == "conf" {
		_, ok = s.tape.history["/ws/v1/history/mapreduce/jobs/"+job]
		body = s.tape.conf[job]
	}
	if !ok || s.state(strings.Replace(job, "job", "application", 1)) != "FINISHED" {
		return jsonAnswer(http.StatusNotFound, strings.Replace(s.tape.file("jhs-unknown-404.json"), "job_1_0001", job, 1))
	}
	return jsonAnswer(http.StatusOK, body)
}
