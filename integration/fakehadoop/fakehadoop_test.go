package fakehadoop

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get fetches without following redirects, on a connection of its own.
func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func body(t *testing.T, url string) string {
	t.Helper()
	resp, b, err := get(t, url)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %+v, error %v", url, resp, err)
	}
	return b
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRecordedBytes asks for every recorded answer at its moment.
func TestRecordedBytes(t *testing.T) {
	t.Parallel()
	s := Start(t)
	f, err := os.Open(filepath.Join("testdata", "sequence.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 4<<20)
	compared := 0
	for in.Scan() {
		var l struct {
			TMS  int64           `json:"t_ms"`
			Path string          `json:"path"`
			Body json.RawMessage `json:"body"`
		}
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		s.At(time.Duration(l.TMS) * time.Millisecond)
		path := strings.TrimSuffix(l.Path, "?applicationTags=rec3")
		if id, ok := strings.CutPrefix(path, "/proxy/"); ok && s.state(id[:len(TeraSort)]) != "RUNNING" {
			continue // read between the list of one round and that of the next
		}
		if got := body(t, s.RM.URL+path); got != string(l.Body) {
			t.Fatalf("%d ms: %s\n got %.300s\nwant %.300s", l.TMS, l.Path, got, l.Body)
		}
		compared++
	}
	if err := in.Err(); err != nil || compared < 600 {
		t.Errorf("%d answers compared, error %v", compared, err)
	}
}

func TestSingleAnswers(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(recorded(t, "SHA256SUMS")) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256([]byte(recorded(t, name))); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not what was recorded", name)
		}
	}
	s := Start(t)
	for path, name := range map[string]string{
		"/webhdfs/v1/data/tg2?op=LISTSTATUS_BATCH":                   "nn-listing-tg2.json",
		"/webhdfs/v1/data/tg2/part-m-00000?op=GETFILEBLOCKLOCATIONS": "nn-blocks-tg2-part0.json",
		"/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo":         "nn-info.json",
		"/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState":    "nn-state.json",
		"/topology": "nn-topology.json",
	} {
		if got := body(t, s.NameNode.URL+path); got != recorded(t, name) {
			t.Errorf("%s: not %s but %.300s", path, name, got)
		}
	}
	if got := body(t, s.RM.URL+"/ws/v1/cluster/info"); got != recorded(t, "rm-info.json") {
		t.Errorf("info: %s", got)
	}
	resp, got, err := get(t, s.NameNode.URL+"/webhdfs/v1/nope?op=GETFILESTATUS")
	if err != nil || resp.StatusCode != http.StatusNotFound || got != recorded(t, "nn-missing-404.json") {
		t.Errorf("missing path: %+v %s %v", resp, got, err)
	}
}

// TestLife follows one job from before its submission to the JobHistory server.
func TestLife(t *testing.T) {
	t.Parallel()
	s := Start(t)
	const job = "job_1795215638925_0055"
	proxy := s.RM.URL + "/proxy/" + WordCount + "/ws/v1/mapreduce/jobs/" + job
	history := s.History.URL + "/ws/v1/history/mapreduce/jobs/" + job
	apps := s.RM.URL + "/ws/v1/cluster/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING&deSelects=resourceRequests"
	status := func(url string) (int, string) {
		resp, _, err := get(t, url)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Location")
	}

	if got := body(t, apps); got != `{"apps":{}}` {
		t.Errorf("at the start: %s", got)
	}
	s.At(20 * time.Second)
	if got := body(t, apps); !strings.Contains(got, `"id":"`+WordCount) || strings.Contains(got, "resourceRequests") {
		t.Errorf("accepted: %s", got)
	}
	if code, to := status(proxy); code != http.StatusFound || to != s.RM.URL+"/cluster/app/"+WordCount {
		t.Errorf("proxy to an accepted application: %d %s", code, to)
	}
	s.At(60 * time.Second)
	attempts := body(t, proxy+"/tasks/task_1795215638925_0055_m_000005/attempts")
	if !strings.Contains(attempts, `"rack":"/rack1"`) || !strings.Contains(attempts, `"state":"RUNNING"`) {
		t.Errorf("attempts of a running map: %s", attempts)
	}
	if got := body(t, proxy+"/tasks/task_1795215638925_0055_m_000005/attempts/attempt_1795215638925_0055_m_000005_0/counters"); strings.Contains(got, "Group") {
		t.Errorf("counters of a running map: %s", got)
	}
	if code, _ := status(history); code != http.StatusNotFound {
		t.Errorf("history of a running job: %d", code)
	}
	if got := body(t, proxy+"/conf"); !strings.Contains(got, "hdfs://master:8020/data/text") {
		t.Errorf("conf: %s", got)
	}
	s.At(80 * time.Second)
	if code, to := status(proxy); code != http.StatusFound || !strings.HasPrefix(to, s.History.URL+"/jobhistory/job/"+job) {
		t.Errorf("proxy to an ended application: %d %s", code, to)
	}
	if got := body(t, history); !strings.Contains(got, `"mapsCompleted":6`) {
		t.Errorf("history: %s", got)
	}
	ended := body(t, s.RM.URL+"/ws/v1/cluster/apps?states=FINISHED,FAILED,KILLED&finishedTimeBegin=1795218096000")
	if !strings.Contains(ended, WordCount) || strings.Contains(ended, TeraSort) {
		t.Errorf("ended since: %s", ended)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := Start(t)
	nodes := s.RM.URL + "/ws/v1/cluster/nodes"
	whole := body(t, nodes)
	sent := make(chan int64, 1)
	tests := map[string]struct {
		fault Fault
		want  func(*http.Response, string, error) bool
	}{
		"status": {Status(http.StatusServiceUnavailable, "busy"), func(r *http.Response, b string, _ error) bool {
			return r.StatusCode == http.StatusServiceUnavailable && b == "busy"
		}},
		"cut off": {CutOff(), func(_ *http.Response, b string, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && len(b) == len(whole)/2
		}},
		"half":    {Half(), func(_ *http.Response, b string, err error) bool { return err == nil && b == whole[:len(whole)/2] }},
		"replace": {Replace("/rack1", "/x"), func(_ *http.Response, b string, _ error) bool { return b == strings.ReplaceAll(whole, "/rack1", "/x") }},
		"type": {Type("text/html"), func(r *http.Response, b string, _ error) bool {
			return r.Header.Get("Content-Type") == "text/html" && b == whole
		}},
		"login": {LoginPage(), func(r *http.Response, _ string, _ error) bool {
			return r.StatusCode == http.StatusOK && r.Header.Get("Content-Type") == "text/html"
		}},
		"drop":  {Drop(), func(r *http.Response, _ string, err error) bool { return r == nil && err != nil }},
		"delay": {Delay(time.Millisecond), func(_ *http.Response, b string, _ error) bool { return b == whole }},
		"redirect": {Redirect("http://elsewhere/"), func(r *http.Response, _ string, _ error) bool {
			return r.StatusCode == http.StatusTemporaryRedirect && r.Header.Get("Location") == "http://elsewhere/"
		}},
		"no active": {NoActiveRM(), func(r *http.Response, _ string, _ error) bool {
			return r.StatusCode == http.StatusTemporaryRedirect && r.Header.Get("Location") == ""
		}},
		"text": {StandbyRMText(), func(r *http.Response, b string, _ error) bool {
			return r.StatusCode == http.StatusOK && strings.Contains(b, "no active RM")
		}},
		"standby": {StandbyNameNode(), func(r *http.Response, b string, _ error) bool {
			return r.StatusCode == http.StatusForbidden && strings.Contains(b, "StandbyException")
		}},
		"large": {Large(1<<20, func(n int64) { sent <- n }), func(_ *http.Response, b string, _ error) bool {
			return len(b) >= 1<<20 && <-sent == int64(len(b)) && strings.HasPrefix(b, whole[:len(whole)-1])
		}},
	}
	for name, tt := range tests { // one after the other: they share the daemon
		s.RM.Mend()
		s.RM.Break("/nodes$", tt.fault)
		if r, b, err := get(t, nodes); !tt.want(r, b, err) {
			t.Errorf("%s: %+v %.80s %v", name, r, b, err)
		}
		if got := body(t, s.RM.URL+"/ws/v1/cluster/info"); got == "" {
			t.Errorf("%s: another path is broken too", name)
		}
	}
	s.RM.Mend()
	if got := body(t, nodes); got != whole {
		t.Error("the daemon is not mended")
	}
	if got := len(s.RM.Asked("/nodes$")); got != len(tests)+2 {
		t.Errorf("%d requests noted", got)
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.RM.Break("", Hang())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.RM.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, error %v", resp, err)
	}
}

func TestStopAndRestart(t *testing.T) {
	t.Parallel()
	s := Start(t)
	info := s.RM.URL + "/ws/v1/cluster/info"
	want := body(t, info)
	s.RM.Stop()
	if _, _, err := get(t, info); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("stopped: %v", err)
	}
	s.RM.Restart()
	if got := body(t, info); got != want {
		t.Errorf("restarted: %s", got)
	}
}

func TestStandbys(t *testing.T) {
	t.Parallel()
	s := Start(t)
	rm, nn := s.StandbyRM(t), s.StandbyNameNode(t)
	if got := body(t, rm.URL+"/ws/v1/cluster/info"); !strings.Contains(got, `"haState":"STANDBY"`) {
		t.Errorf("info: %s", got)
	}
	resp, text, err := get(t, rm.URL+"/ws/v1/cluster/nodes")
	if err != nil || resp.Header.Get("Location") != s.RM.URL+"/ws/v1/cluster/nodes" || !strings.HasPrefix(text, "This is standby RM") {
		t.Errorf("nodes: %+v %s %v", resp, text, err)
	}
	if resp, _, err := get(t, nn.URL+"/webhdfs/v1/?op=GETFILESTATUS"); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("standby NameNode: %+v %v", resp, err)
	}
}
