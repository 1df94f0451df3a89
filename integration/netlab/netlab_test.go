//go:build linux

package netlab_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/netlab"
)

// TestMain runs the tests in a sandbox where one can be had, and lets those
// that need one skip where not.
func TestMain(m *testing.M) {
	netlab.Boot()
	act := os.Getenv(actVar)
	switch {
	case netlab.Inside() && act != "":
		os.Exit(play(act))
	case netlab.Inside():
		os.Exit(m.Run())
	case act != "":
		os.Exit(enter(os.Getenv(actDirVar)))
	}
	os.Exit(outside(m))
}

func outside(m *testing.M) int {
	dir, err := os.MkdirTemp("", "heddle-netlab-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	why := netlab.WhyUnavailable(dir)
	for _, name := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(name); err != nil {
			why = name + " is not installed"
		}
	}
	if why != "" {
		fmt.Println("netlab: no sandbox here:", why)
		return m.Run()
	}
	return enter(dir)
}

func enter(dir string) int {
	code, err := netlab.Enter(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// A copy of this test binary with actVar set plays a program that leaves a
// process behind on a host of its sandbox, and then stays or ends.
const (
	actVar    = "NETLAB_TEST_ACT"
	actDirVar = "NETLAB_TEST_DIR"
)

func play(act string) int {
	h, err := netlab.NewHost("h")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// The process holds on to standard output as long as it lives, in a session of its own.
	sleep := exec.Command("sleep", "86399")
	sleep.Stdout = os.Stdout
	sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := h.Start(sleep); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	if act == "exit" {
		return 7
	}
	select {}
}

// TestNothingOutlivesTheProgram ends a sandboxed program in several ways and
// waits for the end of its standard output, which comes when the last process that holds it is gone.
func TestNothingOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	tests := []struct {
		name, act string
		end       syscall.Signal
		status    int
	}{
		{"exit", "exit", 0, 7},
		{"interrupt", "stay", syscall.SIGINT, 130},
		{"terminate", "stay", syscall.SIGTERM, 143},
		{"kill", "stay", syscall.SIGKILL, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var env []string
			for _, kv := range os.Environ() {
				if !strings.HasPrefix(kv, "HEDDLE_SANDBOX") {
					env = append(env, kv)
				}
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(env, actVar+"="+tt.act, actDirVar+"="+t.TempDir())
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("the program says %q, want ready", lines.Text())
			}
			if tt.end != 0 {
				if err := cmd.Process.Signal(tt.end); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan bool)
			go func() {
				for lines.Scan() {
				}
				close(ended)
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("a process of the sandbox lives on")
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
		})
	}
}

func needSandbox(t *testing.T) {
	t.Helper()
	if !netlab.Inside() {
		t.Skip("no sandbox here, see the first line of the output")
	}
}

// twoHosts joins a and b through a router: 10.1.0.2 - 10.1.0.1|10.2.0.1 - 10.2.0.2.
func twoHosts(t *testing.T) (a, router, b *netlab.Host) {
	t.Helper()
	hosts := make([]*netlab.Host, 0, 3)
	for _, name := range []string{"a", "router", "b"} {
		h, err := netlab.NewHost(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		hosts = append(hosts, h)
	}
	a, router, b = hosts[0], hosts[1], hosts[2]
	for _, err := range []error{
		netlab.Join(netlab.End{Host: a, Dev: "eth0"}, netlab.End{Host: router, Dev: "left"}),
		netlab.Join(netlab.End{Host: b, Dev: "eth0"}, netlab.End{Host: router, Dev: "right"}),
		a.IP("addr add 10.1.0.2/24 dev eth0", "route add default via 10.1.0.1"),
		b.IP("addr add 10.2.0.2/24 dev eth0", "route add default via 10.2.0.1"),
		router.IP("addr add 10.1.0.1/24 dev left", "addr add 10.2.0.1/24 dev right"),
		router.Forward(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, router, b
}

// send carries n bytes from host a to address addr on host b over TCP.
func send(t *testing.T, a, b *netlab.Host, addr string, n int) {
	t.Helper()
	var ln net.Listener
	if err := b.Do(func() (err error) { ln, err = net.Listen("tcp4", addr+":0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var out net.Conn
	if err := a.Do(func() (err error) { out, err = net.Dial("tcp4", ln.Addr().String()); return err }); err != nil {
		t.Fatal(err)
	}
	in, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	go func() {
		_, _ = out.Write(make([]byte, n))
		_ = out.Close()
	}()
	got, buf := 0, make([]byte, 1<<16)
	for {
		k, err := in.Read(buf)
		got += k
		if err != nil {
			break
		}
	}
	if got != n {
		t.Fatalf("received %d bytes of %d", got, n)
	}
}

func TestRouterCarriesAndCounts(t *testing.T) {
	needSandbox(t)
	a, router, b := twoHosts(t)
	const n = 1 << 20
	send(t, a, b, "10.2.0.2", n)
	all, err := router.Traffic()
	if err != nil {
		t.Fatal(err)
	}
	// Headers and acknowledgements come on top of the payload, a few per cent.
	if got := all["left"].Received; got < n || got > n*11/10 {
		t.Errorf("left received %d bytes, want %d and a little", got, n)
	}
	if got := all["right"].Sent; got < n || got > n*11/10 {
		t.Errorf("right sent %d bytes, want %d and a little", got, n)
	}
}

func TestShape(t *testing.T) {
	needSandbox(t)
	a, router, b := twoHosts(t)
	for _, mbit := range []int{8, 0, 0, 1000, 8} {
		if err := router.Shape("right", mbit); err != nil {
			t.Fatalf("shape to %d Mbit/s: %v", mbit, err)
		}
	}
	// The bucket starts full with 256 KiB; the rest flows at 1 MB/s.
	cmd := exec.Command("tc", "-s", "qdisc", "show", "dev", "right")
	send(t, a, b, "10.2.0.2", 1<<20)
	var text []byte
	if err := router.Do(func() (err error) { text, err = cmd.Output(); return err }); err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(strings.NewReplacer(",", " ", ")", " ").Replace(string(text)))
	i := slices.Index(f, "overlimits")
	if i < 0 || i+1 >= len(f) {
		t.Fatalf("no count of held packets in %q", text)
	}
	if held, err := strconv.Atoi(f[i+1]); err != nil || held == 0 {
		t.Errorf("no packet was ever held back by the shaper: %q", text)
	}
}

func TestHostHasItsNameAndItsProcesses(t *testing.T) {
	needSandbox(t)
	h, err := netlab.NewHost("w11")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	name := exec.Command("uname", "-n")
	if err := h.Do(func() error { out, err := name.Output(); return errors.Join(err, wantName(out)) }); err != nil {
		t.Error(err)
	}
	sleep := exec.Command("sleep", "1000")
	if err := h.Start(sleep); err != nil {
		t.Fatal(err)
	}
	pids, err := h.Pids()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(pids, []int{sleep.Process.Pid}) {
		t.Errorf("processes %v, want %d alone", pids, sleep.Process.Pid)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sleep.Wait()
	if ws := sleep.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %v, want killed", ws)
	}
}

func wantName(out []byte) error {
	if got := strings.TrimSpace(string(out)); got != "w11" {
		return fmt.Errorf("the host calls itself %q, want w11", got)
	}
	return nil
}

func TestNamesComeFromTheHostsFileAlone(t *testing.T) {
	needSandbox(t)
	if err := os.WriteFile(netlab.HostsFile(), []byte("127.0.0.1 localhost\n10.9.8.7 somewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "10.9.8.7 somewhere") {
		t.Errorf("/etc/hosts is %q, not the sandbox's own", text)
	}
	addrs, err := net.DefaultResolver.LookupHost(t.Context(), "somewhere")
	if err != nil || !slices.Equal(addrs, []string{"10.9.8.7"}) {
		t.Errorf("somewhere is at %v, %v; want 10.9.8.7", addrs, err)
	}
}

func TestProcessesAreOurs(t *testing.T) {
	needSandbox(t)
	// Process 1 is this very program, so the process table is the sandbox's own.
	one, err := os.Readlink("/proc/1/exe")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if one != self || os.Getppid() != 1 {
		t.Errorf("process 1 is %s and our parent %d, want %s and 1", one, os.Getppid(), self)
	}
}
