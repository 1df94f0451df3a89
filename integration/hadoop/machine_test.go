//go:build linux

package hadoop

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/netlab"
)

// fakeTools makes a PATH of shell scripts and nothing else.
func fakeTools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("JAVA_HOME", "")
}

func TestMissingSaysWhatInOneLine(t *testing.T) {
	java := func(version string) string { return `echo 'openjdk version "` + version + `"' >&2` }
	tests := []struct {
		name  string
		tools map[string]string
		want  string
	}{
		{"nothing there", nil, "ip (iproute2) is not installed"},
		{"no tc", map[string]string{"ip": ""}, "tc (iproute2) is not installed"},
		{"no bash", map[string]string{"ip": "", "tc": ""}, "bash"},
		{"no java", map[string]string{"ip": "", "tc": "", "bash": ""}, "java is not installed"},
		{"broken java", map[string]string{"ip": "", "tc": "", "bash": "", "java": "exit 3"}, "exit status 3"},
		{"old java", map[string]string{"ip": "", "tc": "", "bash": "", "java": java("1.8.0_402")}, "java 8 is installed"},
		{"new java", map[string]string{"ip": "", "tc": "", "bash": "", "java": java("25.0.1")}, "java 25 is installed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fakeTools(t, tt.tools)
			got := MissingPrerequisite(t.Context(), io.Discard)
			if !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("%q, want one line with %q", got, tt.want)
			}
		})
	}
}

func TestJavaRelease(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime": 17,
		"Picked up JAVA_TOOL_OPTIONS: -Dx\njava version \"11\"":   11,
		`openjdk version "1.8.0_402"`:                             8,
		`openjdk version "22-ea" 2024-03-19`:                      22,
		"GNU Java":                                                0,
		"":                                                        0,
	} {
		if got := javaRelease([]byte(text)); got != want {
			t.Errorf("%q is release %d, want %d", text, got, want)
		}
	}
}

// mavenThat is a Maven that appends a line to a file for each call, then does more.
func mavenThat(t *testing.T, body string) (calls func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "calls")
	path := os.Getenv("PATH")
	fakeTools(t, map[string]string{"mvn": "PATH=" + path + "\necho call >>" + log +
		"\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=};; esac; done\n" + body})
	t.Setenv(cacheVar, filepath.Join(t.TempDir(), "cache"))
	return func() int {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "call\n")
	}
}

const twoJars = "echo one >$out/one.jar; echo other >$out/other.jar"

func TestJarsAreFetchedOnceAndWhole(t *testing.T) {
	calls := mavenThat(t, twoJars)
	var all sync.WaitGroup
	for range 3 { // runs that start together
		all.Go(func() {
			dir, err := hadoopJars().fetch(t.Context(), io.Discard)
			if err != nil || !jarsComplete(dir) {
				t.Errorf("jars in %s: %v", dir, err)
			}
		})
	}
	all.Wait()
	if n := calls(); n != 1 {
		t.Fatalf("Maven ran %d times, want once", n)
	}
	dir, err := hadoopJars().fetch(t.Context(), io.Discard)
	if err != nil || calls() != 1 {
		t.Fatalf("a full cache: %v after %d calls of Maven", err, calls())
	}
	if err := os.Truncate(filepath.Join(dir, "other.jar"), 2); err != nil {
		t.Fatal(err)
	}
	if jarsComplete(dir) {
		t.Error("a cache with a cut jar counts as complete")
	}
	if _, err := hadoopJars().fetch(t.Context(), io.Discard); err != nil || calls() != 2 || !jarsComplete(dir) {
		t.Errorf("a broken cache: %v after %d calls of Maven", err, calls())
	}
}

func TestJarsThatCannotBeFetched(t *testing.T) {
	calls := mavenThat(t, twoJars+"; echo '[WARN] x'; echo '[ERROR] unknown host repo'; echo '[ERROR] more'; exit 1")
	dir, err := hadoopJars().dir()
	if err != nil {
		t.Fatal(err)
	}
	_, err = hadoopJars().fetch(t.Context(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "unknown host repo") || strings.Contains(err.Error(), "more") {
		t.Errorf("error %v, want Maven's first", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || calls() != 1 {
		t.Errorf("a half-filled cache is there: %v", err)
	}
}

func TestFetchingJarsEndsWithItsContext(t *testing.T) {
	calls := mavenThat(t, "sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := hadoopJars().fetch(ctx, io.Discard)
		ended <- err
	}()
	for calls() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Maven still runs")
	}
}

func TestSweepRemovesWhatNobodyUses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	locks := make(map[string]*os.File)
	for _, name := range []string{"dead", "live", "kept"} {
		dir := filepath.Join(os.TempDir(), runPrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := lockDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		locks[name] = f
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), runPrefix+"kept", keptFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dead", "kept"} {
		if err := locks[name].Close(); err != nil { // as the end of their process does
			t.Fatal(err)
		}
	}
	removeAbandonedRuns()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), runPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(os.TempDir(), runPrefix+"kept"), filepath.Join(os.TempDir(), runPrefix+"live")}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
}

func TestPropertiesAreXML(t *testing.T) {
	t.Parallel()
	in := properties{"b": "<1> & 2", "a": "-Xmx1m -Dx='y'"}
	text, err := in.encode()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		XMLName  xml.Name `xml:"configuration"`
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := make(properties)
	for _, p := range doc.Property {
		out[p.Name] = p.Value
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

func TestHostsRacksAndAddresses(t *testing.T) {
	t.Parallel()
	n := &Network{racks: 2, perRack: 3, rms: 2}
	type row struct{ Host, Rack, Addr string }
	var got []row
	for _, h := range n.all() {
		got = append(got, row{h, n.RackOf(h), n.Addr(h)})
	}
	want := []row{{Master, "/rack0", "10.77.0.10"}, {Standby, "/rack0", "10.77.10.10"}}
	for i := range 6 {
		r, h := strconv.Itoa(1+i/3), strconv.Itoa(1+i%3)
		want = append(want, row{"w" + r + h, "/rack" + r, "10.77." + r + ".1" + h})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStartNeedsASandboxAndSaneOptions(t *testing.T) {
	t.Parallel()
	if !netlab.Inside() {
		if _, err := Start(t.Context(), Options{}); err == nil {
			t.Error("a cluster outside of a sandbox")
		}
	}
	for _, size := range [][3]int{{10, 1, 1}, {1, 10, 1}, {-1, 1, 1}, {1, -1, 1}, {1, 1, -1}, {1, 1, 3}} {
		if _, err := newNetwork(size[0], size[1], size[2]); err == nil {
			t.Errorf("a network of %d racks of %d hosts and %d ResourceManagers", size[0], size[1], size[2])
		}
	}
}
