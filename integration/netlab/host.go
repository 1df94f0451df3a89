//go:build linux

package netlab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is a network namespace and a host name: a machine, a switch or a
// router. It lives until closed and until its last process has ended.
type Host struct {
	name string
	net  *os.File
	uts  *os.File
}

// NewHost makes a host with nothing but its loopback interface, which is up.
func NewHost(name string) (*Host, error) {
	h := &Host{name: name}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWUTS); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(name)); err != nil {
			return err
		}
		var err error
		if h.net, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		h.uts, err = os.Open("/proc/thread-self/ns/uts")
		return err
	})
	if err == nil {
		err = h.IP("link set dev lo up")
	}
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("make host %s: %w", name, err)
	}
	return h, nil
}

// Name is the host's name, as hostname(1) prints it there.
func (h *Host) Name() string { return h.name }

// Close lets go of the host. Processes that run there are not touched; see [Host.Kill].
func (h *Host) Close() {
	for _, f := range []*os.File{h.net, h.uts} {
		if f != nil {
			_ = f.Close() // a namespace handle has nothing to flush
		}
	}
}

// Do calls f on a thread that is on the host: sockets opened, files of
// /proc/thread-self/net and /proc/sys/net read, and processes started by f are the host's.
func (h *Host) Do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(h.net.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter host %s: %w", h.name, err)
		}
		if err := unix.Setns(int(h.uts.Fd()), unix.CLONE_NEWUTS); err != nil {
			return fmt.Errorf("enter host %s: %w", h.name, err)
		}
		return f()
	})
}

// Start starts the command on the host.
func (h *Host) Start(cmd *exec.Cmd) error { return h.Do(cmd.Start) }

// IP runs lines of ip(8) on the host, all in one process.
func (h *Host) IP(lines ...string) error {
	return h.Do(func() error { return IP(lines...) })
}

// Forward makes the host a router between its interfaces.
func (h *Host) Forward() error {
	return h.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o600); err != nil {
			return fmt.Errorf("let %s forward: %w", h.name, err)
		}
		return nil
	})
}

// Shape limits what the host sends on an interface to a rate in Mbit/s,
// decimal. Zero takes the limit away.
func (h *Host) Shape(dev string, mbit int) error {
	// The burst holds several of the 64 KiB packets that segmentation offload makes.
	args := []string{"qdisc", "replace", "dev", dev, "root", "tbf", "rate", strconv.Itoa(mbit) + "mbit", "burst", "256kb", "latency", "50ms"}
	if mbit == 0 {
		// noqueue is what a veth has by itself, and unlike "del" may be set twice.
		args = []string{"qdisc", "replace", "dev", dev, "root", "noqueue"}
	}
	return h.Do(func() error { return tool("", "tc", args...) })
}

// Traffic is what an interface has carried since it was made, in bytes with
// link-layer headers.
type Traffic struct {
	Received int64
	Sent     int64
}

// Traffic reads the counters of every interface of the host.
func (h *Host) Traffic() (map[string]Traffic, error) {
	var text []byte
	err := h.Do(func() error {
		var err error
		text, err = os.ReadFile("/proc/thread-self/net/dev")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read interface counters of %s: %w", h.name, err)
	}
	return parseDev(text)
}

// parseDev reads /proc/net/dev: two lines of head, then a line for each
// interface with its name, a colon and 16 numbers, of which the 1st is bytes
// received and the 9th bytes sent (proc_pid_net(5)).
func parseDev(text []byte) (map[string]Traffic, error) {
	all := make(map[string]Traffic)
	in := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; in.Scan(); n++ {
		if n <= 2 {
			continue
		}
		name, rest, ok := strings.Cut(in.Text(), ":")
		f := strings.Fields(rest)
		if !ok || len(f) < 9 {
			return nil, fmt.Errorf("read interface counters: line %d is not a name and 16 numbers", n)
		}
		received, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read interface counters: line %d: %w", n, err)
		}
		sent, err := strconv.ParseInt(f[8], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read interface counters: line %d: %w", n, err)
		}
		all[strings.TrimSpace(name)] = Traffic{received, sent}
	}
	return all, in.Err()
}

// Pids lists the processes on the host, this one never among them.
func (h *Host) Pids() ([]int, error) {
	var want unix.Stat_t
	if err := unix.Fstat(int(h.net.Fd()), &want); err != nil {
		return nil, fmt.Errorf("list processes of %s: %w", h.name, err)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range dirs {
		var st unix.Stat_t
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || unix.Stat(dir+"/ns/net", &st) != nil {
			continue // not a process, ourselves, or a process that has just ended
		}
		if st.Ino == want.Ino && st.Dev == want.Dev {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Kill kills every process on the host, by its id, as a power cut would. It
// does not wait for them to be gone.
func (h *Host) Kill() error {
	pids, err := h.Pids()
	for _, pid := range pids {
		if e := unix.Kill(pid, unix.SIGKILL); e != nil && !errors.Is(e, unix.ESRCH) {
			err = errors.Join(err, fmt.Errorf("kill process %d of %s: %w", pid, h.name, e))
		}
	}
	return err
}

// path names the host's network namespace for ip(8).
func (h *Host) path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), h.net.Fd())
}

// End is one end of a link: an interface on a host. A nil host is the place
// where this program itself runs.
type End struct {
	Host *Host
	Dev  string
}

// args are the words of ip(8) that say where the end's interface is.
func (e End) args() string {
	if e.Host == nil {
		return e.Dev
	}
	return e.Dev + " netns " + e.Host.path()
}

// up sets the end's interface up.
func (e End) up() error {
	if e.Host == nil {
		return IP("link set dev " + e.Dev + " up")
	}
	return e.Host.IP("link set dev " + e.Dev + " up")
}

// Join lays a cable: a veth pair with one interface at each end, both up.
func Join(a, b End) error {
	err := IP("link add name " + a.args() + " type veth peer name " + b.args())
	if err == nil {
		err = errors.Join(a.up(), b.up())
	}
	if err != nil {
		return fmt.Errorf("join %s and %s: %w", a.Dev, b.Dev, err)
	}
	return nil
}

// IP runs lines of ip(8) where this program itself runs, all in one process.
func IP(lines ...string) error {
	return tool(strings.Join(lines, "\n")+"\n", "ip", "-batch", "-")
}

// tool runs a command that answers at once.
func tool(stdin, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.TrimSpace(strings.Join(args, " ")+" "+stdin), err, bytes.TrimSpace(out))
	}
	return nil
}

// onThread calls f on a thread of its own, which ends with f: what f does to
// the thread's namespaces touches no other goroutine.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the runtime throws the thread away
		done <- f()
	}()
	return <-done
}
