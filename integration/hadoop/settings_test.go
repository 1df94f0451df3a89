//go:build linux

package hadoop

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsAreFlags(t *testing.T) {
	t.Parallel()
	base := Settings{"b": "1", "c": "x y"}
	got := Settings{"b": "2", "a": "=,"}.override(base).flags()
	if diff := cmp.Diff([]string{"-Da==,", "-Db=2", "-Dc=x y"}, got); diff != "" {
		t.Error(diff)
	}
	if base["b"] != "1" {
		t.Error("the settings below have changed")
	}
	if got := Settings(nil).override(base).flags(); len(got) != 2 {
		t.Errorf("no settings over two are %q", got)
	}
}

func TestTwoResourceManagersHaveIDs(t *testing.T) {
	t.Parallel()
	s := site{root: "/r", host: "w11", scheduler: Capacity, rms: []string{Master, Standby}}
	got := s.yarn()
	for name, want := range map[string]string{
		"yarn.resourcemanager.ha.rm-ids":          "rm1,rm2",
		"yarn.resourcemanager.hostname.rm1":       "master",
		"yarn.resourcemanager.webapp.address.rm2": "master2:8088",
		"yarn.resourcemanager.hostname":           "",
		"yarn.resourcemanager.recovery.enabled":   "true",
		"yarn.resourcemanager.fs.state-store.uri": "file:///r/data/w11/rm-state-capacity",
		"yarn.scheduler.maximum-allocation-mb":    "1024",
		"hadoop.zk.address":                       "master:2181",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	s.rms = s.rms[:1]
	if got := s.yarn(); got["yarn.resourcemanager.hostname"] != Master || got["yarn.resourcemanager.ha.enabled"] != "" {
		t.Errorf("one ResourceManager has the name %q and availability %q", got["yarn.resourcemanager.hostname"], got["yarn.resourcemanager.ha.enabled"])
	}
}

func TestApplicationIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"INFO Submitted application application_17_0004\n": "application_17_0004",
		"Running job: job_1795305779333_0001, job_2_2":     "application_1795305779333_0001",
		"application_17": "",
		"":               "",
	} {
		if got := AppID(text); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	for id, want := range map[string]bool{
		"container_1_0001_01_000001": true, "container_1_0001_02_000001": true, "container_1_0001_01_000011": false, "container_1_0001_01_1000001": false,
	} {
		if IsAM(id) != want {
			t.Errorf("%s: an ApplicationMaster is %v", id, !want)
		}
	}
}

func TestCountsByRack(t *testing.T) {
	t.Parallel()
	n := &Network{racks: 2, perRack: 2, rms: 1}
	if diff := cmp.Diff(map[string]int{"/rack1": 3, "/rack2": 4}, n.ByRack(map[string]int{"w11": 1, "w12": 2, "w21": 4})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"w21", "w22"}, n.HostsOf("/rack2")); diff != "" {
		t.Error(diff)
	}
	attempts := []Attempt{{Type: "MAP", Rack: "/rack1"}, {Type: "REDUCE", Rack: "/rack2"}, {Type: "MAP", Rack: "/rack1"}}
	if diff := cmp.Diff(map[string]int{"/rack1": 2}, AttemptsByRack(attempts, "MAP")); diff != "" {
		t.Error(diff)
	}
}

func TestTeraRows(t *testing.T) {
	t.Parallel()
	read := func(size int64, wrap func(io.Reader) io.Reader) []byte {
		all, err := io.ReadAll(wrap(io.LimitReader(newTeraRows(7), size)))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	text := read(100*500, func(r io.Reader) io.Reader { return r })
	if !bytes.Equal(text, read(100*500, iotest.OneByteReader)) {
		t.Error("other rows, read byte by byte")
	}
	first := make(map[byte]int)
	for row := range bytes.Lines(text) {
		if len(row) != 100 || strings.Trim(string(row[10:99]), ".") != "" {
			t.Fatalf("%q is no row", row)
		}
		first[row[0]]++
	}
	// 500 keys spread over the 64 values of a first byte: about 8 each.
	if len(first) < 50 {
		t.Errorf("keys start with %d different bytes", len(first))
	}
	if bytes.Equal(text[:10], text[100:110]) {
		t.Error("two keys are the same")
	}
}

func TestMoreSettingsOfYARN(t *testing.T) {
	t.Parallel()
	const name = "yarn.scheduler.increment-allocation-mb"
	s := site{root: "/r", host: "w11", scheduler: Fair, rms: []string{Master}, more: Settings{name: "256", "yarn.scheduler.minimum-allocation-mb": "256"}}
	got := s.yarn()
	if got[name] != "256" || got["yarn.scheduler.minimum-allocation-mb"] != "256" || got["yarn.resourcemanager.hostname"] != Master {
		t.Errorf("%s is %q, the least allocation %q", name, got[name], got["yarn.scheduler.minimum-allocation-mb"])
	}
}

func TestSubmissionIsALine(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{
		"submitted job_17_0004\n":                       "job_17_0004",
		"job_1_1\nlibrary\nsubmitted job_17_0004\n":     "job_17_0004",
		"failed no such queue\nsubmitted job_17_0005\n": "",
		"some library\n":                                "",
	} {
		asked := &closedBuffer{}
		s := &Submitter{&lineClient{cmd: exec.Command("true"), asks: asked, lines: bufio.NewReader(strings.NewReader(answers))}}
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		got, err := s.Submit("ana", Settings{"b": "2", "a": "x y"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: job %q, %v; want %q", answers, got, err, want)
		}
		if asked.String() != "ana\ta=x y\tb=2\n" {
			t.Errorf("asked %q", asked)
		}
		_ = s.cmd.Wait()
	}
}

type closedBuffer struct{ bytes.Buffer }

func (*closedBuffer) Close() error { return nil }
