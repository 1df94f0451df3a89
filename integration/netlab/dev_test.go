//go:build linux

package netlab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const devHead = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`

func TestParseDev(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, err string
		want            map[string]Traffic
	}{
		{
			"two", devHead + "    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n" +
				" rack1: 1234567890123    9    0    0    0     0          0         0      567       5    0    0    0     0       0          0\n", "",
			map[string]Traffic{"lo": {}, "rack1": {1234567890123, 567}},
		},
		{"none", devHead, "", map[string]Traffic{}},
		{"short line", devHead + "rack1: 1 2 3\n", "line 3", nil},
		{"no number", devHead + "rack1: x 2 3 4 5 6 7 8 9\n", "line 3", nil},
		{"no number sent", devHead + "rack1: 1 2 3 4 5 6 7 8 x\n", "line 3", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseDev([]byte(tt.text))
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
