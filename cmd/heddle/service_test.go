package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/integration/fakehadoop"
)

// Sums over the attempts in the .jhist file of TeraSort.
func teraSortOutput() map[model.RackID]model.Bytes {
	return map[model.RackID]model.Bytes{"/rack1": 59048572, "/rack2": 86551932, "/rack3": 62400216}
}

func teraSortInput() map[model.RackID]model.Bytes { // bytes of its 20 blocks with a replica in the rack, by fakehadoop/testdata/files.json
	return map[model.RackID]model.Bytes{"/rack1": 149668352, "/rack2": 130331648, "/rack3": 120000000}
}

// wish is what a preference asks of racks.
type wish struct {
	Racks  []rackWish   `json:"racks"`
	Hold   bool         `json:"hold"`
	Reason model.Reason `json:"reason"`
}

type rackWish struct {
	Rack  model.RackID `json:"rack"`
	Count int          `json:"count"`
	Bytes model.Bytes  `json:"bytes"`
}

func (w wish) counts() map[model.RackID]int {
	out := map[model.RackID]int{}
	for _, r := range w.Racks {
		out[r.Rack] = r.Count
	}
	return out
}

// preference returns where tasks of TeraSort should go.
func (r *running) preference(stage string) (w wish, err error) {
	err = r.read("/v1/applications/"+fakehadoop.TeraSort+"/preferences?stage="+stage, &w)
	return w, err
}

// settled waits until all that 66 s of the recording have of TeraSort is known:
// every map is done and its output is counted by rack, the reduces run.
func (r *running) settled() {
	r.t.Helper()
	eventually(r.t, "the service knows TeraSort at 66 s", func() error {
		a := r.app(fakehadoop.TeraSort)
		if a == nil {
			return errors.New("no such application")
		}
		if diff := cmp.Diff(teraSortOutput(), a.MapOutput.ByRack); diff != "" || a.MapOutput.Reported != a.MapOutput.Total {
			return fmt.Errorf("map output (-jhist +heddle):\n%s%+v", diff, a.MapOutput)
		}
		if !a.Input.Known || a.Reduce.Running != 6 {
			return fmt.Errorf("input %+v, reduces %+v", a.Input, a.Reduce)
		}
		return r.ready()
	})
}

// TestWholeRecording moves a cluster through the life of three jobs under a
// service that polls it.
func TestWholeRecording(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	r := start(t, fastConfig(site)+"policy: {name: shufflewatcher}\n") // of which the figures below are
	eventually(t, "ready", r.ready)

	var racks struct {
		Racks []struct {
			ID    model.RackID   `json:"id"`
			Nodes map[string]int `json:"nodes"`
			Total model.Resource `json:"total"`
		} `json:"racks"`
	}
	if err := r.read("/v1/racks", &racks); err != nil || len(racks.Racks) != 3 {
		t.Fatalf("racks: %+v, error %v", racks, err)
	}
	for _, rack := range racks.Racks {
		if rack.Nodes["RUNNING"] != 3 || rack.Total != (model.Resource{MemoryMiB: 3072, VCores: 12}) {
			t.Errorf("rack: %+v", rack)
		}
	}
	var nodes struct{ Nodes []model.Node }
	if err := r.read("/v1/nodes", &nodes); err != nil || len(nodes.Nodes) != 9 {
		t.Errorf("nodes: %+v, error %v", nodes, err)
	}

	site.At(20 * time.Second)
	eventually(t, "WordCount is accepted", func() error {
		if a := r.app(fakehadoop.WordCount); a == nil || a.State != model.AppAccepted || a.Queue != "root.batch" {
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	if status, body, err := r.get("/v1/applications/" + fakehadoop.SmallTeraSort); status != http.StatusNotFound {
		t.Errorf("an application before its submission: %d %s %v", status, body, err)
	}
	eventually(t, "the blocks of TeraSort's input", func() error {
		a := r.app(fakehadoop.TeraSort)
		if diff := cmp.Diff(teraSortInput(), a.Input.ByRack); diff != "" || a.Input.Bytes != 200_000_000 || a.Input.Blocks != 20 {
			return fmt.Errorf("%+v (-want +got):\n%s", a.Input, diff)
		}
		return nil
	})
	site.At(45 * time.Second)
	eventually(t, "a preference for maps by where the input is", func() error {
		w, err := r.preference("map")
		if err == nil && (w.Reason != "input_racks" || len(w.Racks) == 0 || slices.ContainsFunc(w.Racks, func(x rackWish) bool { return x.Bytes != teraSortInput()[x.Rack] })) {
			err = fmt.Errorf("%+v", w)
		}
		return err
	})

	site.At(66 * time.Second)
	r.settled()
	eventually(t, "a preference for reduces by map output", func() error {
		w, err := r.preference("reduce")
		// 6 reduces by 28.4, 41.6 and 30.0 % of the map output: 1.7, 2.5 and 1.8.
		if diff := cmp.Diff(map[model.RackID]int{"/rack1": 2, "/rack2": 2, "/rack3": 2}, w.counts()); err == nil && (diff != "" || w.Reason != "map_output") {
			err = fmt.Errorf("%+v (-want +got):\n%s", w, diff)
		}
		return err
	})

	site.At(site.Span())
	eventually(t, "TeraSort is read from the JobHistory server", func() error {
		a := r.app(fakehadoop.TeraSort)
		if a.State != model.AppFinished || a.Reduce.Completed != 6 || a.CrossRack[snapshot.TrafficShuffle] == 0 {
			return fmt.Errorf("%+v", a)
		}
		return cmpError(teraSortOutput(), a.MapOutput.ByRack)
	})
	eventually(t, "WordCount too", func() error {
		a := r.app(fakehadoop.WordCount)
		if a.State != model.AppFinished || a.Reduce.Completed != 3 {
			return fmt.Errorf("%+v", a)
		}
		return cmpError(map[model.RackID]model.Bytes{"/rack1": 1068098, "/rack2": 532449, "/rack3": 1599365}, a.MapOutput.ByRack)
	})
	if got := r.log.lines("[WARN]"); len(got) > 0 {
		t.Errorf("a cluster without faults gives warnings:\n%s", strings.Join(got, "\n"))
	}
	for _, series := range []string{
		`heddle_source_up{source="rm"}`, `heddle_source_up{source="mapreduce"}`, `heddle_source_up{source="history"}`, `heddle_source_up{source="hdfs"}`,
	} {
		if err := r.shows(series, 1); err != nil {
			t.Error(err)
		}
	}
}

func cmpError[T any](want, got T) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New("(-want +got):\n" + diff)
	}
	return nil
}

// TestSourcesBeforeTheirFirstAnswer wants every configured source to be down,
// not absent, while it has not answered.
func TestSourcesBeforeTheirFirstAnswer(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	for _, d := range []*fakehadoop.Daemon{site.RM, site.NameNode, site.History} {
		d.Break("", fakehadoop.Hang())
	}
	r := start(t, fastConfig(site))
	for _, source := range []string{"rm", "mapreduce", "history", "hdfs"} {
		if err := r.shows(`heddle_source_up{source="`+source+`"}`, 0); err != nil {
			t.Error(err)
		}
	}
	status, body, err := r.get("/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "no poll has ended yet") {
		t.Errorf("readyz: %d %s %v", status, body, err)
	}
	if status, _, err := r.get("/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d %v", status, err)
	}
}

// TestPlacements asks for an application that does not exist, in the loop's
// goroutine, and wants nothing of it to stay.
func TestPlacements(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site))
	r.settled()
	ask := `{"asks":[{"stage":"reduce","count":4,"capability":{"memory_mib":512,"vcores":1}}],"map_output_bytes":{"/rack2":1000000000},"map_input_bytes":1000000000,"maps_completed":10}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/placements", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Policy     string
		Placements []wish
		Detail     string
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || answer.Policy != "weave" || len(answer.Placements) != 1 || answer.Placements[0].counts()["/rack2"] != 4 {
		t.Errorf("all map output is in rack 2: %s %+v", resp.Status, answer)
	}
	if got := len(r.Snapshot().Apps); got != 3 {
		t.Errorf("%d applications after the question", got)
	}
}
