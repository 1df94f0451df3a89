package state

import (
	"strconv"
	"testing"
)

// Names that applications make up are not kept without end; nodes always are.
func TestHostsAreBounded(t *testing.T) {
	t.Parallel()
	var x hostNumbers
	for i := range maxHosts {
		if n := x.number(strconv.Itoa(i)); int(n) != i {
			t.Fatalf("host %d has the number %d", i, n)
		}
	}
	if n := x.number("one more"); n != noHost {
		t.Errorf("a host too many has the number %d", n)
	}
	if n := x.number("7"); n != 7 {
		t.Errorf("a host that is known has the number %d, want 7", n)
	}
	if n := x.node("one more"); n != maxHosts || x.number("one more") != n {
		t.Errorf("the host of a node has the number %d, want %d", n, maxHosts)
	}
	if n := x.number(""); n != noHost {
		t.Errorf("no host has the number %d", n)
	}
}
