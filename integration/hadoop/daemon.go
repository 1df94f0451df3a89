//go:build linux

package hadoop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Kind is a kind of Hadoop daemon.
type Kind string

// The daemons of a cluster.
const (
	NameNode        Kind = "namenode"
	DataNode        Kind = "datanode"
	ResourceManager Kind = "resourcemanager"
	NodeManager     Kind = "nodemanager"
	HistoryServer   Kind = "historyserver"
)

// stopLimit is how long a daemon may take to end when asked to.
const stopLimit = 20 * time.Second

// program is the main class of a daemon and its heap in MiB.
func (k Kind) program() (class string, heap int) {
	switch k {
	case NameNode:
		return "org.apache.hadoop.hdfs.server.namenode.NameNode", 256
	case DataNode:
		return "org.apache.hadoop.hdfs.server.datanode.DataNode", 128
	case ResourceManager:
		return "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", 384
	case NodeManager:
		return "org.apache.hadoop.yarn.server.nodemanager.NodeManager", 160
	case HistoryServer:
		return "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 256
	}
	return "", 0
}

// daemonID is one daemon of the cluster.
type daemonID struct {
	kind Kind
	host string
}

// daemon is a running process of a daemon.
type daemon struct {
	pid  int
	done chan struct{} // closed when the process has ended
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// java is the command that runs a class with a host's configuration. The
// network and the name it runs under are those of the host that starts it.
func (c *Cluster) java(ctx context.Context, s site, heap int, args ...string) *exec.Cmd {
	flags := append(strings.Fields(jvmFlags), "--add-opens=java.base/java.lang=ALL-UNNAMED", fmt.Sprintf("-Xmx%dm", heap),
		"-Dhadoop.home.dir="+c.dir, "-Dhadoop.log.dir="+c.logDir(), "-Dyarn.log.dir="+c.logDir(),
		"-cp", strings.Join([]string{s.dir(), filepath.Join(c.dir, "web"), c.jars + "/*"}, ":"))
	cmd := exec.CommandContext(ctx, filepath.Join(c.javaHome, "bin", "java"), append(flags, args...)...) //nolint:gosec // what tests are to run
	cmd.Env = append(os.Environ(), "JAVA_HOME="+c.javaHome, "HADOOP_CONF_DIR="+s.dir())
	cmd.Dir = c.dir
	cmd.WaitDelay = stopLimit
	return cmd
}

// StartDaemon starts a daemon that is not running and returns once its process
// exists; see [Cluster.WaitHealthy] for when it works.
func (c *Cluster) StartDaemon(kind Kind, host string) error {
	class, heap := kind.program()
	h := c.hosts[host]
	if class == "" || h == nil {
		return fmt.Errorf("start %s on %s: no such daemon or host", kind, host)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := daemonID{kind, host}
	if d := c.daemons[id]; d != nil && !d.ended() {
		return fmt.Errorf("start %s on %s: it is running", kind, host)
	}
	log, err := os.OpenFile(c.LogFile(kind, host), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s on %s: %w", kind, host, err)
	}
	defer log.Close() //nolint:errcheck // the daemon writes it, not we
	// A daemon outlives the context of the call that started it.
	cmd := c.java(context.Background(), c.site(host), heap, "-Dproc_"+string(kind), class)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := h.Start(cmd); err != nil {
		return fmt.Errorf("start %s on %s: %w", kind, host, err)
	}
	d := &daemon{pid: cmd.Process.Pid, done: make(chan struct{})}
	c.daemons[id] = d
	go func() {
		defer close(d.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return nil
}

// StopDaemon asks a daemon to end and waits for that; one that takes too long is killed.
func (c *Cluster) StopDaemon(kind Kind, host string) error {
	d, err := c.signal(kind, host, syscall.SIGTERM)
	if err != nil {
		return err
	}
	patience := time.NewTimer(stopLimit)
	defer patience.Stop()
	select {
	case <-d.done:
		return nil
	case <-patience.C:
		return c.KillDaemon(kind, host)
	}
}

// KillDaemon ends a daemon as kill -9 does and waits until it is gone.
// Containers of a killed NodeManager run on, as they do on real machines.
func (c *Cluster) KillDaemon(kind Kind, host string) error {
	d, err := c.signal(kind, host, syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-d.done
	return nil
}

func (c *Cluster) signal(kind Kind, host string, sig syscall.Signal) (*daemon, error) {
	c.mu.Lock()
	d := c.daemons[daemonID{kind, host}]
	c.mu.Unlock()
	if d == nil || d.ended() {
		return nil, fmt.Errorf("send %v to %s on %s: it is not running", sig, kind, host)
	}
	if err := syscall.Kill(d.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("send %v to %s on %s: %w", sig, kind, host, err)
	}
	return d, nil
}

// PID is the process id of a daemon, or zero when it is not running.
func (c *Cluster) PID(kind Kind, host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.daemons[daemonID{kind, host}]; d != nil && !d.ended() {
		return d.pid
	}
	return 0
}

// LogFile is where a daemon writes, over all its starts.
func (c *Cluster) LogFile(kind Kind, host string) string {
	return filepath.Join(c.logDir(), string(kind)+"-"+host+".log")
}

func (c *Cluster) logDir() string { return filepath.Join(c.dir, "logs") }

// crashed tells of daemons that have ended by themselves.
func (c *Cluster) crashed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for id, d := range c.daemons {
		if d.ended() {
			errs = append(errs, fmt.Errorf("%s on %s has ended: %s", id.kind, id.host, c.lastWords(id)))
		}
	}
	return errors.Join(errs...)
}

// lastWords is the end of a daemon's log.
func (c *Cluster) lastWords(id daemonID) string {
	text, err := os.ReadFile(c.LogFile(id.kind, id.host))
	if err != nil {
		return err.Error()
	}
	const lines = 15
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
