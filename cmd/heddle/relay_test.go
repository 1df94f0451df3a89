package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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
func freePort(tb testing.TB) string {
	tb.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	tb.Fatal("no free port among 100 tried")
	return ""
}

// relayConfig is the configuration of a heddle whose relay passes on to an upstream.
func relayConfig(t *testing.T, site *fakehadoop.Site, relay, upstream string) (config string) {
	t.Helper()
	return writeFile(t, "heddle.yml", fastConfig(site, "mode: advise", "mode: enforce")+
		fmt.Sprintf("relay: {listeners: [{address: %q, upstream: %q}], socket: %q, web_listen_address: \"127.0.0.1:0\"}\n",
			relay, upstream, filepath.Join(t.TempDir(), "relay.sock")))
}

// relays waits until a process says where its metrics are, which it does when it listens.
func (p *process) relays() {
	p.t.Helper()
	eventually(p.t, "the relay's address in the log", func() error {
		m := regexp.MustCompile(`relaying.*url=(http://\S+)`).FindStringSubmatch(p.log.String())
		if m == nil {
			return errors.New("not yet")
		}
		p.url = m[1]
		return nil
	})
}

// TestTwoProcesses: serve and the relay find each other in any order. Restarts and deaths of serve touch no connection,
// and each process says whether the other is there.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	listen := freePort(t)
	config := relayConfig(t, site, listen, echo(t))
	linked := func(p *process, want float64) {
		t.Helper()
		eventually(t, "heddle_relay_linked", func() error { return p.shows("heddle_relay_linked", want) })
	}
	first := spawn(t, "serve", "--config", config)
	first.serves()
	linked(first, 0)
	if status, body, _ := first.get("/v1/relay"); status != http.StatusBadGateway || !strings.Contains(body, "heddle relay") {
		t.Errorf("/v1/relay without a relay: %d %s", status, body)
	}
	if len(first.log.lines("no relay is linked: nothing is steered; run 'heddle relay'")) == 0 {
		t.Errorf("a serve that enforces does not say that no relay is there:\n%s", first.log)
	}
	relay := spawn(t, "relay", "--config", config)
	relay.relays()
	linked(first, 1)
	linked(relay, 1)
	c, err := net.Dial("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	says(t, c, "no Hadoop RPC: it goes on as it comes")
	if err := relay.shows(`heddle_relay_connections{kind="blind"}`, 1); err != nil {
		t.Error(err)
	}
	if status, body, _ := first.get("/v1/relay"); status != http.StatusOK || !strings.Contains(body, `"blind_connections":1`) {
		t.Errorf("/v1/relay: %d %s", status, body)
	}
	for _, end := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		first.signal(end)
		linked(relay, 0)
		says(t, c, "as before")
		first = spawn(t, "serve", "--config", config)
		first.serves()
		linked(relay, 1)
		says(t, c, "as before")
	}
	if status, body, _ := relay.get("/healthz"); status != http.StatusOK || !strings.Contains(body, `"serve_linked":true`) || !strings.Contains(body, `"enforcing":true`) {
		t.Errorf("/healthz: %d %s", status, body)
	}
	second := spawn(t, "relay", "--config", config)
	second.ends(exit.Failed)
	if len(second.log.lines("another 'heddle relay' listens there")) == 0 {
		t.Errorf("a second relay says\n%s", second.log)
	}
	relay.signal(syscall.SIGTERM)
	relay.ends(exit.OK)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the relay has ended, and a connection goes on")
	}
	linked(first, 0)
}

// TestRelayWatchdog: the relay notifies its supervisor when it is ready and, as often as a watchdog wants, that it
// answers. A relay that hangs is silent.
func TestRelayWatchdog(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	config := relayConfig(t, site, "127.0.0.1:0", echo(t))
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	told := func(within time.Duration) string {
		t.Helper()
		buf := make([]byte, 1000)
		socket.SetReadDeadline(time.Now().Add(within))
		n, err := socket.Read(buf)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	relay := spawnIn(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=300000"}, "relay", "--config", config)
	for i, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if got := told(20 * time.Second); got != want {
			t.Fatalf("message %d is %q, want %q", i, got, want)
		}
	}
	relay.signal(syscall.SIGSTOP)
	for told(2*time.Second) != "" { // sent before
	}
	relay.signal(syscall.SIGCONT)
	if got := told(20 * time.Second); got != "WATCHDOG=1" {
		t.Errorf("a relay that goes on sends %q", got)
	}
	relay.signal(syscall.SIGTERM)
	relay.ends(exit.OK)

	other := spawnIn(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=300000", "WATCHDOG_PID=1"}, "relay", "--config", config)
	for told(20*time.Second) != "READY=1" { // the first one's are before it
	}
	if got := told(700 * time.Millisecond); got != "" {
		t.Errorf("the watchdog of another process gets %q", got)
	}
	other.signal(syscall.SIGTERM)
	other.ends(exit.OK)
	filling, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer filling.Close()
	for err == nil { // until a write would wait
		filling.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = filling.Write([]byte("STATUS=not the relay's"))
	}
	unread := spawnIn(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=300000"}, "relay", "--config", config)
	unread.relays() // a supervisor that does not read keeps nobody
	unread.signal(syscall.SIGTERM)
	unread.ends(exit.OK)
	odd := spawnIn(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=soon"}, "relay", "--config", config)
	odd.ends(exit.Failed)
}

// TestServeThatSteersNothing: a serve that enforces a policy which ranks jobs only warns of it, at its start and when a
// reload brings one, and a serve with another policy does not.
func TestServeThatSteersNothing(t *testing.T) {
	t.Parallel()
	config := relayConfig(t, fakehadoop.Start(t), "127.0.0.1:0", echo(t))
	const warning = "mode enforce steers nothing"
	p := spawn(t, "serve", "--config", config)
	p.serves()
	if len(p.log.lines(warning)) > 0 {
		t.Errorf("with the default policy:\n%s", p.log)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(text, "policy: {name: num}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	warned := func(p *process) {
		t.Helper()
		eventually(t, "a warning", func() error {
			if len(p.log.lines(warning)) != 1 {
				return errors.New("not once")
			}
			return nil
		})
	}
	warned(p)
	warned(spawn(t, "serve", "--config", config))
}

// TestRelayReload: SIGHUP switches enforcement off, and a mode without a relay is refused at the start.
func TestRelayReload(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	config := relayConfig(t, site, "127.0.0.1:0", echo(t))
	relay := spawn(t, "relay", "--config", config)
	relay.relays()
	if err := relay.shows("heddle_relay_enforcing", 1); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), "mode: enforce", "mode: advise", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.signal(syscall.SIGHUP)
	eventually(t, "enforcement ends", func() error { return relay.shows("heddle_relay_enforcing", 0) })
	observing := spawn(t, "relay", "--config", config, "--mode", "observe")
	observing.ends(exit.Failed)
	if len(observing.log.lines("wants no relay")) == 0 {
		t.Errorf("a relay in mode observe says\n%s", observing.log)
	}
}
