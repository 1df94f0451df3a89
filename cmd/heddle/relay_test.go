package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/integration/fakehadoop"
)

// echo answers every byte with itself.
func echo(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// says wants a text back from the other end of a connection.
func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len(text))
	if _, err := io.ReadFull(c, back); err != nil || string(back) != text {
		t.Fatalf("%q came back as %q, %v", text, back, err)
	}
}

// freePort is an address that nobody has: two processes in a row are to have the
// same. Its port is below those that the kernel gives to servers and clients that
// name none (32768 and above, ip_local_port_range), so that nobody else's takes it
// between the two.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port among 100 tried")
	return ""
}

// TestServeUpgrade starts a second heddle with the same configuration beside one
// that runs: it takes relay and addresses over, a connection goes on, and the
// first one ends in order.
func TestServeUpgrade(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	relay := freePort(t)
	config := writeFile(t, "heddle.yml", fastConfig(site, "mode: advise", "mode: enforce", `"127.0.0.1:0"`, freePort(t))+
		fmt.Sprintf("relay: {listeners: [{address: %q, upstream: %q}], journal: %q, handover_socket: %q}\n",
			relay, echo(t), t.TempDir(), filepath.Join(t.TempDir(), "socket")))
	first := spawn(t, "serve", "--config", config)
	first.serves()
	c, err := net.Dial("tcp", relay)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	says(t, c, "no Hadoop RPC: it goes on as it comes")
	second := spawn(t, "serve", "--config", config)
	first.ends(exit.OK)
	says(t, c, "as before")
	second.serves()
	if err := second.shows(`heddle_relay_connections{kind="blind"}`, 1); err != nil {
		t.Error(err)
	}
	for p, want := range map[*process][]string{
		first:  {"another heddle takes over", "handed over; this heddle ends: connections=1", "stopped"},
		second: {"taking its relay over when the cluster is known here", "took over from another heddle: connections=1", "serving"},
	} {
		for _, text := range want {
			if len(p.log.lines(text)) == 0 {
				t.Errorf("no %q in\n%s", text, p.log)
			}
		}
		if got := append(p.log.lines("[ERROR]"), p.log.lines("[WARN]")...); len(got) > 0 {
			t.Errorf("said %s", strings.Join(got, "\n"))
		}
	}
	again, err := net.Dial("tcp", relay)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	says(t, again, "a new one")
}
