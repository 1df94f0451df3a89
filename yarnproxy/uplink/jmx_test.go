package uplink

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func testdata(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func TestDecode(t *testing.T) {
	t.Parallel()
	shuffle, dataNode := string(testdata(t, "nodemanager-shuffle.json")), string(testdata(t, "datanode-activity.json"))
	for _, c := range []struct {
		name   string
		body   string
		decode func([]byte) ([]int64, error)
		want   []int64
		err    string
	}{
		{"shuffle", shuffle, decodeShuffle, []int64{208012345}, ""},
		{"data node", dataNode, decodeDataNode, []int64{65436803, 53548371}, ""},
		{"one bean for a list, numbers as strings", `{"beans":{"name":"Hadoop:service=NodeManager,name=ShuffleMetrics","ShuffleOutputBytes":"9007199254740993"}}`, decodeShuffle, []int64{9007199254740993}, ""},
		{"no beans", `{"beans":[]}`, decodeShuffle, nil, "aux-services"},
		{"wrong bean", dataNode, decodeShuffle, nil, "no such bean"},
		{"counter missing", `{"beans":[{"name":"Hadoop:service=DataNode,name=DataNodeActivity-w1-9866","RemoteBytesRead":5}]}`, decodeDataNode, nil, "missing or negative"},
		{"counter negative", strings.Replace(shuffle, "208012345", "-1", 1), decodeShuffle, nil, "missing or negative"},
		{"half", shuffle[:200], decodeShuffle, nil, "unexpected end"},
		{"page", "<html></html>", decodeDataNode, nil, "invalid character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.decode([]byte(c.body))
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func FuzzDecodeShuffle(f *testing.F) {
	f.Add(testdata(f, "nodemanager-shuffle.json"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := decodeShuffle(body); err == nil && (len(got) != 1 || got[0] < 0) {
			t.Errorf("%q gives %v", body, got)
		}
	})
}

func FuzzDecodeDataNode(f *testing.F) {
	f.Add(testdata(f, "datanode-activity.json"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := decodeDataNode(body); err == nil && (len(got) != 2 || got[0] < 0 || got[1] < 0) {
			t.Errorf("%q gives %v", body, got)
		}
	})
}
