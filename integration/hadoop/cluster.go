//go:build linux

package hadoop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"heddle/integration/netlab"
)

// Options are the choices for a cluster. The zero value of each field means its default.
type Options struct {
	Racks        int       // 2 by default, at most 9
	HostsPerRack int       // 2 by default, at most 9
	Scheduler    Scheduler // Capacity by default
	UplinkMbit   int       // rate of every rack's uplink and direction, decimal; unlimited by default
	RMs          int       // ResourceManagers: 1 by default, or 2 with ZooKeeper and automatic failover
	YARN         Settings  // in every yarn-site.xml, over what is there without
	Log          io.Writer // what is going on, a line at a time; nowhere by default
}

// Cluster is a running Hadoop.
type Cluster struct {
	*Network
	*Processes
	*ResourceManagers
	*Jobs

	http *http.Client
}

// Start boots a cluster and returns when all of it works: every DataNode and
// NodeManager has registered, the NameNode has left safe mode, and the
// JobHistory server answers. A sandbox holds one cluster at a time.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if !netlab.Inside() {
		return nil, errors.New("start a cluster: not in a sandbox; call hadoop.Main in TestMain")
	}
	if o.Racks == 0 {
		o.Racks = 2
	}
	if o.HostsPerRack == 0 {
		o.HostsPerRack = 2
	}
	if o.Scheduler == "" {
		o.Scheduler = Capacity
	}
	if o.RMs == 0 {
		o.RMs = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	c, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	err = c.boot(ctx)
	if err == nil {
		err = shareClasses(ctx, c)
	}
	if err := errors.Join(err, c.Shape(o.UplinkMbit)); err != nil {
		return nil, fmt.Errorf("start a cluster in %s: %w", c.dir, errors.Join(err, c.Close()))
	}
	return c, nil
}

// prepare makes all that the daemons need to start.
func prepare(ctx context.Context, o Options) (*Cluster, error) {
	jars, err := hadoopJars().ready()
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	home, err := javaHome(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	dir, err := os.MkdirTemp(netlab.Dir(), "cluster-")
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	n, err := newNetwork(o.Racks, o.HostsPerRack, o.RMs)
	if err != nil {
		return nil, err
	}
	p := &Processes{
		hosts: n.hosts, rms: n.RMHosts(), dir: dir, jars: jars, javaHome: home,
		scheduler: o.Scheduler, yarn: o.YARN, log: o.Log, daemons: make(map[daemonID]*daemon),
	}
	web := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	c := &Cluster{
		Network: n, Processes: p, http: web,
		ResourceManagers: &ResourceManagers{hosts: n.RMHosts(), http: web},
		Jobs:             &Jobs{network: n, processes: p},
	}
	c.useArchive()
	if err := c.configure(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// configure writes the configuration of every host and of the clients.
func (c *Cluster) configure() error {
	if err := writeFiles(c.logDir(), nil); err != nil {
		return err
	}
	if err := writeShared(c.site(Master), c.Network); err != nil {
		return err
	}
	for _, h := range append(c.all(), "client") {
		if err := c.site(h).write(); err != nil {
			return err
		}
	}
	return nil
}

// boot starts everything. What waits for something else by itself is started
// beside it; the DataNodes and the JobHistory server, slow to try again, are
// started when the NameNode answers.
func (c *Cluster) boot(ctx context.Context) error {
	if err := c.startRMs(ctx); err != nil {
		return err
	}
	if _, _, err := c.Run(ctx, "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive", "-force"); err != nil {
		return fmt.Errorf("format the NameNode: %w", err)
	}
	if err := c.StartDaemon(NameNode, Master); err != nil {
		return err
	}
	for _, h := range c.Hosts() {
		if err := c.StartDaemon(NodeManager, h); err != nil {
			return err
		}
	}
	if err := c.wait(ctx, c.makeDirectories); err != nil {
		return fmt.Errorf("wait for the NameNode: %w", err)
	}
	for _, h := range c.Hosts() {
		if err := c.StartDaemon(DataNode, h); err != nil {
			return err
		}
	}
	if err := c.StartDaemon(HistoryServer, Master); err != nil {
		return err
	}
	return c.WaitHealthy(ctx)
}

// makeDirectories makes the directories that jobs expect. The JobHistory
// server would make /user and /user/history too, but closed to other users.
func (c *Cluster) makeDirectories(ctx context.Context) error {
	for dir, mode := range map[string]string{"/tmp": "1777", "/user": "755", "/user/root": "755", "/user/history": "755"} {
		url := c.NNURL() + "/webhdfs/v1" + dir + "?op=MKDIRS&user.name=root&permission=" + mode
		var answer struct{ Boolean bool }
		if err := fetchJSON(ctx, c.http, http.MethodPut, url, &answer); err != nil {
			return err
		}
		if !answer.Boolean {
			return fmt.Errorf("make %s: refused", dir)
		}
	}
	return nil
}

// SetScheduler restarts the ResourceManagers with another scheduler and an
// empty memory: it knows no earlier application. NodeManagers come back by
// themselves. Nothing else may use the cluster meanwhile.
func (c *Cluster) SetScheduler(ctx context.Context, s Scheduler) error {
	for _, h := range c.RMHosts() {
		if err := c.StopDaemon(ResourceManager, h); err != nil {
			return err
		}
	}
	c.scheduler = s
	if err := c.configure(); err != nil {
		return err
	}
	for _, h := range c.RMHosts() {
		if err := c.StartDaemon(ResourceManager, h); err != nil {
			return err
		}
	}
	return c.WaitHealthy(ctx)
}

// Close kills every process of the cluster, waits until they are gone and
// takes the network away. A second call does nothing. The cluster's
// directory stays until the run ends.
func (c *Cluster) Close() error {
	err := c.close()
	c.waitProcesses()
	return err
}

// RMURL is the web address of the first ResourceManager, without a slash at the end.
func (c *Cluster) RMURL() string { return rmURL(Master) }

// NNURL is the NameNode's web address, without a slash at the end.
func (c *Cluster) NNURL() string { return "http://master:9870" }

// JHSURL is the JobHistory server's web address, without a slash at the end.
func (c *Cluster) JHSURL() string { return "http://master:19888" }

// ConfDir is a client's configuration directory, fit for HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.site("client").dir() }

// WaitHealthy waits until all of the cluster works. It gives up when ctx ends,
// or when a daemon that was started has ended by itself.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	if err := c.wait(ctx, c.Health); err != nil {
		return fmt.Errorf("wait for the cluster: %w", err)
	}
	return nil
}

// wait calls ready until it returns nil.
func (c *Cluster) wait(ctx context.Context, ready func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var crash error
	err := poll(ctx, func(ctx context.Context) error {
		if crash = c.endedDaemons(); crash != nil {
			stop() // it will not come back by itself
			return crash
		}
		return ready(ctx)
	})
	if crash != nil {
		return crash
	}
	return err
}

// poll calls ready every so often until it returns nil, or ctx ends.
func poll(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w, and the last answer was: %w", context.Cause(ctx), err)
		}
	}
}

// Health returns an error that names what does not work yet.
func (c *Cluster) Health(ctx context.Context) error {
	want := len(c.Hosts())
	var state struct {
		Beans []struct {
			NumLiveDataNodes int
			Safemode         string
		}
	}
	for _, bean := range []string{"FSNamesystemState", "NameNodeInfo"} {
		if err := c.GetJSON(ctx, c.NNURL()+"/jmx?qry=Hadoop:service=NameNode,name="+bean, &state); err != nil {
			return err
		}
		switch {
		case len(state.Beans) != 1:
			return fmt.Errorf("the NameNode has no %s yet", bean)
		case bean == "NameNodeInfo" && state.Beans[0].Safemode != "":
			return errors.New("the NameNode is in safe mode")
		case bean == "FSNamesystemState" && state.Beans[0].NumLiveDataNodes != want:
			return fmt.Errorf("%d of %d DataNodes live", state.Beans[0].NumLiveDataNodes, want)
		}
	}
	var rm struct {
		ClusterMetrics struct{ ActiveNodes int }
	}
	active, err := c.rmHealth(ctx)
	if err != nil {
		return err
	}
	if err := c.GetJSON(ctx, rmURL(active)+"/ws/v1/cluster/metrics", &rm); err != nil {
		return err
	}
	if rm.ClusterMetrics.ActiveNodes != want {
		return fmt.Errorf("%d of %d NodeManagers active", rm.ClusterMetrics.ActiveNodes, want)
	}
	var jhs struct{ HistoryInfo struct{ StartedOn int64 } }
	if err := c.GetJSON(ctx, c.JHSURL()+"/ws/v1/history/info", &jhs); err != nil {
		return err
	}
	if jhs.HistoryInfo.StartedOn == 0 {
		return errors.New("the JobHistory server has not started")
	}
	return nil
}

// GetJSON gets a URL of the cluster and decodes the JSON answer into v.
func (c *Cluster) GetJSON(ctx context.Context, url string, v any) error {
	return fetchJSON(ctx, c.http, http.MethodGet, url, v)
}

func fetchJSON(ctx context.Context, client *http.Client, method, url string, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return fmt.Errorf("make a request for %s: %w", url, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err // names method and URL itself
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	const limit = 64 << 20 // far more than any answer of so small a cluster
	if err := json.NewDecoder(io.LimitReader(resp.Body, limit)).Decode(v); err != nil {
		return fmt.Errorf("decode the answer of %s %s: %w", method, url, err)
	}
	return nil
}
