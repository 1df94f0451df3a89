package clientconfig

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"heddle/configs/hadoopconf"
)

// Setting is one property of Hadoop.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why,omitempty"`
}

// Prefix begins the ResourceManager's keys of YarnConfiguration.
const Prefix = "yarn.resourcemanager."

// Keys of YarnConfiguration, and the values that two of them get.
const (
	keyHAEnabled      = Prefix + "ha.enabled"
	keyHAIDs          = Prefix + "ha.rm-ids"
	keyHAID           = Prefix + "ha.id"
	keyRetryInterval  = Prefix + "connect.retry-interval.ms"
	keyProxyProvider  = "yarn.client.failover-proxy-provider"
	keyHostname       = Prefix + "hostname"
	keyScheduler      = Prefix + "scheduler.address"
	keyClient         = Prefix + "address"
	keyAdmin          = Prefix + "admin.address"
	keyTracker        = Prefix + "resource-tracker.address"
	keyWeb            = Prefix + "webapp.address"
	keyWebHTTPS       = Prefix + "webapp.https.address"
	retryIntervalMs   = "1000"
	configuredProxies = "org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider"
)

// Settings returns everything an application needs to connect to the relays and to
// fail over from them. Facts: Hadoop 3.4's HAUtil, RMProxy, ClientRMProxy and
// ConfiguredRMFailoverProxyProvider.
//
//   - The AM tries the ids in their order, after the last the first again, and stays
//     with the one that answers; only scheduler.address of a relay's id is the relay.
//   - A relay that is in the list once is left for good when it is restarted: the AM
//     goes to the ResourceManager at once. So relays are listed until there are three
//     ids: the second is tried at once, the third half a second to 1.5 s later
//     (RetryPolicies.failoverOnNetworkException), when the relay is back.
//   - address of every id is the ResourceManager's own, so that clients submit as
//     before, and the ResourceManager finds itself in the service name of its
//     delegation tokens (RMDelegationTokenIdentifier) and renews them.
//   - hostname of every id is the ResourceManager's too: its Kerberos principal
//     (_HOST) is made of it.
//   - Without webapp.address of every id (or webapp.https.address, by
//     yarn.http.policy) the AM's web filter fails at the start (AmFilterInitializer).
//   - Two ids with one address are an error on the ResourceManager's own machine,
//     unless ha.id selects one of them (HAUtil.getRMHAId). AMs and clients name
//     the id themselves when they call another one.
//   - cluster-id is not set: only ResourceManagers use it, for election and federation.
//
// No value has a space: HAUtil.getRMHAIds does not trim.
func (cl *Cluster) Settings() []Setting {
	ids, direct := cl.ids()
	var order []string
	var addresses []Setting
	for n := 0; len(order) < leastRelayIDs; n++ {
		for h, heddle := range ids {
			for i, id := range heddle {
				id += again(n)
				order = append(order, id)
				addresses = append(addresses, cl.idSettings(id, i, cl.relays[h][i])...)
			}
		}
	}
	for i, id := range direct {
		addresses = append(addresses, cl.idSettings(id, i, cl.rms[i].Scheduler)...)
	}
	all := []Setting{
		{keyHAEnabled, "true", "the ApplicationMaster tries the next id when one does not answer"},
		{keyHAIDs, strings.Join(append(order, direct...), ","), "tried in this order"},
		{keyHAID, direct[0], "the id of calls that name none"},
		{keyRetryInterval, retryIntervalMs, "the default is 30 s between two tries"},
	}
	return slices.Concat(all, cl.failoverSettings(), addresses)
}

// leastRelayIDs is how many ids of relays there are at least before those of the ResourceManagers.
const leastRelayIDs = 3

// again ends the id of a relay that is in the list for the n-th time, from 0 on.
func again(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "-again"
	}
	return fmt.Sprintf("-again%d", n)
}

// ids returns the ids of every heddle's relay and those of the ResourceManagers.
func (cl *Cluster) ids() (relays [][]string, direct []string) {
	for h := range cl.relays {
		name := "heddle"
		if len(cl.relays) > 1 {
			name = fmt.Sprintf("heddle%d", h+1)
		}
		var ids []string
		for i := range cl.relays[h] {
			if rm := cl.rms[i].ID; rm != "" {
				ids = append(ids, name+"-"+rm)
			} else {
				ids = append(ids, name)
			}
		}
		relays = append(relays, ids)
	}
	for _, rm := range cl.rms {
		if rm.ID == "" {
			rm.ID = hadoopconf.DirectID
		}
		direct = append(direct, rm.ID)
	}
	return relays, direct
}

// failoverSettings overrides the cluster's own failover settings where they would
// bypass the relay or slow the failover.
func (cl *Cluster) failoverSettings() []Setting {
	var all []Setting
	for _, own := range []Setting{
		{keyProxyProvider, configuredProxies, "the cluster's own provider asks all at once or has no order"},
		{"yarn.client.failover-sleep-base-ms", retryIntervalMs, "as connect.retry-interval.ms"},
		{"yarn.client.failover-sleep-max-ms", retryIntervalMs, "as connect.retry-interval.ms"},
		{"yarn.client.failover-max-attempts", "-1", "no limit other than connect.max-wait.ms, as there are more ids"},
	} {
		if cl.hadoop == nil {
			break
		}
		if _, ok, err := cl.hadoop.Lookup(own.Key); err == nil && ok { // override even an equal value: the file read here may hold these very settings
			all = append(all, own)
		}
	}
	return all
}

// idSettings returns the settings of one id of the i-th ResourceManager.
func (cl *Cluster) idSettings(id string, i int, scheduler string) []Setting {
	rm := &cl.rms[i]
	client, web := rm.Client, keyWeb
	if client == "" {
		client = net.JoinHostPort(rm.Host, "8032")
	}
	if cl.https {
		web = keyWebHTTPS
	}
	all := []Setting{
		{keyHostname + "." + id, rm.Host, ""},
		{keyScheduler + "." + id, scheduler, ""},
		{keyClient + "." + id, client, ""},
		{web + "." + id, rm.Web, ""},
	}
	for _, own := range []Setting{{keyAdmin, rm.Admin, ""}, {keyTracker, rm.Tracker, ""}} {
		if own.Value != "" {
			all = append(all, Setting{own.Key + "." + id, own.Value, ""})
		}
	}
	return all
}

// SimpleSettings returns only the scheduler addresses.
func (cl *Cluster) SimpleSettings() []Setting {
	all := make([]Setting, 0, len(cl.relays[0]))
	for i, address := range cl.relays[0] {
		key := keyScheduler
		if id := cl.rms[i].ID; id != "" {
			key += "." + id
		}
		all = append(all, Setting{key, address, "there is no failover when heddle is down"})
	}
	return all
}

// Missing returns what settings lack for an ApplicationMaster to start, to connect to
// the relay and to fail over from it; nil when they are complete.
func Missing(settings []Setting) []string {
	values := map[string]string{}
	var missing []string
	for _, s := range settings {
		if _, dup := values[s.Key]; dup {
			missing = append(missing, s.Key+" is there twice")
		}
		if strings.ContainsAny(s.Value, " \t\n") {
			missing = append(missing, s.Key+" has a space in it")
		}
		values[s.Key] = s.Value
	}
	missing = append(missing, missingOrder(values)...)
	if values[keyRetryInterval] == "" {
		missing = append(missing, keyRetryInterval+" is not set")
	}
	return append(missing, missingAddresses(values)...)
}

// missingOrder returns what is wrong with the ids and their order.
func missingOrder(values map[string]string) []string {
	var missing []string
	if values[keyHAEnabled] != "true" {
		missing = append(missing, keyHAEnabled+" is not true")
	}
	ids := strings.Split(values[keyHAIDs], ",")
	if !hadoopconf.IsRelayID(ids[0]) || hadoopconf.IsRelayID(ids[len(ids)-1]) {
		missing = append(missing, keyHAIDs+" does not lead through a relay first and to a ResourceManager last")
	}
	if id := values[keyHAID]; hadoopconf.IsRelayID(id) || !slices.Contains(ids, id) {
		missing = append(missing, keyHAID+" is not one of the ResourceManagers")
	}
	return missing
}

// missingAddresses returns which ids lack an address.
func missingAddresses(values map[string]string) []string {
	ids := strings.Split(values[keyHAIDs], ",")
	web := keyWeb
	if _, https := values[keyWebHTTPS+"."+ids[0]]; https {
		web = keyWebHTTPS
	}
	var missing []string
	for _, id := range ids {
		if values[keyHostname+"."+id] == "" {
			missing = append(missing, keyHostname+"."+id+" is not set")
		}
		for _, key := range []string{keyScheduler, keyClient, web} {
			if host, port, err := net.SplitHostPort(values[key+"."+id]); err != nil || host == "" || port == "" {
				missing = append(missing, fmt.Sprintf("%s.%s is %q, not host:port", key, id, values[key+"."+id]))
			}
		}
	}
	return missing
}

// FinalConflicts warns of settings that Hadoop's files mark as final, so that a job
// cannot change them.
func FinalConflicts(h *hadoopconf.Config, settings []Setting) []string {
	if h == nil {
		return nil
	}
	var warnings []string
	for _, s := range settings {
		if p, ok, err := h.Lookup(s.Key); err == nil && ok && p.Final && p.Value != s.Value {
			warnings = append(warnings, fmt.Sprintf("%s is final in %s:%d: where that file is read, a job cannot change it to %s", p.Key, p.File, p.Line, s.Value))
		}
	}
	return warnings
}
