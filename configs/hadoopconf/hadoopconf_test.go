package hadoopconf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs/hadoopconf"
)

func TestRead(t *testing.T) {
	t.Parallel()
	h, err := hadoopconf.Read("../testdata/hadoop/final", nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFiles := []string{"../testdata/hadoop/final/core-site.xml", "../testdata/hadoop/final/yarn-site.xml"}
	if diff := cmp.Diff(wantFiles, h.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	p, ok, err := h.Lookup("twice")
	want := hadoopconf.Property{Key: "twice", Value: "2", File: wantFiles[0], Line: 11}
	if diff := cmp.Diff(want, p); diff != "" || !ok || err != nil {
		t.Errorf("Lookup(twice): %v %v (-want +got):\n%s", ok, err, diff)
	}
	for _, key := range []string{"no.value", "x", "nosuch"} {
		if _, ok, err := h.Lookup(key); ok || err != nil {
			t.Errorf("Lookup(%s) = %v, %v; want nothing", key, ok, err)
		}
	}
	h, err = hadoopconf.Read("../testdata/hadoop/xinclude", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok, err := h.Lookup("from.fallback"); !ok || err != nil || p.Value != "yes" {
		t.Errorf("the fallback of an include gave %v, %v, %v", p, ok, err)
	}
}

// TestRelayIDs holds that ids client-config made are told from a site's own.
func TestRelayIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"heddle": true, "heddle2": true, "heddle-rm1": true, "heddle12-rm-a": true,
		"rm1": false, "heddler": false, "heddle1rm": false, "xheddle": false, hadoopconf.DirectID: false,
	} {
		if got := hadoopconf.IsRelayID(id); got != want {
			t.Errorf("IsRelayID(%s) = %v", id, got)
		}
	}
}

func TestResourceManagers(t *testing.T) {
	t.Parallel()
	tests := map[string][]hadoopconf.ResourceManager{
		"single": {{Host: "master.example.com", Scheduler: "master.example.com:8030", Web: "master.example.com:8088"}},
		"client": {{Host: "master.example.com", Scheduler: "master.example.com:8030", Web: "master.example.com:8088"}},
		"hafull": {
			{
				ID: "rm1", Host: "rm1.example.com", Scheduler: "rm1.example.com:9030", Client: "rm1.example.com:9032",
				Admin: "rm1.example.com:9033", Tracker: "rm1.example.com:9031", Web: "rm1.example.com:9090",
			},
			{ID: "rm2", Host: "rm2.example.com", Scheduler: "rm2.example.com:8030", Web: "rm2.example.com:8090"},
		},
	}
	for dir, want := range tests {
		h, err := hadoopconf.Read("../testdata/hadoop/"+dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.ResourceManagers()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", dir, err, diff)
		}
	}
	h, err := hadoopconf.Read("../testdata/hadoop/haincomplete", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.ResourceManagers(); err == nil || !strings.Contains(err.Error(), "yarn.resourcemanager.hostname.rm2") {
		t.Errorf("an rm-id without an address: %v", err)
	}
}
