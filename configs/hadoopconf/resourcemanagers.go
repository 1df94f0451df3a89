package hadoopconf

import (
	"net"
	"strings"
)

// ResourceManager holds the addresses of one ResourceManager, as host:port. An
// address is "" where Hadoop's default for the host holds.
type ResourceManager struct {
	ID        string // the rm-id, "" without high availability
	Host      string // its host name
	Scheduler string // where ApplicationMasters register
	Client    string // where clients submit
	Admin     string
	Tracker   string // where NodeManagers register
	Web       string // of its web server, by yarn.http.policy
}

// DirectID is the rm-id under which `heddle client-config` has clients know the
// ResourceManager of a cluster without high availability.
const DirectID = "direct"

// IsRelayID reports whether an rm-id is one that `heddle client-config` made for
// a relay: heddle, heddle2, heddle-rm1, heddle2-rm1.
func IsRelayID(id string) bool {
	rest, ok := strings.CutPrefix(id, "heddle")
	rest = strings.TrimLeft(rest, "0123456789")
	return ok && (rest == "" || strings.HasPrefix(rest, "-"))
}

// rmKeys names one ResourceManager in Hadoop's files: its rm-id, "" without
// high availability, and what its keys end with.
type rmKeys struct{ id, suffix string }

// rmIDs lists the ResourceManagers, and returns the property that lists them. It
// omits ids of relays, which a client's files may hold.
func rmIDs(c *Config) ([]rmKeys, Property, error) {
	enabled, _, err := c.Lookup("yarn.resourcemanager.ha.enabled")
	if err != nil {
		return nil, enabled, err
	}
	if !strings.EqualFold(enabled.Value, "true") {
		return []rmKeys{{}}, enabled, nil
	}
	ids, ok, err := c.Lookup("yarn.resourcemanager.ha.rm-ids")
	if err != nil {
		return nil, ids, err
	}
	if !ok {
		return nil, ids, enabled.errorf("yarn.resourcemanager.ha.enabled is true, but yarn.resourcemanager.ha.rm-ids is not set")
	}
	var list []rmKeys
	for _, id := range splitList(ids.Value) {
		if !IsRelayID(id) {
			list = append(list, rmKeys{id, "." + id})
		}
	}
	switch {
	case len(list) == 0:
		return nil, ids, ids.errorf("yarn.resourcemanager.ha.rm-ids is %s: none of them is a ResourceManager", ids.Value)
	case len(list) == 1 && list[0].id == DirectID:
		list[0].id = ""
	}
	return list, ids, nil
}

// ResourceManagerURLs returns the base URLs of all ResourceManagers.
func (c *Config) ResourceManagerURLs() (Setting, bool, error) {
	rms, ids, err := rmIDs(c)
	if err != nil {
		return Setting{}, false, err
	}
	if len(rms) == 1 && rms[0].suffix == "" {
		return rmWeb(c, "")
	}
	var urls []string
	for _, rm := range rms {
		s, ok, err := rmWeb(c, rm.suffix)
		if err != nil {
			return Setting{}, false, err
		}
		if !ok {
			return Setting{}, false, ids.errorf("ResourceManager %q has no address: set yarn.resourcemanager.webapp.address%s, .webapp.https.address%s or .hostname%s", rm.id, rm.suffix, rm.suffix, rm.suffix)
		}
		urls = append(urls, s.Value)
	}
	return Setting{strings.Join(urls, ","), ids}, true, nil
}

func rmWeb(c *Config, suffix string) (Setting, bool, error) {
	return webService(c, yarnHTTPPolicy, webKeys{
		"yarn.resourcemanager.webapp.address" + suffix, portRM,
		"yarn.resourcemanager.webapp.https.address" + suffix, portRMHTTPS,
	}, "yarn.resourcemanager.hostname"+suffix, "yarn.resourcemanager.address"+suffix)
}

func rmScheduler(c *Config, suffix string) (Setting, bool, error) {
	return address(c, "yarn.resourcemanager.scheduler.address"+suffix, portScheduler,
		"yarn.resourcemanager.hostname"+suffix, "yarn.resourcemanager.address"+suffix)
}

// Scheduler is the scheduler address of one ResourceManager.
type Scheduler struct {
	RM      string // the rm-id, "" without high availability
	Address string
}

// Schedulers returns the scheduler address of every ResourceManager, and the
// property that names the address or, with several, the ids. It returns none
// where the files name no ResourceManager.
func (c *Config) Schedulers() ([]Scheduler, Property, error) {
	rms, from, err := rmIDs(c)
	if err != nil {
		return nil, from, err
	}
	var list []Scheduler
	for _, rm := range rms {
		s, ok, err := rmScheduler(c, rm.suffix)
		switch {
		case err != nil:
			return nil, from, err
		case !ok && rm.suffix == "":
			return nil, from, nil
		case !ok:
			return nil, from, from.errorf("ResourceManager %q has no address: set yarn.resourcemanager.scheduler.address.%s or .hostname.%s", rm.id, rm.id, rm.id)
		case len(rms) == 1:
			from = s.From
		}
		list = append(list, Scheduler{rm.id, s.Value})
	}
	return list, from, nil
}

// ResourceManagers returns what is known of every ResourceManager, in the order
// of the rm-ids. Scheduler and Host are always set.
func (c *Config) ResourceManagers() ([]ResourceManager, error) {
	ids, from, err := rmIDs(c)
	if err != nil {
		return nil, err
	}
	rms := make([]ResourceManager, 0, len(ids))
	for _, id := range ids {
		rm, err := resourceManager(c, id)
		if err != nil {
			return nil, err
		}
		if rm.Scheduler == "" {
			return nil, from.errorf("the host of the ResourceManager is not known; set yarn.resourcemanager.hostname%s", id.suffix)
		}
		rms = append(rms, rm)
	}
	return rms, nil
}

func resourceManager(c *Config, keys rmKeys) (ResourceManager, error) {
	rm := ResourceManager{ID: keys.id}
	scheduler, _, err := rmScheduler(c, keys.suffix)
	if err != nil {
		return rm, err
	}
	rm.Scheduler = scheduler.Value
	rm.Host, _, _ = net.SplitHostPort(scheduler.Value) // address has made it
	host, ok, err := c.Lookup("yarn.resourcemanager.hostname" + keys.suffix)
	if err != nil {
		return rm, err
	}
	if ok && !isWildcard(host.Value) {
		rm.Host = host.Value
	}
	web, _, err := rmWeb(c, keys.suffix)
	if err != nil {
		return rm, err
	}
	_, rm.Web, _ = strings.Cut(web.Value, "://")
	for _, service := range []struct {
		key     string
		port    int
		address *string
	}{
		{"yarn.resourcemanager.address", portRMClient, &rm.Client},
		{"yarn.resourcemanager.admin.address", portRMAdmin, &rm.Admin},
		{"yarn.resourcemanager.resource-tracker.address", portRMTracker, &rm.Tracker},
	} {
		if _, ok, err := c.Lookup(service.key + keys.suffix); err != nil || !ok {
			continue // Hadoop's own default, or a variable that only Hadoop can expand
		}
		s, _, err := address(c, service.key+keys.suffix, service.port, "yarn.resourcemanager.hostname"+keys.suffix, "yarn.resourcemanager.scheduler.address"+keys.suffix)
		if err != nil {
			return rm, err
		}
		*service.address = s.Value
	}
	return rm, nil
}
