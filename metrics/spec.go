package metrics

import "github.com/prometheus/client_golang/prometheus"

// kind is the Prometheus type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// spec describes one metric of heddle's own.
type spec struct {
	name   string
	kind   kind
	labels []string
	help   string
}

// metric numbers the metrics that are built at scrape time.
type metric int

const (
	buildInfo metric = iota
	configInfo
	snapshotTime
	snapshots
	sourceUp
	sourceAge
	polls
	pollBytes
	pollDuration
	liveApps
	rackNodes
	rackMemory
	rackVCores
	rackContainers
	rackPendingMaps
	uplinkCapacity
	uplinkRate
	uplinkUtilization
	rackSaturated
	crossRack
	hdfsBlocks
	localities
	decisions
	rejected
	regret
	grantedReduces
	shadowSkipped
	guardOff
	guardTrips
	guardPredicted
	guardMeasured
	rackMismatches
	hostsWithoutRack
	unknownHosts
	clockJumps
	restarts
	estimatedLoads
	untrackedTasks
	relayEnforcing
	relayLinked
	relayConnections
	relayAccepted
	relayRefused
	relayUnaccepted
	relayAttempts
	relayAllocate
	relayRewritten
	relayPassed
	relaySteered
	relayOldest
	relayFaults
	relayForgotten
	metricCount
)

// scraped returns the metrics that are built at scrape time, by number.
func scraped() [metricCount]spec {
	return [metricCount]spec{
		buildInfo:         {"heddle_build_info", gauge, []string{"version", "revision", "goversion"}, "Always 1; its labels say which heddle runs."},
		configInfo:        {"heddle_config_info", gauge, []string{"hash"}, "Always 1; the label changes when another configuration is loaded."},
		snapshotTime:      {"heddle_snapshot_timestamp_seconds", gauge, nil, "Time of the newest observation in the published snapshot, Unix seconds; absent before the first observation."},
		snapshots:         {"heddle_snapshots_published_total", counter, nil, "Snapshots published for readers; it does not grow while the loop that owns the state is blocked."},
		sourceUp:          {"heddle_source_up", gauge, []string{"source"}, "1 if the last poll of the source gave an answer that could be used, in full or within the budget."},
		sourceAge:         {"heddle_source_age_seconds", gauge, []string{"source"}, "Time since the last good poll of the source; absent before the first good one."},
		polls:             {"heddle_polls_total", counter, []string{"source", "result"}, "Polls of the source, by how they ended."},
		pollBytes:         {"heddle_poll_bytes_total", counter, []string{"source"}, "Bytes received from the source."},
		pollDuration:      {"heddle_poll_duration_seconds", histogram, []string{"source"}, "Duration of one whole poll of the source, from 10 ms to 60 s."},
		liveApps:          {"heddle_live_applications", gauge, nil, "Applications that have not ended."},
		rackNodes:         {"heddle_rack_nodes", gauge, []string{"rack", "state"}, "NodeManagers of the rack by YARN node state, in lower case."},
		rackMemory:        {"heddle_rack_memory_bytes", gauge, []string{"rack", "use"}, "Memory of the rack's running NodeManagers as YARN manages it; use is used, free or total."},
		rackVCores:        {"heddle_rack_vcores", gauge, []string{"rack", "use"}, "Virtual cores of the rack's running NodeManagers; use is used, free or total."},
		rackContainers:    {"heddle_rack_containers", gauge, []string{"rack", "kind"}, "Live containers on the rack; kind is map, reduce, am, or other if no source says which."},
		rackPendingMaps:   {"heddle_rack_pending_maps", gauge, []string{"rack"}, "Outstanding map asks that would be at least rack-local on the rack, over all jobs; one ask counts on each of its racks."},
		uplinkCapacity:    {"heddle_rack_uplink_capacity_bytes_per_second", gauge, []string{"rack"}, "Capacity of the rack's uplink in its slower direction; absent when not known."},
		uplinkRate:        {"heddle_rack_uplink_bytes_per_second", gauge, []string{"rack", "direction", "source"}, "Smoothed load of the rack's uplink; direction out leaves the rack, source is where the figure is from (estimate, shuffle-jmx, prometheus)."},
		uplinkUtilization: {"heddle_rack_uplink_utilization_ratio", gauge, []string{"rack", "direction"}, "Load of the rack's uplink over its capacity in that direction; absent when the capacity is not known."},
		rackSaturated:     {"heddle_rack_saturated", gauge, []string{"rack"}, "1 while the policy takes the rack's uplink for saturated (network.saturation, with hysteresis)."},
		crossRack:         {"heddle_cross_rack_bytes_total", counter, []string{"src_rack", "dst_rack", "kind"}, "Bytes moved from rack to rack by job counters; kind is shuffle, map_read or write. Pairs beyond the limit are summed under other, and a pair that gets a series of its own leaves there what it had."},
		hdfsBlocks:        {"heddle_hdfs_blocks", gauge, []string{"rack"}, "HDFS block replicas on the rack's DataNodes; absent until the NameNode was read."},
		localities:        {"heddle_containers_allocated_total", counter, []string{"locality"}, "Containers the scheduler allocated since heddle started, by locality level; ResourceManager restarts do not reset it."},
		decisions:         {"heddle_decisions_total", counter, []string{"policy", "reason"}, "Verified decisions, by the policy in charge and its reason."},
		rejected:          {"heddle_rejected_placements_total", counter, []string{"policy", "rule"}, "Proposals of the policy that the engine dropped, by the rule they broke."},
		regret:            {"heddle_regret_bytes_total", counter, []string{"policy", "direction"}, "What finished jobs sent across racks above what they would have with their tasks where the policy wanted them (direction saved: the bytes its plans would have saved), and below it (lost)."},
		grantedReduces:    {"heddle_granted_reduces_total", counter, []string{"policy", "verdict"}, "Reduces of finished jobs that were granted while a plan of the policy that decides named racks a relay carried the job's asks and the ResourceManager held none for them that any rack may serve, by what the closed form said when they were first seen: no_output on a rack where none of the job's map output was expected while a rack with some had room, busier_uplink under a plan whose busiest uplink would carry more than 1.1 times an even spread's, ok else."},
		shadowSkipped:     {"heddle_shadow_skipped_total", counter, []string{"policy"}, "Rounds in which a policy of shadow.policies made no plans, since its share of the loop's time was spent."},
		guardOff:          {"heddle_guard_off", gauge, []string{"queue"}, "1 while steering is off for the YARN queue because it lost there, 0 while it is on. Of 100 queues at most, those where it is off first, as the other heddle_guard_ metrics."},
		guardTrips:        {"heddle_guard_trips_total", counter, []string{"queue"}, "Times steering was turned off for the YARN queue because it lost there."},
		guardPredicted:    {"heddle_guard_predicted_loss_ratio", gauge, []string{"queue"}, "Busiest uplinks of the queue's steered applications where their reduces ran, and what their asks waited for while another rack could have served them, above the busiest uplinks of an even spread, over their completion times; of the last guard.window, or of what turned steering off. Below 0 steering gains. Absent without steered applications."},
		guardMeasured:     {"heddle_guard_measured_loss_ratio", gauge, []string{"queue"}, "How much the median slowdown of the queue's steered applications is above that of its unsteered ones, over the latter. Below 0 steering gains. Absent until enough of both have ended within guard.window."},
		rackMismatches:    {"heddle_rack_mismatches", gauge, nil, "Hosts that ResourceManager, NameNode and the site's table do not put in one rack; /v1/cluster names them."},
		hostsWithoutRack:  {"heddle_hosts_without_rack", gauge, nil, "NodeManagers in /default-rack: the topology does not know them."},
		unknownHosts:      {"heddle_unknown_hosts_total", counter, nil, "Hosts of tasks, containers or replicas that no source places in a rack, each counted once; they count as hosts of /default-rack."},
		clockJumps:        {"heddle_clock_jumps_total", counter, nil, "Observations more than a minute older than the one before: a clock was set back."},
		restarts:          {"heddle_resourcemanager_restarts_total", counter, nil, "ResourceManager restarts and failovers seen."},
		estimatedLoads:    {"heddle_estimated_loads_total", counter, nil, "Samples of a rack's uplink that fell back to the estimate because the configured source had no fresh figure."},
		untrackedTasks:    {"heddle_untracked_tasks_total", counter, nil, "Updates of tasks that are not followed one by one: beyond the limit, or outside their stage."},
		relayEnforcing:    {"heddle_relay_enforcing", gauge, nil, "1 while the relay rewrites asks, 0 while it only counts what it would rewrite. heddle relay exports this and the other heddle_relay_ metrics."},
		relayLinked:       {"heddle_relay_linked", gauge, nil, "1 while heddle serve and heddle relay are linked; both export it. Absent without a relay in the configuration."},
		relayConnections:  {"heddle_relay_connections", gauge, []string{"kind"}, "Open connections of ApplicationMasters; kind is plain, or blind for those passed on unread: protected by integrity or privacy, or not Hadoop RPC as heddle knows it."},
		relayAccepted:     {"heddle_relay_accepted_connections_total", counter, nil, "Connections of ApplicationMasters the relay accepted."},
		relayRefused:      {"heddle_relay_refused_connections_total", counter, []string{"cause"}, "Connections the relay closed because of a limit: as they began (cause connections, unauthenticated or address), or because the client did not authenticate (auth_timeout, long_frame or idle)."},
		relayUnaccepted:   {"heddle_relay_unauthenticated_connections", gauge, nil, "Open connections whose token the ResourceManager has not accepted, those passed on unread from their start included; a part of heddle_relay_connections."},
		relayAttempts:     {"heddle_relay_attempts", gauge, nil, "Application attempts whose allocate calls pass, between two connections too."},
		relayAllocate:     {"heddle_relay_allocate_seconds", histogram, nil, "Latency the relay adds to an allocate call together with its answer, from 10 us to 1 s."},
		relayRewritten:    {"heddle_relay_asks_rewritten_total", counter, []string{"action"}, "Times the asks of a scheduler key were rewritten in an allocate call, by what was done."},
		relayPassed:       {"heddle_relay_passthrough_total", counter, []string{"cause"}, "Times asks, or everything on a connection, were forwarded unchanged, by cause."},
		relaySteered:      {"heddle_relay_steered_containers", gauge, []string{"action"}, "Outstanding containers whose asks are steered now, by the action in force: pin and hold are those that wait for their racks and those held back."},
		relayOldest:       {"heddle_relay_oldest_steered_ask_seconds", gauge, nil, "How long the action that is oldest among asks steered now has been in force; 0 when none is steered."},
		relayFaults:       {"heddle_relay_faults_total", counter, nil, "Decisions about asks that failed within heddle; the application's asks are forwarded unchanged from then on."},
		relayForgotten:    {"heddle_relay_forgotten_answers_total", counter, nil, "Answers passed on unread because more than 64 calls of a connection waited for theirs."},
	}
}

// instrument numbers the metrics that are kept as things happen.
type instrument int

const (
	roundDuration instrument = iota
	queueFull
	instrumentCount
)

// instruments returns the metrics that are kept as things happen, by number.
func instruments() [instrumentCount]spec {
	return [instrumentCount]spec{
		roundDuration: {"heddle_round_duration_seconds", histogram, []string{"policy"}, "Duration of one round of the policy over all live jobs, verification included, from 100 us to 10 s."},
		queueFull:     {"heddle_queue_full_total", counter, []string{"queue"}, "Times the queue was found full; who puts into it then waits or drops, as the documentation of the queue says."},
	}
}

// roundBuckets are the upper bounds of the round duration histogram in seconds:
// from a round over a few jobs to one that takes the service's whole time.
func roundBuckets() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}
}

// described is a spec as the client library wants it. The value type means
// nothing for a histogram.
type described struct {
	desc  *prometheus.Desc
	value prometheus.ValueType
}

func describe() [metricCount]described {
	var out [metricCount]described
	for i, s := range scraped() {
		out[i] = described{prometheus.NewDesc(s.name, s.help, s.labels, nil), prometheus.GaugeValue}
		if s.kind == counter {
			out[i].value = prometheus.CounterValue
		}
	}
	return out
}
