// Package hadoop starts a real Apache Hadoop on one Linux machine for tests:
// unmodified daemons from Maven Central's jars, one network namespace per
// host, one bridge per rack, and a router that joins the racks through uplinks
// whose bytes can be counted and whose rate can be set.
//
// Some tests want more of it: two ResourceManagers with ZooKeeper
// ([Options].RMs), Spark or Tez ([Extra]), input on the hosts they choose
// ([Cluster.TeraInput]), jobs with settings of their own ([Jobs.JobWith],
// [Jobs.SparkJob], [Jobs.TezJob]) whose containers are found afterwards
// ([Jobs.Workers], [Cluster.Attempts]). A server of the test process that is to stand between
// ApplicationMasters and the ResourceManager listens at [Network.GatewayAddr], and a job is sent
// there by the setting yarn.resourcemanager.scheduler.address (for Spark
// spark.hadoop.yarn.resourcemanager.scheduler.address; with two ResourceManagers one setting for
// each, ending in .rm1 and .rm2).
//
// The test binary's TestMain calls [Main], which runs the tests again inside a
// sandbox (package netlab), as root or as an ordinary user; tests call [Start]
// there. Everything a run started ends with it, also after a panic, an
// interrupt or kill -9 of the test process.
//
//	HEDDLE_INTEGRATION   unset: do not run; 1: run, or skip in one line where something is missing; require: fail instead of skipping
//	HEDDLE_KEEP          1: keep the run's directory (logs, configuration, data); a failed run's directory is always kept
//	HEDDLE_HADOOP_CACHE  directory for the jars, in place of heddle/hadoop-<version> in the user's cache directory: 95 MB
//	                     for Hadoop, and where tests want them 121 MB for Spark and 6 MB for Tez
//
// The network, rack r and host h counted from one:
//
//	master 10.77.0.10 ------------------ m0    10.77.0.1
//	master2 10.77.10.10 ---------------- m10   10.77.10.1   with two ResourceManagers
//	w<r><h> 10.77.<r>.<10+h> -- bridge of rack r -- uplink -- rack<r> 10.77.<r>.1   router
//	the test process 10.77.254.2 ------- test0 10.77.254.1
package hadoop
