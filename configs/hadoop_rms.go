package configs

import (
	"fmt"
	"net"
	"strings"
)

// ResourceManager is what Hadoop's files say about one ResourceManager.
// Addresses are host:port; "" where the files leave Hadoop's default of that
// host.
type ResourceManager struct {
	ID        string // the rm-id, "" without high availability
	Host      string // its host name
	Scheduler string // where ApplicationMasters register
	Client    string // where clients submit
	Admin     string
	Tracker   string // where NodeManagers register
	Web       string // of its web server, by yarn.http.policy
}

// ResourceManagers returns what is known of every ResourceManager, in the order
// of the rm-ids. Scheduler, Host and Web are always set. The error is a
// *Problem.
func (h *Hadoop) ResourceManagers() ([]ResourceManager, error) {
	r := resourceManagers{h}
	ids, at, err := r.ids()
	if err != nil {
		return nil, err
	}
	rms := make([]ResourceManager, 0, len(ids))
	for _, id := range ids {
		rm, err := r.one(id)
		if err != nil {
			return nil, err
		}
		if rm.Scheduler == "" {
			return nil, &Problem{Origin: at.origin(), Message: "the host of the ResourceManager is not known; set yarn.resourcemanager.hostname" + id.suffix}
		}
		rms = append(rms, rm)
	}
	return rms, nil
}

// resourceManagers reads out of Hadoop's files where the ResourceManagers are.
type resourceManagers struct{ *Hadoop }

// rmID names one ResourceManager in Hadoop's files: its rm-id, "" without high
// availability, and what its keys end with.
type rmID struct{ id, suffix string }

// ids lists the ResourceManagers that Hadoop's files know, and the property
// they are owed to. Ids that stand for a relay, which a client's files may hold,
// are left out.
func (r resourceManagers) ids() ([]rmID, Property, error) {
	enabled, _, err := r.Lookup("yarn.resourcemanager.ha.enabled")
	if err != nil {
		return nil, enabled, err
	}
	if !strings.EqualFold(enabled.Value, "true") {
		return []rmID{{}}, enabled, nil
	}
	ids, ok, err := r.Lookup("yarn.resourcemanager.ha.rm-ids")
	if err != nil {
		return nil, ids, err
	}
	if !ok {
		return nil, ids, &Problem{Origin: enabled.origin(), Message: "yarn.resourcemanager.ha.enabled is true, but yarn.resourcemanager.ha.rm-ids is not set"}
	}
	var list []rmID
	for _, id := range splitList(ids.Value) {
		if !IsRelayID(id) {
			list = append(list, rmID{id, "." + id})
		}
	}
	switch {
	case len(list) == 0:
		return nil, ids, &Problem{Origin: ids.origin(), Message: fmt.Sprintf("yarn.resourcemanager.ha.rm-ids is %s: none of them is a ResourceManager", ids.Value)}
	case len(list) == 1 && list[0].id == DirectID:
		list[0].id = ""
	}
	return list, ids, nil
}

// urls returns the base URLs of all ResourceManagers.
func (r resourceManagers) urls() (finding, bool, error) {
	rms, ids, err := r.ids()
	if err != nil {
		return finding{}, false, err
	}
	if len(rms) == 1 && rms[0].suffix == "" {
		return r.url("")
	}
	var urls []string
	for _, rm := range rms {
		f, ok, err := r.url(rm.suffix)
		if err != nil {
			return finding{}, false, err
		}
		if !ok {
			return finding{}, false, &Problem{Origin: ids.origin(), Message: fmt.Sprintf(
				"ResourceManager %q has no address: set yarn.resourcemanager.webapp.address%s, .webapp.https.address%s or .hostname%s", rm.id, rm.suffix, rm.suffix, rm.suffix)}
		}
		urls = append(urls, f.text)
	}
	return finding{strings.Join(urls, ","), ids}, true, nil
}

func (r resourceManagers) url(suffix string) (finding, bool, error) {
	return r.webService(policyYARN, webKeys{
		"yarn.resourcemanager.webapp.address" + suffix, portRM,
		"yarn.resourcemanager.webapp.https.address" + suffix, portRMHTTPS,
	}, "yarn.resourcemanager.hostname"+suffix, "yarn.resourcemanager.address"+suffix)
}

func (r resourceManagers) scheduler(rm rmID) (finding, bool, error) {
	return r.endpoint("yarn.resourcemanager.scheduler.address"+rm.suffix, portScheduler,
		"yarn.resourcemanager.hostname"+rm.suffix, "yarn.resourcemanager.address"+rm.suffix)
}

func (r resourceManagers) one(id rmID) (ResourceManager, error) {
	rm := ResourceManager{ID: id.id}
	scheduler, _, err := r.scheduler(id)
	if err != nil {
		return rm, err
	}
	rm.Scheduler = scheduler.text
	rm.Host, _, _ = net.SplitHostPort(scheduler.text) // endpoint made it
	host, ok, err := r.Lookup("yarn.resourcemanager.hostname" + id.suffix)
	if err != nil {
		return rm, err
	}
	if ok && !wildcard(host.Value) {
		rm.Host = host.Value
	}
	web, _, err := r.url(id.suffix)
	if err != nil {
		return rm, err
	}
	_, rm.Web, _ = strings.Cut(web.text, "://")
	for _, service := range []struct {
		key  string
		port int
		to   *string
	}{
		{"yarn.resourcemanager.address", portRMClient, &rm.Client},
		{"yarn.resourcemanager.admin.address", portRMAdmin, &rm.Admin},
		{"yarn.resourcemanager.resource-tracker.address", portRMTracker, &rm.Tracker},
	} {
		if _, ok, err := r.Lookup(service.key + id.suffix); err != nil || !ok {
			continue // Hadoop's own default, or a variable that only Hadoop can expand
		}
		f, _, err := r.endpoint(service.key+id.suffix, service.port, "yarn.resourcemanager.hostname"+id.suffix, "yarn.resourcemanager.scheduler.address"+id.suffix)
		if err != nil {
			return rm, err
		}
		*service.to = f.text
	}
	return rm, nil
}
