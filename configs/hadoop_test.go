package configs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dir  string
		text string // of the configuration file
		env  []string
		want map[string]string
	}{
		{dir: "single", want: map[string]string{
			"resource_manager.urls":    "http://master.example.com:8088",
			"mapreduce.history_server": "http://master.example.com:19888",
			"tez.timeline_server":      "http://ats.example.com:8199",
			"hdfs.name_nodes":          "http://master.example.com:9870",
			"hdfs.rpc_addresses":       "master.example.com:9000",
			"security.authentication":  "simple",
		}},
		{dir: "ha", text: "uplinks: {source: shuffle-jmx}", want: map[string]string{
			"resource_manager.urls":                           "http://rm1.example.com:8188, http://rm2.example.com:8088",
			"mapreduce.history_server":                        "http://jhs.example.com:19999",
			"tez.timeline_server":                             "",
			"hdfs.name_nodes":                                 "http://nn1.example.com:50070, http://nn2.example.com:9870",
			"hdfs.rpc_addresses":                              "nn1.example.com:8020, nn2.example.com:8020",
			"advanced.uplinks.shuffle_jmx.datanode_http_port": "1022",
		}},
		{dir: "https", text: "security: {ccache: /run/heddle/krb5cc}\nuplinks: {source: shuffle-jmx}", want: map[string]string{
			"resource_manager.urls":                           "https://rm.example.com:8090",
			"mapreduce.history_server":                        "https://jhs.example.com:19890",
			"tez.timeline_server":                             "https://ats.example.com:8190",
			"hdfs.name_nodes":                                 "https://nn.example.com:9871",
			"hdfs.rpc_addresses":                              "nn.example.com:8020",
			"advanced.hdfs.service_principal":                 "nn/_HOST@EXAMPLE.COM",
			"security.authentication":                         "kerberos",
			"advanced.uplinks.shuffle_jmx.datanode_http_port": "9865",
			"advanced.uplinks.shuffle_jmx.node_manager_https": "true",
		}},
		{dir: "federation", want: map[string]string{
			"hdfs.name_nodes":    "http://b.example.com:9870",
			"hdfs.rpc_addresses": "b.example.com:8020",
		}},
		{dir: "federation", text: "hdfs: {nameservice: ns3}", want: map[string]string{
			"hdfs.name_nodes":    "http://c.example.com:9870",
			"hdfs.rpc_addresses": "c.example.com:8020",
		}},
		{dir: "nodefault", text: "hdfs: {enabled: false}", want: map[string]string{
			"hdfs.name_nodes": "",
		}},
		{dir: "vars", env: []string{"JHS_HOST=jhs.example.com", "RM_HOST="}, want: map[string]string{
			"hdfs.name_nodes":          "http://name1.example.com:9870",
			"resource_manager.urls":    "http://rm-default.example.com:8088",
			"mapreduce.history_server": "http://jhs.example.com:19888",
		}},
		{dir: "vars", env: []string{"JHS_HOST=jhs", "JHS_PORT=1", "RM_HOST=rm"}, want: map[string]string{
			"resource_manager.urls":    "http://rm:8088",
			"mapreduce.history_server": "http://jhs:1",
		}},
		{dir: "xinclude", want: map[string]string{
			"hdfs.rpc_addresses":    "included.example.com:8020",
			"resource_manager.urls": "http://deep.example.com:8088",
		}},
		{dir: "final", want: map[string]string{
			"hdfs.rpc_addresses":    "nn.example.com:8020",
			"resource_manager.urls": "http://first.example.com:8088",
			"tez.timeline_server":   "",
		}},
		{dir: "wildcard", text: "mapreduce: {enabled: false}", want: map[string]string{
			"resource_manager.urls":    "http://rm.example.com:8089",
			"hdfs.name_nodes":          "http://nn.example.com:50070",
			"hdfs.rpc_addresses":       "nn.example.com:8020",
			"mapreduce.history_server": "",
			"tez.timeline_server":      "",
		}},
		{dir: "deprecated", want: map[string]string{
			"hdfs.name_nodes":    "http://old.example.com:50070",
			"hdfs.rpc_addresses": "old.example.com:8020",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.dir+" "+tt.text, func(t *testing.T) {
			t.Parallel()
			l := load(t, configs.Options{File: write(t, tt.text), Env: tt.env, HadoopConfDir: "testdata/hadoop/" + tt.dir})
			got := map[string]string{}
			for _, e := range l.Entries() {
				if _, ok := tt.want[e.Path]; ok {
					got[e.Path] = e.Value
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscoveryProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dir, text string
		want      []string
	}{
		{"broken", "", []string{
			"broken/core-site.xml:5: malformed XML: element <value> closed by </valeu>",
			"broken/hdfs-site.xml:2: the top element is <settings>, want <configuration>",
			"broken/yarn-site.xml:5: malformed XML: unexpected EOF",
			"broken/mapred-site.xml:2: includes nest deeper than 16 files; does mapred-site.xml include itself?",
		}},
		{"cycle", "", []string{
			"cycle/core-site.xml:3 fs.defaultFS: hdfs.name_nodes: ${a} refers to itself: fs.defaultFS -> a -> b -> a",
			"cycle/core-site.xml:3 fs.defaultFS: hdfs.rpc_addresses: ${a} refers to itself",
			"cycle/yarn-site.xml:3 yarn.resourcemanager.hostname: resource_manager.urls: ${user.home} is not set",
		}},
		{"vars", "", []string{"vars/mapred-site.xml:3 mapreduce.jobhistory.webapp.address: mapreduce.history_server: ${env.JHS_HOST}: the environment variable JHS_HOST is not set"}},
		{"nodefault", "", []string{
			"nodefault/hdfs-site.xml:3 dfs.nameservices: hdfs.name_nodes: there are 3 nameservices (ns1, ns2, ns3) and fs.defaultFS names none of them; choose one with hdfs.nameservice",
			"nodefault/hdfs-site.xml:3 dfs.nameservices: hdfs.rpc_addresses: there are 3",
		}},
		{"foreign", "hdfs: {rpc_addresses: [\"nn:8020\"]}", []string{"foreign/hdfs-site.xml:3 dfs.nameservices: hdfs.name_nodes: there are 3 nameservices"}},
		{"federation", "hdfs: {nameservice: ns9, rpc_addresses: [\"nn:8020\"]}", []string{"hdfs.nameservice is \"ns9\", but dfs.nameservices is ns1, ns2, ns3"}},
		{"wildcard", "", []string{"mapreduce.jobhistory.webapp.address is 0.0.0.0:19888, an address to listen on"}},
		{"https", "", []string{"core-site.xml:7 hadoop.security.authentication: security.keytab: security.authentication is kerberos"}},
	}
	for _, tt := range tests {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			compare(t, problems(t, configs.Options{File: write(t, tt.text), HadoopConfDir: "testdata/hadoop/" + tt.dir}), tt.want)
		})
	}
}

// TestOverriddenKeysNeedNoDiscovery holds that what the user gives is not looked
// for in Hadoop's files, so that their gaps do not matter.
func TestOverriddenKeysNeedNoDiscovery(t *testing.T) {
	t.Parallel()
	load(t, configs.Options{
		File:          write(t, "resource_manager: {urls: [\"http://rm:8088\"]}\nhdfs: {name_nodes: [\"http://nn:9870\"], rpc_addresses: [\"nn:8020\"]}\n"),
		HadoopConfDir: "testdata/hadoop/cycle",
	})
}

// TestTimelineServerNotFound: a timeline server whose host is not told keeps
// nothing from starting; a note says what to give.
func TestTimelineServerNotFound(t *testing.T) {
	t.Parallel()
	l := load(t, configs.Options{File: write(t, "mapreduce: {enabled: false}"), HadoopConfDir: "testdata/hadoop/wildcard"})
	notes := strings.Join(l.Notices, "\n")
	if l.Config.Tez.TimelineServer != "" || !strings.Contains(notes, "0.0.0.0:8188, an address to listen on") || !strings.Contains(notes, "tez.timeline_server is given") {
		t.Errorf("tez.timeline_server is %q, notes:\n%s", l.Config.Tez.TimelineServer, notes)
	}
	l = load(t, configs.Options{File: write(t, "tez: {timeline_server: \"\"}"), HadoopConfDir: "testdata/hadoop/single"})
	if l.Config.Tez.TimelineServer != "" {
		t.Errorf("switched off, it is %q", l.Config.Tez.TimelineServer)
	}
}

func TestTopologyTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := filepath.Join(dir, "topology.table")
	site := `<configuration>
<property><name>fs.defaultFS</name><value>hdfs://nn:8020</value></property>
<property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>
<property><name>net.topology.node.switch.mapping.impl</name><value>org.apache.hadoop.net.TableMapping</value></property>
<property><name>net.topology.table.file.name</name><value>` + table + `</value></property>
</configuration>`
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	l := load(t, configs.Options{HadoopConfDir: dir})
	if l.Config.Topology.Table != "" || !strings.Contains(strings.Join(l.Notices, "\n"), "is not on this machine") {
		t.Errorf("an absent table: got %q, notices %q", l.Config.Topology.Table, l.Notices)
	}
	if err := os.WriteFile(table, []byte("w1 /rack1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l = load(t, configs.Options{HadoopConfDir: dir}); l.Config.Topology.Table != table {
		t.Errorf("topology.table = %q, want %q", l.Config.Topology.Table, table)
	}
}
