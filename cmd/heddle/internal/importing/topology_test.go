package importing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
)

func TestReadTopology(t *testing.T) {
	t.Parallel()
	got, err := readTopology(strings.NewReader("# racks\nb1\t/b\na2 /a\n\na1 /a\n"), "t")
	if diff := cmp.Diff(map[model.RackID][]string{"/a": {"a1", "a2"}, "/b": {"b1"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{ // order-free: each on its own
		"":              "t has no host",
		"a /r\nb":       `t:2: want a host and its rack, has "b"`,
		"a /r\na /r":    "t:2: host a is there twice",
		"a r":           `t:1: rack "r": want a name such as /rack1`,
		"a /r # a note": `t:1: want a host and its rack`,
	} {
		if _, err := readTopology(strings.NewReader(text), "t"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadTopology(f *testing.F) {
	f.Add("a /r\nb /r\n# c\n")
	f.Fuzz(func(t *testing.T, text string) {
		racks, err := readTopology(strings.NewReader(text), "t")
		if (err == nil) != (len(racks) > 0) {
			t.Fatalf("%v, %v", racks, err)
		}
	})
}
