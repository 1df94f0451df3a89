package main

import (
	"fmt"
	"net"
	"strings"

	"heddle/configs"
)

// setting is one property of Hadoop.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why,omitempty"`
}

// Keys of YarnConfiguration.
const (
	rmPrefix          = "yarn.resourcemanager."
	keyHAEnabled      = rmPrefix + "ha.enabled"
	keyHAIDs          = rmPrefix + "ha.rm-ids"
	keyHAID           = rmPrefix + "ha.id"
	keyRetryInterval  = rmPrefix + "connect.retry-interval.ms"
	keyProxyProvider  = "yarn.client.failover-proxy-provider"
	keyHostname       = rmPrefix + "hostname"
	keyScheduler      = rmPrefix + "scheduler.address"
	keyClient         = rmPrefix + "address"
	keyAdmin          = rmPrefix + "admin.address"
	keyTracker        = rmPrefix + "resource-tracker.address"
	keyWeb            = rmPrefix + "webapp.address"
	keyWebHTTPS       = rmPrefix + "webapp.https.address"
	retryIntervalMs   = "1000"
	configuredProxies = "org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider"
)

// settings returns everything an application needs to go through the relays and
// past them. Facts: Hadoop 3.4's HAUtil, RMProxy, ClientRMProxy and
// ConfiguredRMFailoverProxyProvider.
//
//   - The AM tries the ids in their order and stays with the one that answers;
//     only scheduler.address of a relay's id is the relay.
//   - address of every id is the ResourceManager's own, so that clients submit as
//     before, and the ResourceManager finds itself in the service name of its
//     delegation tokens (RMDelegationTokenIdentifier) and renews them.
//   - hostname of every id is the ResourceManager's too: its Kerberos principal
//     (_HOST) is made of it.
//   - Without webapp.address of every id (or webapp.https.address, by
//     yarn.http.policy) the AM's web filter fails at the start (AmFilterInitializer).
//   - Two ids with one address are an error on the ResourceManager's own machine,
//     unless ha.id says which of them is meant (HAUtil.getRMHAId). Every call of
//     an AM or client that goes to another one says so itself.
//   - cluster-id is the ResourceManagers' alone (their election, and federation).
//
// Nothing has a space in it: HAUtil.getRMHAIds does not trim.
func (s *clientSite) settings() []setting {
	ids, direct := s.ids()
	all := []setting{
		{keyHAEnabled, "true", "the ApplicationMaster goes on to the next id when one does not answer"},
		{keyHAIDs, strings.Join(append(flat(ids), direct...), ","), "tried in this order"},
		{keyHAID, direct[0], "which id is meant where none is said"},
		{keyRetryInterval, retryIntervalMs, "not 30 s between two tries"},
	}
	all = append(all, s.failover()...)
	for h, heddle := range ids {
		for i, id := range heddle {
			all = append(all, s.of(id, i, s.relays[h][i])...)
		}
	}
	for i, id := range direct {
		all = append(all, s.of(id, i, s.rms[i].Scheduler)...)
	}
	return all
}

// ids returns the ids of every heddle's relay and those of the ResourceManagers.
func (s *clientSite) ids() (relays [][]string, direct []string) {
	for h := range s.relays {
		name := "heddle"
		if len(s.relays) > 1 {
			name = fmt.Sprintf("heddle%d", h+1)
		}
		var ids []string
		for i := range s.relays[h] {
			if rm := s.rms[i].ID; rm != "" {
				ids = append(ids, name+"-"+rm)
			} else {
				ids = append(ids, name)
			}
		}
		relays = append(relays, ids)
	}
	for _, rm := range s.rms {
		if rm.ID == "" {
			rm.ID = configs.DirectID
		}
		direct = append(direct, rm.ID)
	}
	return relays, direct
}

func flat(lists [][]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// failover undoes what the cluster's own files set for its failover where that
// would lead past the relay, or make the way out slow.
func (s *clientSite) failover() []setting {
	var all []setting
	for _, own := range []setting{
		{keyProxyProvider, configuredProxies, "the cluster's own asks all at once, or knows no order"},
		{"yarn.client.failover-sleep-base-ms", retryIntervalMs, "as connect.retry-interval.ms"},
		{"yarn.client.failover-sleep-max-ms", retryIntervalMs, "as connect.retry-interval.ms"},
		{"yarn.client.failover-max-attempts", "-1", "as many as connect.max-wait.ms allows: there are more ids now"},
	} {
		if s.hadoop == nil {
			break
		}
		if _, ok, err := s.hadoop.Lookup(own.Key); err == nil && ok { // also when it is this already: these settings may be where they are read from
			all = append(all, own)
		}
	}
	return all
}

// of returns the settings of one id of the i-th ResourceManager.
func (s *clientSite) of(id string, i int, scheduler string) []setting {
	rm := &s.rms[i]
	client, web := rm.Client, keyWeb
	if client == "" {
		client = net.JoinHostPort(rm.Host, "8032")
	}
	if s.https {
		web = keyWebHTTPS
	}
	all := []setting{
		{keyHostname + "." + id, rm.Host, ""},
		{keyScheduler + "." + id, scheduler, ""},
		{keyClient + "." + id, client, ""},
		{web + "." + id, rm.Web, ""},
	}
	for _, own := range []setting{{keyAdmin, rm.Admin, ""}, {keyTracker, rm.Tracker, ""}} {
		if own.Value != "" {
			all = append(all, setting{own.Key + "." + id, own.Value, ""})
		}
	}
	return all
}

// simpleSettings returns the scheduler address alone, of every ResourceManager.
func (s *clientSite) simpleSettings() []setting {
	all := make([]setting, 0, len(s.relays[0]))
	for i, address := range s.relays[0] {
		key := keyScheduler
		if id := s.rms[i].ID; id != "" {
			key += "." + id
		}
		all = append(all, setting{key, address, "nothing leads past it when heddle is down"})
	}
	return all
}

// incomplete returns what settings lack for an ApplicationMaster to start, go
// through the relay and get past it; none when they are complete.
func incomplete(settings []setting) []string {
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
	ids := strings.Split(values[keyHAIDs], ",")
	relays := countIf(ids, configs.IsRelayID)
	switch {
	case values[keyHAEnabled] != "true":
		missing = append(missing, keyHAEnabled+" is not true")
	case relays == 0 || relays == len(ids) || !configs.IsRelayID(ids[0]) || configs.IsRelayID(ids[len(ids)-1]):
		missing = append(missing, keyHAIDs+" does not lead through a relay first and to a ResourceManager last")
	}
	if id := values[keyHAID]; id == "" || configs.IsRelayID(id) || !strings.Contains(","+values[keyHAIDs]+",", ","+id+",") {
		missing = append(missing, keyHAID+" is not one of the ResourceManagers")
	}
	if values[keyRetryInterval] == "" {
		missing = append(missing, keyRetryInterval+" is not set")
	}
	web := keyWeb
	if _, https := values[keyWebHTTPS+"."+ids[0]]; https {
		web = keyWebHTTPS
	}
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
