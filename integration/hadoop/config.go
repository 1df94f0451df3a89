//go:build linux

package hadoop

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scheduler is the ResourceManager's scheduler.
type Scheduler string

// The schedulers. Both have the leaf queues default and batch, weighted 6 to 4.
const (
	Capacity Scheduler = "capacity"
	Fair     Scheduler = "fair"
)

// jvmFlags are for every Java process, jobs' containers included: small and
// quick to start rather than fast.
const jvmFlags = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xss512k -Djava.net.preferIPv4Stack=true"

// nodeMemory is what each NodeManager gives to containers, and the largest container, in MiB.
const nodeMemory = "1024"

// properties are the settings of one Hadoop configuration file.
type properties map[string]string

// site is what the configuration of one host depends on.
type site struct {
	root      string // the cluster's directory
	jars      string
	host      string // a host's name, or "client"
	archive   string // of classes; empty for none
	scheduler Scheduler
	more      Settings // of yarn-site.xml, over those of yarn
	rms       []string // hosts of the ResourceManagers; two make it highly available
}

// dir is the configuration directory of the site's host.
func (s site) dir() string { return filepath.Join(s.root, "conf", s.host) }

// data is a directory of the site's host.
func (s site) data(name string) string { return filepath.Join(s.root, "data", s.host, name) }

func (s site) topologyTable() string  { return filepath.Join(s.root, "conf", "topology.table") }
func (s site) excludeFile() string    { return filepath.Join(s.root, "conf", "nodes.exclude") }
func (s site) fairAllocation() string { return filepath.Join(s.root, "conf", "fair-scheduler.xml") }

func (s site) core() properties {
	return properties{
		"fs.defaultFS":                          "hdfs://master:8020",
		"hadoop.tmp.dir":                        s.data("tmp"),
		"net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping",
		"net.topology.table.file.name":          s.topologyTable(),
		// A write over REST without a user name is this user's, the one that runs everything.
		"hadoop.http.staticuser.user": "root",
		// Hadoop asks the operating system for the groups of other users, and refuses some work of users it does not know.
		"hadoop.user.group.static.mapping.overrides": "dr.who=;" + strings.Join(Users(), "=users;") + "=users;",
		"ipc.client.connect.max.retries":             "20",
	}
}

func (s site) hdfs() properties {
	return properties{
		"dfs.replication":                       "2",
		"dfs.blocksize":                         "16777216",
		"dfs.namenode.fs-limits.min-block-size": "65536",
		"dfs.namenode.name.dir":                 "file://" + s.data("name"),
		"dfs.datanode.data.dir":                 "file://" + s.data("dn"),
		"dfs.datanode.hostname":                 s.host,
		"dfs.namenode.http-address":             "master:9870",
		"dfs.namenode.http-bind-host":           "0.0.0.0",
		"dfs.namenode.rpc-bind-host":            "0.0.0.0",
		"dfs.namenode.handler.count":            "8",
		"dfs.datanode.handler.count":            "4",
		// A DataNode is dead 2 rechecks and 10 heartbeats after its last: 40 s.
		"dfs.namenode.heartbeat.recheck-interval": "15000",
		"dfs.heartbeat.interval":                  "1",
		"dfs.namenode.safemode.extension":         "0",
	}
}

func (s site) yarn() properties {
	p := properties{
		"yarn.resourcemanager.bind-host":                 "0.0.0.0",
		"yarn.resourcemanager.nodes.exclude-path":        s.excludeFile(),
		"yarn.resourcemanager.connect.retry-interval.ms": "1000",
		// A restarted ResourceManager takes up the applications it left.
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.work-preserving-recovery.enabled":            "true",
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "3000",
		"yarn.resourcemanager.store.class":                                 "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri":                          "file://" + s.data("rm-state-"+string(s.scheduler)),
		// By default these two lie in /tmp, the same for every cluster of a user.
		"yarn.node-attribute.fs-store.root-dir":                                         "file://" + s.data("node-attributes"),
		"yarn.node-labels.fs-store.root-dir":                                            "file://" + s.data("node-labels"),
		"yarn.cluster.max-application-priority":                                         "10",
		"yarn.scheduler.minimum-allocation-mb":                                          "128",
		"yarn.scheduler.maximum-allocation-mb":                                          nodeMemory,
		"yarn.nm.liveness-monitor.expiry-interval-ms":                                   "15000",
		"yarn.nodemanager.hostname":                                                     s.host,
		"yarn.nodemanager.address":                                                      s.host + ":45454",
		"yarn.nodemanager.aux-services":                                                 "mapreduce_shuffle",
		"yarn.nodemanager.resource.memory-mb":                                           nodeMemory,
		"yarn.nodemanager.resource.cpu-vcores":                                          "4",
		"yarn.nodemanager.vmem-check-enabled":                                           "false",
		"yarn.nodemanager.pmem-check-enabled":                                           "false",
		"yarn.nodemanager.local-dirs":                                                   s.data("nm-local"),
		"yarn.nodemanager.log-dirs":                                                     s.data("nm-logs"),
		"yarn.nodemanager.env-whitelist":                                                "JAVA_HOME,HADOOP_CONF_DIR,PATH,LANG",
		"yarn.nodemanager.container-manager.thread-count":                               "5",
		"yarn.nodemanager.localizer.fetch.thread-count":                                 "2",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
		"yarn.application.classpath":                                                    s.jars + "/*",
		// Where a timeline server is, if one runs. yarn.timeline-service.enabled is left to jobs that write to it.
		"yarn.timeline-service.hostname":                            Master,
		"yarn.timeline-service.leveldb-timeline-store.path":         s.data("timeline"),
		"yarn.timeline-service.leveldb-state-store.path":            s.data("timeline-state"),
		"yarn.timeline-service.generic-application-history.enabled": "false",
		"yarn.resourcemanager.scheduler.class":                      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
	}
	if s.scheduler == Fair {
		p["yarn.resourcemanager.scheduler.class"] = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
		p["yarn.scheduler.fair.allocation.file"] = s.fairAllocation()
	}
	if len(s.rms) > 1 {
		maps.Copy(p, s.highAvailability())
	} else {
		p["yarn.resourcemanager.hostname"] = Master
	}
	maps.Copy(p, s.more)
	return p
}

func (s site) mapred() properties {
	p := properties{
		"mapreduce.framework.name":                 "yarn",
		"mapreduce.application.classpath":          s.jars + "/*",
		"mapreduce.jvm.add-opens-as-default":       "true",
		"mapreduce.task.io.sort.mb":                "64",
		"mapreduce.map.speculative":                "false",
		"mapreduce.reduce.speculative":             "false",
		"mapreduce.job.ubertask.enable":            "false",
		"mapreduce.jobhistory.address":             "master:10020",
		"mapreduce.jobhistory.webapp.address":      "master:19888",
		"mapreduce.jobhistory.jhist.format":        "json",
		"yarn.app.mapreduce.am.staging-dir":        "/user",
		"mapreduce.client.submit.file.replication": "3",
		"yarn.app.mapreduce.am.resource.mb":        "512",
		"yarn.app.mapreduce.am.command-opts":       s.containerOptions(),
	}
	for _, kind := range []string{"map", "reduce"} {
		p["mapreduce."+kind+".memory.mb"] = "512"
		p["mapreduce."+kind+".java.opts"] = s.containerOptions()
	}
	if s.scheduler == Fair {
		// The FairScheduler knows a queue by its full path.
		p["mapreduce.job.queuename"] = "root.default"
	}
	return p
}

// containerOptions are the options of the Java processes of MapReduce. With an
// archive of classes the jars come first on the class path, before what YARN
// puts there.
func (s site) containerOptions() string {
	options := []string{"-Xmx256m", jvmFlags}
	if s.archive != "" {
		options = append(options, append(archiveOptions(s.archive), "-cp", s.jars+"/*:$CLASSPATH")...)
	}
	return strings.Join(options, " ")
}

func capacityQueues() properties {
	const pre = "yarn.scheduler.capacity."
	p := properties{
		pre + "maximum-applications":        "1000",
		pre + "maximum-am-resource-percent": "0.5",
		pre + "resource-calculator":         "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
		pre + "root.queues":                 "default,batch",
		pre + "root.default.capacity":       "60",
		pre + "root.batch.capacity":         "40",
	}
	for _, q := range []string{"default", "batch"} {
		p[pre+"root."+q+".maximum-capacity"] = "100"
		p[pre+"root."+q+".user-limit-factor"] = "10"
	}
	return p
}

// fairQueues is the FairScheduler's allocation file. Without the placement
// rules an application of a user called root lands in the queue root, which is no leaf, and fails.
const fairQueues = `<?xml version="1.0"?>
<allocations>
  <queueMaxAMShareDefault>0.5</queueMaxAMShareDefault>
  <queue name="default"><weight>6</weight></queue>
  <queue name="batch"><weight>4</weight></queue>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="default" queue="default"/>
  </queuePlacementPolicy>
</allocations>
`

const log4j = `log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
`

// write makes the host's configuration and data directories.
func (s site) write() error {
	files := map[string][]byte{"log4j.properties": []byte(log4j)}
	if len(s.rms) > 1 && s.host == Master {
		files[filepath.Base(s.zooKeeperFile())] = []byte(s.zooKeeper())
	}
	for name, p := range map[string]properties{
		"core-site.xml":          s.core(),
		"hdfs-site.xml":          s.hdfs(),
		"yarn-site.xml":          s.yarn(),
		"mapred-site.xml":        s.mapred(),
		"capacity-scheduler.xml": capacityQueues(),
	} {
		text, err := p.encode()
		if err != nil {
			return fmt.Errorf("write %s of %s: %w", name, s.host, err)
		}
		files[name] = text
	}
	if err := os.MkdirAll(s.data("tmp"), 0o750); err != nil {
		return fmt.Errorf("make the directories of %s: %w", s.host, err)
	}
	return writeFiles(s.dir(), files)
}

// writeShared makes what all hosts read: racks, excluded nodes, Fair queues and
// the directories of web pages that the Maven jars lack and that NameNode and
// DataNode refuse to start without.
func writeShared(s site, n *Network) error {
	var table strings.Builder
	for _, h := range n.all() {
		fmt.Fprintf(&table, "%s %s\n%s %s\n", n.Addr(h), n.RackOf(h), h, n.RackOf(h))
	}
	err := writeFiles(filepath.Dir(s.topologyTable()), map[string][]byte{
		filepath.Base(s.topologyTable()):  []byte(table.String()),
		filepath.Base(s.excludeFile()):    nil,
		filepath.Base(s.fairAllocation()): []byte(fairQueues),
	})
	if err != nil {
		return err
	}
	const webXML = `<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"></web-app>`
	for _, app := range []string{"hdfs", "datanode"} {
		dir := filepath.Join(s.root, "web", "webapps", app, "WEB-INF")
		if err := writeFiles(dir, map[string][]byte{"web.xml": []byte(webXML)}); err != nil {
			return err
		}
	}
	return writeFiles(filepath.Join(s.root, "web", "webapps", "static"), nil)
}

func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
	}
	return nil
}

// encode is the XML that Hadoop's Configuration reads, sorted by name.
func (p properties) encode() ([]byte, error) {
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var doc struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []property `xml:"property"`
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		doc.Property = append(doc.Property, property{name, p[name]})
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
