package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/integration/fakehadoop"
)

// huge is an answer larger than any that is read.
const huge = 300 << 20

// picture is what readers are told that must not change while a source fails.
type picture struct {
	prefers map[model.RackID]int
	nodes   []model.Node
	output  map[model.RackID]model.Bytes
}

func (r *running) picture() (p picture, err error) {
	w, err := r.preference("reduce")
	if err != nil {
		return p, err
	}
	var nodes struct{ Nodes []model.Node }
	if err := r.read("/v1/nodes", &nodes); err != nil {
		return p, err
	}
	return picture{w.counts(), nodes.Nodes, r.app(fakehadoop.TeraSort).MapOutput.ByRack}, nil
}

// pictured wants a picture, soon.
func (r *running) pictured(want picture) {
	r.t.Helper()
	eventually(r.t, "the same picture", func() error {
		got, err := r.picture()
		if err == nil {
			err = cmpError(want.prefers, got.prefers)
		}
		if err == nil {
			err = cmpError(want.nodes, got.nodes)
		}
		if err == nil {
			err = cmpError(want.output, got.output)
		}
		return err
	})
}

// settledPicture waits for the 66th second and returns what is told of it.
func (r *running) settledPicture() (p picture) {
	r.t.Helper()
	r.settled()
	eventually(r.t, "a preference", func() (err error) {
		if p, err = r.picture(); err == nil && len(p.prefers) != 3 {
			err = fmt.Errorf("%+v", p)
		}
		return err
	})
	return p
}

// polls returns how many polls of a source have ended in a result.
func (r *running) polls(source model.Source, result model.PollResult) (float64, error) {
	return r.metric(fmt.Sprintf(`heddle_polls_total{result=%q,source=%q}`, result, source))
}

// failed returns an error until more polls than before have ended in a result,
// and the source is down.
func (r *running) failed(source model.Source, result model.PollResult, before float64) error {
	n, err := r.polls(source, result)
	if err == nil && n <= before {
		err = fmt.Errorf("%v polls of %s ended %s", n, source, result)
	}
	if err != nil {
		return err
	}
	return r.shows(`heddle_source_up{source="`+string(source)+`"}`, 0)
}

func (r *running) loggedOnce(text string) {
	r.t.Helper()
	eventually(r.t, "the log says "+text, func() error {
		if len(r.log.lines(text)) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	if got := r.log.lines(text); len(got) != 1 {
		r.t.Errorf("said %d times: %s", len(got), got[0])
	}
}

// broken is one way to break what a daemon answers to some requests.
type broken struct {
	name   string
	path   string           // expression for path and query
	fault  fakehadoop.Fault // nil refuses connections
	result model.PollResult
}

func (b *broken) breaks(d *fakehadoop.Daemon) {
	if b.fault == nil {
		d.Stop()
		return
	}
	d.Break(b.path, b.fault)
}

func (b *broken) mend(d *fakehadoop.Daemon) {
	if b.fault == nil {
		d.Restart()
	}
	d.Mend()
}

// resourceManagerFault breaks the ResourceManager under a running service.
// While it is broken, what was known is told until it is too old, and nothing
// from then on; afterwards all is as before. Each is said once.
func resourceManagerFault(t *testing.T, site *fakehadoop.Site, r *running, b broken) {
	t.Helper()
	good := r.settledPicture()
	r.log.forget()
	before, err := r.polls(model.SourceRM, b.result)
	if err != nil {
		t.Fatal(err)
	}
	b.breaks(site.RM)
	eventually(t, "the failure shows", func() error { return r.failed(model.SourceRM, b.result, before) })
	r.pictured(good)
	if err := r.ready(); err != nil {
		t.Errorf("not ready although the state is fresh enough: %v", err)
	}

	r.advance(31 * time.Second)
	status, body, err := r.get("/v1/applications/" + fakehadoop.TeraSort + "/preferences?stage=reduce")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "stale") {
		t.Errorf("a preference of old state: %d %s %v", status, body, err)
	}
	if err := r.ready(); err == nil {
		t.Error("ready on old state")
	}
	r.loggedOnce("no decisions: the ResourceManager's state is too old")

	b.mend(site.RM)
	eventually(t, "ready again", r.ready)
	r.pictured(good)
	if err := r.shows(`heddle_source_up{source="rm"}`, 1); err != nil {
		t.Error(err)
	}
	r.loggedOnce("ResourceManager cannot be read")
	r.loggedOnce("ResourceManager answers again")
	r.loggedOnce("decisions are made again")
}

func TestResourceManagerFaults(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect to a host that is not configured was followed")
	}))
	t.Cleanup(stranger.Close)
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site))
	const nodes, apps, all = `^/ws/v1/cluster/nodes`, `^/ws/v1/cluster/apps\?`, ``
	for _, b := range []broken{
		{"connection refused", all, nil, model.PollUnreachable},
		{"connections break", all, fakehadoop.Drop(), model.PollUnreachable},
		{"status 500", all, fakehadoop.Status(http.StatusInternalServerError, "java.lang.NullPointerException"), model.PollError},
		{"status 401", all, fakehadoop.Status(http.StatusUnauthorized, "Authentication required"), model.PollDenied},
		{"nodes with status 403", nodes, fakehadoop.Status(http.StatusForbidden, "no"), model.PollDenied},
		{"no active one, with Refresh", all, fakehadoop.NoActiveRM(), model.PollStandby},
		{"no active one, as a text", all, fakehadoop.StandbyRMText(), model.PollStandby},
		{"redirect to a stranger", all, fakehadoop.Redirect(stranger.URL), model.PollInvalid},
		{"login page", all, fakehadoop.LoginPage(), model.PollInvalid},
		{"nodes of a wrong type", nodes, fakehadoop.Type("text/html"), model.PollInvalid},
		{"nodes cut off", nodes, fakehadoop.CutOff(), model.PollInvalid},
		{"half of the nodes", nodes, fakehadoop.Half(), model.PollInvalid},
		{"nodes of 300 MB", nodes, fakehadoop.Large(huge, func(n int64) { sent.Store(n) }), model.PollInvalid},
		{"an error in place of nodes", nodes, fakehadoop.Edit(func(string) string { return `{"RemoteException":{}}` }), model.PollInvalid},
		{"nodes without ids", nodes, fakehadoop.Edit(func(string) string { return `{"nodes":{"node":[{"rack":"/rack1"}]}}` }), model.PollInvalid},
		{"applications cut off", apps, fakehadoop.CutOff(), model.PollInvalid},
		{"half of the applications", apps, fakehadoop.Half(), model.PollInvalid},
		{"applications of 300 MB", apps, fakehadoop.Large(huge, func(n int64) { sent.Store(n) }), model.PollInvalid},
		{"applications of a wrong type", apps, fakehadoop.Type("application/xml"), model.PollInvalid},
		{"an error in place of applications", apps, fakehadoop.Edit(func(string) string { return `{"RemoteException":{}}` }), model.PollInvalid},
	} {
		sent.Store(0)
		t.Log(b.name)
		resourceManagerFault(t, site, r, b)
		if n := sent.Load(); n >= huge {
			t.Errorf("%s: %d bytes of one answer were read", b.name, n)
		}
	}
}

// TestNothingAnswersInTime lets the ResourceManager and its proxy hang.
func TestNothingAnswersInTime(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site, "timeout: 20s", "timeout: 2s"))
	resourceManagerFault(t, site, r, broken{path: "", fault: fakehadoop.Hang(), result: model.PollUnreachable})
}

// TestApplicationMasterFaults breaks what comes through the web proxy. The
// ResourceManager's part goes on, and what the maps wrote stays known.
func TestApplicationMasterFaults(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site))
	good := r.settledPicture()
	const proxy, tasks, job = `^/proxy/`, `/tasks$|/tasks\?`, `/jobs/job_\d+_\d+$|/jobs/job_\d+_\d+\?`
	for _, b := range []broken{
		{"connections break", proxy, fakehadoop.Drop(), model.PollUnreachable},
		{"status 500", proxy, fakehadoop.Status(http.StatusInternalServerError, "proxy"), model.PollError},
		{"login page", proxy, fakehadoop.LoginPage(), model.PollInvalid},
		{"tasks cut off", tasks, fakehadoop.CutOff(), model.PollInvalid},
		{"half of the tasks", tasks, fakehadoop.Half(), model.PollInvalid},
		{"tasks of 300 MB", tasks, fakehadoop.Large(huge, func(int64) {}), model.PollInvalid},
		{"tasks of another job", tasks, fakehadoop.Replace("795215638925_00", "795215638925_10"), model.PollInvalid},
		{"jobs cut off", job, fakehadoop.CutOff(), model.PollInvalid},
		{"other jobs", job, fakehadoop.Replace("795215638925_00", "795215638925_10"), model.PollInvalid},
	} {
		t.Log(b.name)
		r.log.forget()
		before, err := r.polls(model.SourceMapReduce, b.result)
		if err != nil {
			t.Fatal(err)
		}
		b.breaks(site.RM)
		eventually(t, "the failure shows", func() error { return r.failed(model.SourceMapReduce, b.result, before) })
		r.pictured(good)
		if err := r.shows(`heddle_source_up{source="rm"}`, 1); err != nil {
			t.Error(err)
		}
		b.mend(site.RM)
		eventually(t, "it works again", func() error { return r.shows(`heddle_source_up{source="mapreduce"}`, 1) })
		r.pictured(good)
		r.loggedOnce("MapReduce REST cannot be read")
		r.loggedOnce("MapReduce REST answers again")
	}
}

// TestHistoryFaults breaks the JobHistory server while jobs end, and wants
// their last facts once it is mended.
func TestHistoryFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakehadoop.Fault{
		"refused": nil, "cut off": fakehadoop.CutOff(), "half": fakehadoop.Half(),
		"300 MB": fakehadoop.Large(huge, func(int64) {}), "login page": fakehadoop.LoginPage(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := fakehadoop.Start(t)
			site.At(66 * time.Second)
			r := start(t, fastConfig(site))
			r.settled()
			if fault == nil {
				site.History.Stop()
			} else {
				site.History.Break("", fault)
			}
			site.At(site.Span())
			eventually(t, "the failure shows", func() error {
				return r.shows(`heddle_source_up{source="history"}`, 0)
			})
			if a := r.app(fakehadoop.TeraSort); a.Reduce.Completed == 6 {
				t.Errorf("the end of the job is known: %+v", a)
			}
			if err := r.ready(); err != nil {
				t.Error(err)
			}
			if fault == nil {
				site.History.Restart()
			}
			site.History.Mend()
			eventually(t, "the job's last facts", func() error {
				if a := r.app(fakehadoop.TeraSort); a.Reduce.Completed != 6 {
					return fmt.Errorf("%+v", a.Reduce)
				}
				return nil
			})
			if diff := cmp.Diff(teraSortOutput(), r.app(fakehadoop.TeraSort).MapOutput.ByRack); diff != "" {
				t.Errorf("map output (-jhist +heddle):\n%s", diff)
			}
		})
	}
}

// TestNameNodeFaults starts services whose NameNode is broken: they decide
// without knowing where the input is, and say so, until it is mended.
func TestNameNodeFaults(t *testing.T) {
	t.Parallel()
	const all, blocks, nodes = ``, `GETFILEBLOCKLOCATIONS`, `NameNodeInfo`
	for _, b := range []broken{
		{"refused", all, nil, model.PollUnreachable},
		{"standby", `/webhdfs/`, fakehadoop.StandbyNameNode(), model.PollStandby},
		{"login page", all, fakehadoop.LoginPage(), model.PollInvalid},
		{"status 403", `/webhdfs/`, fakehadoop.Status(http.StatusForbidden, "no"), model.PollDenied},
		{"blocks cut off", blocks, fakehadoop.CutOff(), model.PollInvalid},
		{"half of the blocks", blocks, fakehadoop.Half(), model.PollInvalid},
		{"blocks of 300 MB", blocks, fakehadoop.Large(huge, func(int64) {}), model.PollInvalid},
		{"data nodes cut off", nodes, fakehadoop.CutOff(), model.PollInvalid},
		{"half of the data nodes", nodes, fakehadoop.Half(), model.PollInvalid},
		{"a wrong type", `LISTSTATUS`, fakehadoop.Type("text/plain"), model.PollInvalid},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			site := fakehadoop.Start(t)
			site.At(45 * time.Second)
			b.breaks(site.NameNode)
			r := start(t, fastConfig(site))
			eventually(t, "ready", r.ready)
			eventually(t, "the failure shows", func() error { return r.failed(model.SourceHDFS, b.result, 0) })
			if b.path != nodes {
				eventually(t, "a preference without input", func() error {
					w, err := r.preference("map")
					if err == nil && (w.Reason != "no_input" || len(w.Racks) > 0) {
						err = fmt.Errorf("%+v", w)
					}
					return err
				})
			}
			b.mend(site.NameNode)
			eventually(t, "the input is known", func() error {
				if a := r.app(fakehadoop.TeraSort); !a.Input.Known {
					return fmt.Errorf("%+v", a.Input)
				}
				return errors.Join(r.shows(`heddle_source_up{source="hdfs"}`, 1), cmpError(teraSortInput(), r.app(fakehadoop.TeraSort).Input.ByRack))
			})
			eventually(t, "a preference by input", func() error {
				if w, err := r.preference("map"); err != nil || w.Reason != "input_racks" {
					return fmt.Errorf("%+v, error %w", w, err)
				}
				return nil
			})
		})
	}
}

// TestClockJumps sets the service's clock forward and back.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site))
	good := r.settledPicture()
	recovered := func() {
		t.Helper()
		eventually(t, "ready", r.ready)
		r.pictured(good)
	}
	r.advance(2 * time.Hour)
	recovered()
	if err := r.shows("heddle_clock_jumps_total", 0); err != nil {
		t.Error(err)
	}
	r.advance(-2 * time.Hour)
	eventually(t, "the jump is counted", func() error { return r.shows("heddle_clock_jumps_total", 1) })
	r.loggedOnce("the clock was set back")
	recovered()
	before, err := r.metric(`heddle_polls_total{result="ok",source="rm"}`)
	eventually(t, "a whole poll by the new clock", func() error {
		now, nowErr := r.metric(`heddle_polls_total{result="ok",source="rm"}`)
		if err := errors.Join(err, nowErr); err != nil || now < before+2 {
			return fmt.Errorf("%v polls, %w", now-before, err)
		}
		return nil
	})
	site.RM.Stop()
	r.advance(31 * time.Second)
	eventually(t, "state gets old by the new clock", func() error {
		if r.ready() == nil {
			return errors.New("ready")
		}
		return nil
	})
	site.RM.Restart()
	recovered()
}

// TestRacksDiffer lets the NameNode put a rack's hosts into another rack.
func TestRacksDiffer(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	site.NameNode.Break("", fakehadoop.Replace("/rack1", "/dc2/rack1"))
	r := start(t, fastConfig(site))
	good := r.settledPicture()
	eventually(t, "the mismatches are counted", func() error { return r.shows("heddle_rack_mismatches", 3) })
	r.loggedOnce("hosts whose rack differs")
	if line := r.log.lines("hosts whose rack differs")[0]; !strings.Contains(line, `hosts="w11 w12 w13"`) || !strings.Contains(line, "name_node=/dc2/rack1") {
		t.Error(line)
	}
	var cluster struct {
		Mismatches []struct {
			Host            string       `json:"host"`
			ResourceManager model.RackID `json:"resource_manager"`
			NameNode        model.RackID `json:"name_node"`
		} `json:"rack_mismatches"`
	}
	if err := r.read("/v1/cluster", &cluster); err != nil || len(cluster.Mismatches) != 3 || cluster.Mismatches[0].ResourceManager != "/rack1" {
		t.Errorf("%+v, error %v", cluster, err)
	}
	// Blocks count on the rack the scheduler knows.
	if diff := cmp.Diff(teraSortInput(), r.app(fakehadoop.TeraSort).Input.ByRack); diff != "" {
		t.Error(diff)
	}
	site.NameNode.Mend()
	eventually(t, "no mismatch is left", func() error { return r.shows("heddle_rack_mismatches", 0) })
	r.loggedOnce("name the same racks again")
	r.pictured(good)
}

// TestHostsWithoutARack lets the ResourceManager forget a rack.
func TestHostsWithoutARack(t *testing.T) {
	t.Parallel()
	for name, rack := range map[string]string{"default rack": `"rack":"/default-rack",`, "no rack": ``} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := fakehadoop.Start(t)
			site.At(66 * time.Second)
			r := start(t, fastConfig(site))
			good := r.settledPicture()
			if err := r.shows("heddle_hosts_without_rack", 0); err != nil {
				t.Error(err)
			}
			site.RM.Break(`^/ws/v1/cluster/nodes`, fakehadoop.Replace(`"rack":"/rack3",`, rack))
			eventually(t, "they are counted", func() error { return r.shows("heddle_hosts_without_rack", 3) })
			if err := r.shows(`heddle_rack_nodes{rack="/default-rack",state="running"}`, 3); err != nil {
				t.Error(err)
			}
			r.loggedOnce("hosts without a rack")
			if line := r.log.lines("hosts without a rack")[0]; !strings.Contains(line, `hosts="w31 w32 w33"`) {
				t.Error(line)
			}
			site.RM.Mend()
			eventually(t, "all have a rack", func() error { return r.shows("heddle_hosts_without_rack", 0) })
			r.loggedOnce("every host has a rack again")
			r.pictured(good)
		})
	}
}

// TestUnknownHosts lets attempts run on hosts that nobody knows.
func TestUnknownHosts(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	site.RM.Break(`/attempts(\?|$)`, fakehadoop.Edit(strings.NewReplacer(`"rack":"/rack2",`, ``, `"nodeHttpAddress":"w2`, `"nodeHttpAddress":"elsewhere`).Replace))
	r := start(t, fastConfig(site))
	eventually(t, "each is counted once", func() error { return r.shows("heddle_unknown_hosts_total", 3) })
	eventually(t, "their output lies in the default rack", func() error {
		want := teraSortOutput()
		want[model.DefaultRack] = want["/rack2"]
		delete(want, "/rack2")
		return cmpError(want, r.app(fakehadoop.TeraSort).MapOutput.ByRack)
	})
}

// TestStandbyFirst names a standby of each pair first.
func TestStandbyFirst(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	rm, nn := site.StandbyRM(t), site.StandbyNameNode(t)
	r := start(t, fastConfig(site, `urls: ["`, `urls: ["`+rm.URL+`", "`, `name_nodes: ["`, `name_nodes: ["`+nn.URL+`", "`))
	r.settled()
	if got := r.log.lines("[WARN]"); len(got) > 0 {
		t.Errorf("a standby gives warnings:\n%s", strings.Join(got, "\n"))
	}
	if len(rm.Asked("")) == 0 || len(nn.Asked("")) == 0 {
		t.Error("the standbys were not asked")
	}
}
