//go:build linux

package hadoop

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/integration/netlab"
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
	TimelineServer  Kind = "timelineserver" // of version 1, only after [StartTimeline]
	ZooKeeper       Kind = "zookeeper"      // of a cluster with two ResourceManagers
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
	case TimelineServer:
		return "org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer", 256
	case ZooKeeper:
		return "org.apache.zookeeper.server.quorum.QuorumPeerMain", 64
	}
	return "", 0
}

// Processes is the Java processes of a cluster and what they are started with.
type Processes struct {
	hosts     map[string]*netlab.Host
	rms       []string // hosts of the ResourceManagers
	dir       string   // of the cluster
	jars      string
	javaHome  string
	archive   string // of classes, see shareClasses; empty while there is none
	scheduler Scheduler
	yarn      Settings // over those of every yarn-site.xml
	log       io.Writer
	mu        sync.Mutex // guards daemons
	daemons   map[daemonID]*daemon
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

// java turns a command into one that runs a class of these jars with a host's
// configuration. The network and the name it runs under are those of the host that starts it.
func (p *Processes) java(cmd *exec.Cmd, s site, heap int, jars []string, args ...string) *exec.Cmd {
	classPath, options := p.classPath(s, jars)
	cmd.Args = append(cmd.Args, strings.Fields(jvmFlags)...)
	cmd.Args = append(cmd.Args, "--add-opens=java.base/java.lang=ALL-UNNAMED", fmt.Sprintf("-Xmx%dm", heap),
		"-Dhadoop.home.dir="+p.dir, "-Dhadoop.log.dir="+p.logDir(), "-Dyarn.log.dir="+p.logDir(), "-Djava.io.tmpdir="+s.data("tmp"),
		"-cp", classPath)
	cmd.Args = append(cmd.Args, slices.Concat(options, args)...)
	cmd.Env = append(os.Environ(), "JAVA_HOME="+p.javaHome, "HADOOP_CONF_DIR="+s.dir())
	cmd.Dir = p.dir
	cmd.WaitDelay = stopLimit
	return cmd
}

// StartDaemon starts a daemon that is not running and returns once its process
// exists; see [Cluster.WaitHealthy] for when it works.
func (p *Processes) StartDaemon(kind Kind, host string) error {
	class, heap := kind.program()
	h := p.hosts[host]
	if class == "" || h == nil {
		return fmt.Errorf("start %s on %s: no such daemon or host", kind, host)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := daemonID{kind, host}
	if d := p.daemons[id]; d != nil && !d.ended() {
		return fmt.Errorf("start %s on %s: it is running", kind, host)
	}
	log, err := os.OpenFile(p.LogFile(kind, host), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s on %s: %w", kind, host, err)
	}
	defer log.Close() //nolint:errcheck // the daemon writes it, not we
	args := []string{"-Dproc_" + string(kind), class}
	if kind == ZooKeeper {
		args = append(args, p.site(host).zooKeeperFile())
	}
	cmd := p.java(exec.Command(p.javaFile()), p.site(host), heap, []string{p.jars}, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := h.Start(cmd); err != nil {
		return fmt.Errorf("start %s on %s: %w", kind, host, err)
	}
	logf(p.log, "start %s on %s", kind, host)
	d := &daemon{pid: cmd.Process.Pid, done: make(chan struct{})}
	p.daemons[id] = d
	go func() {
		defer close(d.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return nil
}

// StopDaemon asks a daemon to end and waits for that; one that takes too long is killed.
func (p *Processes) StopDaemon(kind Kind, host string) error {
	d, err := p.signal(kind, host, syscall.SIGTERM)
	if err != nil {
		return err
	}
	patience := time.NewTimer(stopLimit)
	defer patience.Stop()
	select {
	case <-d.done:
		return nil
	case <-patience.C:
		return p.KillDaemon(kind, host)
	}
}

// KillDaemon ends a daemon as kill -9 does and waits until it is gone.
// Containers of a killed NodeManager run on, as they do on real machines.
func (p *Processes) KillDaemon(kind Kind, host string) error {
	d, err := p.signal(kind, host, syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-d.done
	return nil
}

func (p *Processes) signal(kind Kind, host string, sig syscall.Signal) (*daemon, error) {
	p.mu.Lock()
	d := p.daemons[daemonID{kind, host}]
	p.mu.Unlock()
	if d == nil || d.ended() {
		return nil, fmt.Errorf("send %v to %s on %s: it is not running", sig, kind, host)
	}
	logf(p.log, "%v %s on %s", sig, kind, host)
	if err := syscall.Kill(d.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("send %v to %s on %s: %w", sig, kind, host, err)
	}
	return d, nil
}

// PID is the process id of a daemon, or zero when it is not running.
func (p *Processes) PID(kind Kind, host string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.daemons[daemonID{kind, host}]; d != nil && !d.ended() {
		return d.pid
	}
	return 0
}

// LogFile is where a daemon writes, over all its starts.
func (p *Processes) LogFile(kind Kind, host string) string {
	return filepath.Join(p.logDir(), string(kind)+"-"+host+".log")
}

func (p *Processes) javaFile() string { return filepath.Join(p.javaHome, "bin", "java") }

// site is a host's configuration.
func (p *Processes) site(host string) site {
	return site{root: p.dir, jars: p.jars, host: host, archive: p.archive, scheduler: p.scheduler, more: p.yarn, rms: p.rms}
}

func (p *Processes) logDir() string { return filepath.Join(p.dir, "logs") }

// waitProcesses waits until every process of every daemon has ended.
func (p *Processes) waitProcesses() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.daemons {
		<-d.done
	}
	clear(p.daemons)
}

// endedDaemons returns an error if daemons have ended by themselves.
func (p *Processes) endedDaemons() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for id, d := range p.daemons {
		if d.ended() {
			errs = append(errs, fmt.Errorf("%s on %s has ended: %s", id.kind, id.host, p.logExcerpt(id)))
		}
	}
	return errors.Join(errs...)
}

// logExcerpt returns the last error of a daemon's log, or else its last lines.
func (p *Processes) logExcerpt(id daemonID) string {
	text, err := os.ReadFile(p.LogFile(id.kind, id.host))
	if err != nil {
		return err.Error()
	}
	const tail, most = 15, 25
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	from := max(0, len(all)-tail)
	for i, line := range all {
		if strings.Contains(line, " ERROR ") || strings.Contains(line, " FATAL ") {
			from = i
		}
	}
	return strings.Join(all[from:min(len(all), from+most)], "\n")
}
