package uplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
)

// fakeProm answers like Prometheus' /api/v1/query.
type fakeProm struct {
	mu      sync.Mutex
	answers map[string]string // body by query; with no such query, a parse error
	status  int               // 0 is 200
	page    bool
	noPost  bool
	hang    bool
}

func (f *fakeProm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path != "/prom/api/v1/query" {
		http.NotFound(w, r)
		return
	}
	if f.noPost && r.Method == http.MethodPost {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	if f.page {
		fmt.Fprint(w, "<html>please log in</html>")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, ok := f.answers[r.FormValue("query")]
	switch {
	case f.status != 0:
		w.WriteHeader(f.status)
	case !ok:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"1:4: parse error: unexpected <by>"}`)
	default:
		fmt.Fprint(w, body)
	}
}

// vector is an answer of series "rack[/direction]=value".
func vector(series ...string) string {
	var all []string
	for _, s := range series {
		name, value, _ := strings.Cut(s, "=")
		rack, direction, _ := strings.Cut(name, " ")
		labels := fmt.Sprintf(`"rack":%q`, rack)
		if rack == "" {
			labels = `"instance":"x"`
		}
		if direction != "" {
			labels += fmt.Sprintf(`,"direction":%q`, direction)
		}
		all = append(all, fmt.Sprintf(`{"metric":{%s},"value":[1795218000.1,%q]}`, labels, value))
	}
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(all, ",") + `]}}`
}

type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

func racks() []model.RackID { return []model.RackID{"/rack1", "/rack2"} }

func poller(tb testing.TB, site *fakeProm, change func(*Config)) (*Poller, *bytes.Buffer) {
	tb.Helper()
	log := &bytes.Buffer{}
	cfg := Config{
		Address: "http://prometheus:9090/prom/", Query: "q", Racks: racks, Transport: inProcess{site},
		Now: time.Now, Logger: hclog.New(&hclog.LoggerOptions{Output: log}),
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p, log
}

// once polls once and returns what was sent.
func once(tb testing.TB, p *Poller) ([]model.UplinkSample, model.PollFact) {
	tb.Helper()
	out := make(chan model.Observation, 2)
	p.runner.Once(context.Background(), out)
	close(out)
	var samples []model.UplinkSample
	var poll model.PollFact
	for o := range out {
		switch fact := o.Fact.(type) {
		case model.UplinkFact:
			samples = fact.Samples
			if o.Source != model.SourceUplink || fact.Method != "prometheus" || o.At == 0 {
				tb.Errorf("observation %+v", o)
			}
		case model.PollFact:
			poll = fact
		}
	}
	return samples, poll
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	good := Config{Address: "http://p:9090", Query: "q", Now: time.Now}
	for _, c := range []struct {
		name   string
		change func(*Config)
		err    string
	}{
		{"good", func(*Config) {}, ""},
		{"two queries", func(c *Config) { c.Query, c.OutQuery, c.InQuery = "", "a", "b" }, ""},
		{"no query", func(c *Config) { c.Query = " \n" }, "no query is set"},
		{"one direction", func(c *Config) { c.Query, c.InQuery = "", "b" }, "one direction only"},
		{"all queries", func(c *Config) { c.InQuery = "b" }, "not both"},
		{"no address", func(c *Config) { c.Address = "" }, "address"},
		{"address without scheme", func(c *Config) { c.Address = "p:9090" }, "address"},
		{"label", func(c *Config) { c.RackLabel = "top-of-rack" }, `"top-of-rack" is no label name`},
		{"clock", func(c *Config) { c.Now = nil }, "clock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			c.change(&cfg)
			_, err := New(cfg)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	full := []model.UplinkSample{{Rack: "/rack1", Out: 100.5, In: 20}, {Rack: "/rack2", Out: 0, In: 1.25e8}}
	good := vector("/rack1 out=100.5", "/rack2 in=1.25e8", "/rack1 in=20", "/rack2 out=0")
	two := func(c *Config) { c.Query, c.OutQuery, c.InQuery = "", "o", "i" }
	for _, c := range []struct {
		name    string
		answers map[string]string
		change  func(*Config)
		want    []model.UplinkSample
		result  model.PollResult
		err     string
	}{
		{"direction label", map[string]string{"q": good}, nil, full, model.PollOK, ""},
		{"two queries", map[string]string{"o": vector("/rack1=100.5", "/rack2=0"), "i": vector("/rack2=1.25e8", "/rack1=20")}, two, full, model.PollOK, ""},
		{"any rack", map[string]string{"q": vector("/x out=1", "/x in=2")}, func(c *Config) { c.Racks = nil }, []model.UplinkSample{{Rack: "/x", Out: 1, In: 2}}, model.PollOK, ""},
		{"racks not known yet", map[string]string{"q": vector("/x out=1", "/x in=2")}, func(c *Config) { c.Racks = func() []model.RackID { return nil } }, []model.UplinkSample{{Rack: "/x", Out: 1, In: 2}}, model.PollOK, ""},
		{
			"other labels",
			map[string]string{"q": strings.NewReplacer(`"rack"`, `"tor"`, `"direction"`, `"dir"`).Replace(good)},
			func(c *Config) { c.RackLabel, c.DirectionLabel = "tor", "dir" },
			full,
			model.PollOK,
			"",
		},
		{"NaN of one rack", map[string]string{"q": vector("/rack1 out=NaN", "/rack1 in=20", "/rack2 in=1.25e8", "/rack2 out=0")}, nil, full[1:], model.PollOK, "NaN is no rate"},
		{"negative", map[string]string{"q": vector("/rack1 out=-1", "/rack1 in=20")}, nil, nil, model.PollInvalid, "-1 is no rate"},
		{"infinite", map[string]string{"q": vector("/rack1 out=+Inf", "/rack1 in=20")}, nil, nil, model.PollInvalid, "+Inf is no rate"},
		{"one direction missing", map[string]string{"q": vector("/rack1 out=1", "/rack2 out=0", "/rack2 in=1.25e8")}, nil, full[1:], model.PollOK, "/rack1 has no series in"},
		{"no rack label", map[string]string{"q": vector(" out=1", " in=1")}, nil, nil, model.PollInvalid, "has no label rack"},
		{"no direction label", map[string]string{"q": vector("/rack1=1")}, nil, nil, model.PollInvalid, `label direction is "", want out or in`},
		{"unknown rack", map[string]string{"q": vector("/rack7 out=1", "/rack7 in=1", "/rack2 out=0", "/rack2 in=1.25e8")}, nil, full[1:], model.PollOK, `no rack is called "/rack7"`},
		{"rack without its slash", map[string]string{"q": vector("rack1 out=1", "rack1 in=1")}, nil, nil, model.PollInvalid, `but one is "/rack1"`},
		{"two series of one", map[string]string{"q": vector("/rack1 out=1", "/rack1 out=2", "/rack1 in=2")}, nil, nil, model.PollInvalid, "sum by (rack)"},
		{"no series", map[string]string{"q": vector()}, nil, nil, model.PollInvalid, "no series"},
		{"no result", map[string]string{"q": `{"status":"success"}`}, nil, nil, model.PollInvalid, "holds no result"},
		{"null series", map[string]string{"q": `{"status":"success","data":{"resultType":"vector","result":[null]}}`}, nil, nil, model.PollInvalid, "a series is null"},
		{"scalar", map[string]string{"q": `{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`}, nil, nil, model.PollInvalid, "gives a scalar"},
		{"range", map[string]string{"q": `{"status":"success","data":{"resultType":"matrix","result":[]}}`}, nil, nil, model.PollInvalid, "gives a matrix"},
		{"bad query", nil, nil, nil, model.PollError, "parse error: unexpected <by>"},
		{"second query bad", map[string]string{"o": vector("/rack1=1")}, two, nil, model.PollError, `with "i"`},
		{"half", map[string]string{"q": good[:len(good)/2]}, nil, nil, model.PollInvalid, "bad_response"},
		{"too many bytes", map[string]string{"q": good + strings.Repeat(" ", 5000)}, func(c *Config) { c.MaxBytes = 1000 }, nil, model.PollInvalid, "more than 1000 bytes"},
		{"exactly the limit", map[string]string{"q": good}, func(c *Config) { c.MaxBytes = int64(len(good)) }, full, model.PollOK, ""},
		{"too many series", map[string]string{"q": good}, func(c *Config) { c.MaxSeries = 3 }, nil, model.PollInvalid, "more than 3 series"},
		{"warning", map[string]string{"q": strings.Replace(good, `"data"`, `"warnings":["results truncated"],"data"`, 1)}, nil, full, model.PollOK, "results truncated"},
		{"many bad series", map[string]string{"q": vector("/a out=1", "/b out=1", "/c out=1", "/d out=1", "/e out=1")}, nil, nil, model.PollInvalid, "and 2 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := poller(t, &fakeProm{answers: c.answers}, c.change)
			samples, poll := once(t, p)
			if diff := cmp.Diff(c.want, samples); diff != "" {
				t.Error(diff)
			}
			if poll.Result != c.result || !strings.Contains(poll.Error, c.err) || c.err == "" && poll.Error != "" {
				t.Errorf("poll %+v, want %s %q", poll, c.result, c.err)
			}
			if poll.Requests == 0 {
				t.Errorf("requests are not counted: %+v", poll)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		site   *fakeProm
		result model.PollResult
		err    string
	}{
		{"unauthorized", &fakeProm{status: 401}, model.PollDenied, "401"},
		{"forbidden", &fakeProm{status: 403}, model.PollDenied, "403"},
		{"only GET", &fakeProm{noPost: true, answers: map[string]string{"q": vector("/rack1 out=1", "/rack1 in=2")}}, model.PollOK, ""},
		{"server error", &fakeProm{status: 500}, model.PollError, "500"},
		{"redirect", &fakeProm{status: 302}, model.PollInvalid, "302"},
		{"log-in page", &fakeProm{page: true}, model.PollInvalid, "bad_response"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := poller(t, c.site, nil)
			samples, poll := once(t, p)
			if poll.Result != c.result || !strings.Contains(poll.Error, c.err) || (len(samples) > 0) != (c.result == model.PollOK) {
				t.Errorf("poll %+v, samples %v", poll, samples)
			}
		})
	}
}

// TestOverSockets asks a real HTTP server, one that stops in the middle of an
// answer, and one that is gone.
func TestOverSockets(t *testing.T) {
	t.Parallel()
	good := vector("/rack1 out=1", "/rack1 in=2")
	half := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(good)))
		if half {
			_, _ = io.WriteString(w, good[:20])
			return
		}
		_, _ = io.WriteString(w, good)
	}))
	p, _ := poller(t, nil, func(c *Config) { c.Address, c.Transport = server.URL, nil })
	defer p.idle.CloseIdleConnections()
	samples, poll := once(t, p)
	if diff := cmp.Diff([]model.UplinkSample{{Rack: "/rack1", Out: 1, In: 2}}, samples); diff != "" || poll.Bytes != model.Bytes(len(good)) || poll.Requests != 1 {
		t.Errorf("poll %+v: %s", poll, diff)
	}
	half = true
	if samples, poll := once(t, p); samples != nil || poll.Result != model.PollUnreachable || !strings.Contains(poll.Error, "unexpected EOF") {
		t.Errorf("half an answer: %+v, %v", poll, samples)
	}
	server.Close()
	if _, poll := once(t, p); poll.Result != model.PollUnreachable || !strings.Contains(poll.Error, "refused") {
		t.Errorf("nobody there: %+v", poll)
	}
}

// TestRun polls on fake time: at the interval while it works, less and less
// often while it does not, and says so once.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := &fakeProm{answers: map[string]string{"q": vector("/rack1 out=1", "/rack1 in=2")}}
		p, log := poller(t, site, nil)
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(chan model.Observation), make(chan error)
		go func() { done <- p.Run(ctx, out) }()
		var last model.PollFact
		polls := func(span time.Duration) int {
			n, end := 0, time.After(span)
			for {
				select {
				case o := <-out:
					if poll, ok := o.Fact.(model.PollFact); ok {
						last = poll
						n++
					}
				case <-end:
					return n
				}
			}
		}
		if n := polls(time.Minute); n < 4 || n > 5 || last.Result != model.PollOK {
			t.Errorf("%d polls in a minute, the last %+v", n, last)
		}
		site.mu.Lock()
		site.hang = true
		site.mu.Unlock()
		if n := polls(20 * time.Minute); n < 10 || n > 25 || last.Result != model.PollUnreachable || !strings.Contains(last.Error, "within 10s") || last.DurationMS != 10000 {
			t.Errorf("%d polls in 20 minutes without an answer, the last %+v", n, last)
		}
		site.mu.Lock()
		site.hang = false
		site.mu.Unlock()
		if polls(10 * time.Minute); last.Result != model.PollOK || strings.Count(log.String(), "cannot be read") != 1 || strings.Count(log.String(), "again") != 1 {
			t.Errorf("after it came back: %+v, log %s", last, log)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// FuzzAnswer puts any body through the client: no sample is ever anything but
// a known rack with two rates.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(vector("/rack1 out=1", "/rack1 in=2", "/rack2 out=NaN", "rack2 in=-1", " out=+Inf")))
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"rack":"/rack1","direction":"in"},"histogram":[1,{"count":"4","sum":"2","buckets":[[1,"-4","-2","2"]]}]}]}}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]}]}}`))
	f.Add([]byte(`{"status":"error","errorType":"timeout","error":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, _ := poller(t, &fakeProm{answers: map[string]string{"q": string(body)}}, nil)
		samples, poll := once(t, p)
		if (len(samples) > 0) != (poll.Result == model.PollOK) {
			t.Errorf("%d samples, poll %+v", len(samples), poll)
		}
		for _, s := range samples {
			if s.Rack != "/rack1" && s.Rack != "/rack2" || !(s.Out >= 0 && s.Out <= math.MaxFloat64 && s.In >= 0 && s.In <= math.MaxFloat64) {
				t.Errorf("sample %+v", s)
			}
		}
	})
}
