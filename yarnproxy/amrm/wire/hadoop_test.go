package wire_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnproxy/amrm/wire"
)

// hadoop returns a message of testdata/hadoop-3.4.3.txt.
func hadoop(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/hadoop-3.4.3.txt")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			b, err := hex.DecodeString(strings.TrimSpace(text))
			if err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			return b
		}
	}
	tb.Fatalf("testdata/hadoop-3.4.3.txt has no %s", name)
	return nil
}

const epoch3 = int64(3) << 40 // container numbers of the third start of the ResourceManager

func TestHadoopRequest(t *testing.T) {
	t.Parallel()
	var got wire.Request
	body := hadoop(t, "request")
	if err := got.Parse(body); err != nil {
		t.Fatal(err)
	}
	var rows []byte
	for i := range got.Asks {
		rows = wire.AppendVerbatim(rows, got.Asks[i].Raw)
		got.Asks[i].Raw = nil
	}
	row := func(priority int32, name string, count int32) wire.Row {
		return wire.Row{Priority: priority, RequestID: -1, Name: []byte(name), Count: count, Relax: true, Memory: 512, VCores: 1}
	}
	want := wire.Request{
		ResponseID: 17, Progress: 0.25,
		Asks:         []wire.Row{row(20, "*", 4), row(20, "w11", 2), row(20, "/rack1", 4), row(10, "*", 3), row(0, "*", 3)},
		Releases:     []wire.ContainerID{{Attempt: 2, ID: epoch3 + 5}},
		BlacklistAdd: [][]byte{[]byte("w23")}, BlacklistRemove: [][]byte{[]byte("w31")},
	}
	want.Asks[0].Label = []byte{}
	want.Asks[3].Label = []byte("gpu")
	want.Asks[4].RequestID, want.Asks[4].Memory = 0, 1408
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if _ = append(got.Asks[0].Name, "overwritten"...); !bytes.Equal(body, hadoop(t, "request")) {
		t.Error("appending to a name wrote into the body")
	}
	if again, err := wire.AppendRequest(nil, body, rows); err != nil || !bytes.Equal(again, body) {
		t.Errorf("an edit that changes nothing gave %x, error %v, want %x", again, err, body)
	}
}

func TestHadoopHeartbeat(t *testing.T) {
	t.Parallel()
	got := wire.Request{ResponseID: 99, Asks: make([]wire.Row, 1), Scheduling: 1}
	if err := got.Parse(hadoop(t, "empty")); err != nil {
		t.Fatal(err)
	}
	if got.ResponseID != 18 || got.Progress != 0.5 || len(got.Asks)+len(got.Releases)+got.Scheduling != 0 {
		t.Errorf("%+v", got)
	}
}

func TestHadoopResponse(t *testing.T) {
	t.Parallel()
	var got wire.Response
	if err := got.Parse(hadoop(t, "response")); err != nil {
		t.Fatal(err)
	}
	containers := grants()
	want := wire.Response{
		ResponseID: 18, Command: wire.CommandResync,
		Allocated: containers,
		Completed: []wire.Completed{
			{ID: wire.ContainerID{Attempt: 2, ID: epoch3 + 4}},
			{ID: wire.ContainerID{Attempt: 2, ID: epoch3 + 5}, ExitStatus: -100},
		},
		Nodes:    []wire.UpdatedNode{{Host: []byte("w21"), Port: 45454, Rack: []byte("/rack2"), State: wire.NodeLost}},
		Previous: containers[1:],
	}
	want.Headroom.Known, want.Headroom.Memory, want.Headroom.VCores = true, 8192, 9
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

// grants are the containers of the response and of the answer to a register call.
func grants() []wire.Container {
	return []wire.Container{
		{
			ID: wire.ContainerID{Attempt: 2, ID: epoch3 + 6}, Host: []byte("w12"), Port: 45454,
			Priority: 10, Memory: 512, VCores: 1,
		},
		{ID: wire.ContainerID{Attempt: 2, ID: epoch3 + 7}, Host: []byte("w13"), Port: 45454, Memory: 1408, VCores: 2},
	}
}

func TestHadoopRegisterAndFinish(t *testing.T) {
	t.Parallel()
	got, err := wire.ParseRegisterResponse(nil, hadoop(t, "register"))
	if diff := cmp.Diff(grants(), got); err != nil || diff != "" {
		t.Errorf("register: error %v (-want +got):\n%s", err, diff)
	}
	if done, err := wire.ParseFinishResponse(hadoop(t, "finish")); err != nil || !done {
		t.Errorf("finish: %v, error %v", done, err)
	}
	if done, err := wire.ParseFinishResponse(nil); err != nil || done {
		t.Errorf("empty answer to finish: %v, error %v", done, err)
	}
}

// TestRowSize holds the measured size of rows: a host row is 61 bytes and its
// name, two more when it is strict.
func TestRowSize(t *testing.T) {
	t.Parallel()
	row := hadoop(t, "row")
	if want := "0a02081412012a1a2b"; len(row) != 60 || hex.EncodeToString(row[:9]) != want || hex.EncodeToString(row[52:]) != "20043a0408011001" {
		t.Fatalf("the row is %x, of %d bytes", row, len(row))
	}
	for _, relax := range []bool{true, false} {
		for _, name := range []string{"*", "w11", "/rack1", "host-of-a-rather-long-name-1234567.dc1.example.com"} {
			got, err := wire.AppendRow(nil, row, name, 5, relax)
			size := 61 + len(name)
			if !relax {
				size += 2
			}
			if err != nil || len(got) != size {
				t.Errorf("%s, relaxLocality %t: %d bytes, error %v, want %d", name, relax, len(got), err, size)
			}
		}
	}
}
