//go:build linux

package hadoop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// zooKeeperPort is ZooKeeper's port for clients, on the master.
const zooKeeperPort = "2181"

// rmURL is the web address of a ResourceManager, without a slash at the end.
func rmURL(host string) string { return "http://" + host + ":8088" }

// ResourceManagers is the one or two ResourceManagers of a cluster, and the
// applications that they know.
type ResourceManagers struct {
	hosts []string
	http  *http.Client
}

// ActiveRM is the host of the ResourceManager that is active now, an error
// while none is. After the active one was killed another takes over
// once ZooKeeper has missed it for its session timeout, 4 s.
func (r *ResourceManagers) ActiveRM(ctx context.Context) (string, error) {
	var errs []error
	for _, h := range r.hosts {
		state, err := r.haState(ctx, h)
		if state == "ACTIVE" {
			return h, nil
		}
		errs = append(errs, fmt.Errorf("the ResourceManager on %s: %s %w", h, state, err))
	}
	return "", fmt.Errorf("no ResourceManager is active: %w", errors.Join(errs...))
}

// haState asks a ResourceManager for its state.
func (r *ResourceManagers) haState(ctx context.Context, host string) (string, error) {
	var rm struct{ ClusterInfo struct{ HAState string } }
	err := fetchJSON(ctx, r.http, http.MethodGet, rmURL(host)+"/ws/v1/cluster/info", &rm)
	return rm.ClusterInfo.HAState, err
}

// rmHealth is the active ResourceManager's host, when every other one stands by.
func (r *ResourceManagers) rmHealth(ctx context.Context) (string, error) {
	active, err := r.ActiveRM(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range r.hosts {
		if h == active {
			continue
		}
		if state, err := r.haState(ctx, h); err != nil || state != "STANDBY" {
			return "", fmt.Errorf("the ResourceManager on %s does not stand by: %s %w", h, state, err)
		}
	}
	return active, nil
}

// startRMs starts every ResourceManager, and what two of them need before.
func (c *Cluster) startRMs(ctx context.Context) error {
	if len(c.RMHosts()) > 1 {
		if err := c.StartDaemon(ZooKeeper, Master); err != nil {
			return err
		}
		if err := c.wait(ctx, listens(net.JoinHostPort(Master, zooKeeperPort))); err != nil {
			return fmt.Errorf("wait for ZooKeeper: %w", err)
		}
	}
	for _, h := range c.RMHosts() {
		if err := c.StartDaemon(ResourceManager, h); err != nil {
			return err
		}
	}
	return nil
}

// listens returns a check that something listens at an address.
func listens(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err // names the address itself
		}
		return conn.Close()
	}
}

// highAvailability is the configuration of two ResourceManagers and their clients.
// It leaves out the addresses without an id, so that a client which knows only one
// ResourceManager fails.
func (s site) highAvailability() properties {
	p := properties{
		"yarn.resourcemanager.ha.enabled":                 "true",
		"yarn.resourcemanager.cluster-id":                 "heddle-test",
		"yarn.resourcemanager.store.class":                "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
		"yarn.resourcemanager.zk-state-store.parent-path": "/rm-state-" + string(s.scheduler),
		"hadoop.zk.address":                               net.JoinHostPort(Master, zooKeeperPort),
		"hadoop.zk.timeout-ms":                            "4000",
	}
	ids := make([]string, 0, len(s.rms))
	for i, host := range s.rms {
		id := "rm" + strconv.Itoa(i+1)
		ids = append(ids, id)
		p["yarn.resourcemanager.hostname."+id] = host
		// A default that ApplicationMasters do not derive from the host name.
		p["yarn.resourcemanager.webapp.address."+id] = host + ":8088"
	}
	p["yarn.resourcemanager.ha.rm-ids"] = strings.Join(ids, ",")
	return p
}

func (s site) zooKeeperFile() string { return filepath.Join(s.dir(), "zoo.cfg") }

// zooKeeper is the configuration of the one ZooKeeper server. Its tick sets the
// shortest session timeout, of two ticks.
func (s site) zooKeeper() string {
	return "tickTime=1000\nadmin.enableServer=false\nclientPort=" + zooKeeperPort + "\ndataDir=" + s.data("zookeeper") + "\n"
}
