package clientconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/yarnproxy/clientconfig"
)

// hadoopDir is a directory of Hadoop's files from the tests of the configuration.
func hadoopDir(name string) string {
	return filepath.Join("..", "..", "configs", "testdata", "hadoop", name)
}

const (
	oneHeddle  = "mode: enforce\nhdfs: {enabled: false}\nmapreduce: {enabled: false}\nrelay: {listen: \"10.0.0.5:7930\"}\n"
	twoHeddles = "mode: enforce\nhdfs: {enabled: false}\nmapreduce: {enabled: false}\nrelay: {listen: \"0.0.0.0:7930\", advertise: heddle1, peers: [\"10.0.0.6:7940\"]}\n"
)

// settingsOf loads a configuration and returns the settings for its clients;
// direct are the scheduler addresses that replace those of the configuration.
func settingsOf(t *testing.T, text, dir string, direct ...string) []clientconfig.Setting {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heddle.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := configs.Load(configs.Options{File: file, HadoopConfDir: dir, KnownPolicy: func(string, []byte) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := clientconfig.New(loaded)
	if err == nil && len(direct) > 0 {
		err = cluster.OverrideSchedulers(direct)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Settings()
}

func lines(settings []clientconfig.Setting) []string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = strings.TrimPrefix(s.Key, clientconfig.Prefix) + "=" + s.Value
	}
	return out
}

// Keys of settings; those that end in a point have the id after it.
const (
	scheduler = clientconfig.Prefix + "scheduler.address."
	client    = clientconfig.Prefix + "address."
	web       = clientconfig.Prefix + "webapp.address."
	admin     = clientconfig.Prefix + "admin.address."
	tracker   = clientconfig.Prefix + "resource-tracker.address."
	haEnabled = clientconfig.Prefix + "ha.enabled"
	haIDs     = clientconfig.Prefix + "ha.rm-ids"
	haID      = clientconfig.Prefix + "ha.id"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	const explicit = "mode: enforce\nhdfs: {enabled: false}\nresource_manager: {urls: [\"https://b.example.com\", \"https://a.example.com:9090\"]}\n" +
		"relay: {listeners: [{rm: a, address: \"10.0.0.5:1\", upstream: \"a.example.com:8030\"}, {rm: b, address: \"10.0.0.5:9\", upstream: \"b.example.com:8030\"}]}\n"
	tests := []struct {
		name, text, dir string
		direct          []string
		want            []string
	}{
		{"one ResourceManager", oneHeddle, hadoopDir("single"), nil, []string{
			"ha.enabled=true", "ha.rm-ids=heddle,heddle-again,heddle-again2,direct", "ha.id=direct", "connect.retry-interval.ms=1000",
			"hostname.heddle=master.example.com", "scheduler.address.heddle=10.0.0.5:7930",
			"address.heddle=master.example.com:8032", "webapp.address.heddle=master.example.com:8088",
			"hostname.heddle-again=master.example.com", "scheduler.address.heddle-again=10.0.0.5:7930",
			"address.heddle-again=master.example.com:8032", "webapp.address.heddle-again=master.example.com:8088",
			"hostname.heddle-again2=master.example.com", "scheduler.address.heddle-again2=10.0.0.5:7930",
			"address.heddle-again2=master.example.com:8032", "webapp.address.heddle-again2=master.example.com:8088",
			"hostname.direct=master.example.com", "scheduler.address.direct=master.example.com:8030",
			"address.direct=master.example.com:8032", "webapp.address.direct=master.example.com:8088",
		}},
		{"two heddles, two ResourceManagers, ports and failover of their own", twoHeddles, hadoopDir("hafull"), nil, []string{
			"ha.enabled=true", "ha.rm-ids=heddle1-rm1,heddle1-rm2,heddle2-rm1,heddle2-rm2,rm1,rm2", "ha.id=rm1", "connect.retry-interval.ms=1000",
			"yarn.client.failover-proxy-provider=org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider",
			"yarn.client.failover-sleep-base-ms=1000", "yarn.client.failover-max-attempts=-1",
			"hostname.heddle1-rm1=rm1.example.com", "scheduler.address.heddle1-rm1=heddle1:7930", "address.heddle1-rm1=rm1.example.com:9032",
			"webapp.https.address.heddle1-rm1=rm1.example.com:9090", "admin.address.heddle1-rm1=rm1.example.com:9033", "resource-tracker.address.heddle1-rm1=rm1.example.com:9031",
			"hostname.heddle1-rm2=rm2.example.com", "scheduler.address.heddle1-rm2=heddle1:7931", "address.heddle1-rm2=rm2.example.com:8032",
			"webapp.https.address.heddle1-rm2=rm2.example.com:8090",
			"hostname.heddle2-rm1=rm1.example.com", "scheduler.address.heddle2-rm1=10.0.0.6:7940", "address.heddle2-rm1=rm1.example.com:9032",
			"webapp.https.address.heddle2-rm1=rm1.example.com:9090", "admin.address.heddle2-rm1=rm1.example.com:9033", "resource-tracker.address.heddle2-rm1=rm1.example.com:9031",
			"hostname.heddle2-rm2=rm2.example.com", "scheduler.address.heddle2-rm2=10.0.0.6:7941", "address.heddle2-rm2=rm2.example.com:8032",
			"webapp.https.address.heddle2-rm2=rm2.example.com:8090",
			"hostname.rm1=rm1.example.com", "scheduler.address.rm1=rm1.example.com:9030", "address.rm1=rm1.example.com:9032",
			"webapp.https.address.rm1=rm1.example.com:9090", "admin.address.rm1=rm1.example.com:9033", "resource-tracker.address.rm1=rm1.example.com:9031",
			"hostname.rm2=rm2.example.com", "scheduler.address.rm2=rm2.example.com:8030", "address.rm2=rm2.example.com:8032",
			"webapp.https.address.rm2=rm2.example.com:8090",
		}},
		{"without Hadoop's files", explicit, "", []string{"a:1", "b:2"}, []string{
			"ha.enabled=true", "ha.rm-ids=heddle-a,heddle-b,heddle-a-again,heddle-b-again,a,b", "ha.id=a", "connect.retry-interval.ms=1000",
			"hostname.heddle-a=a.example.com", "scheduler.address.heddle-a=10.0.0.5:1", "address.heddle-a=a.example.com:8032", "webapp.https.address.heddle-a=a.example.com:9090",
			"hostname.heddle-b=b.example.com", "scheduler.address.heddle-b=10.0.0.5:9", "address.heddle-b=b.example.com:8032", "webapp.https.address.heddle-b=b.example.com:8090",
			"hostname.heddle-a-again=a.example.com", "scheduler.address.heddle-a-again=10.0.0.5:1", "address.heddle-a-again=a.example.com:8032", "webapp.https.address.heddle-a-again=a.example.com:9090",
			"hostname.heddle-b-again=b.example.com", "scheduler.address.heddle-b-again=10.0.0.5:9", "address.heddle-b-again=b.example.com:8032", "webapp.https.address.heddle-b-again=b.example.com:8090",
			"hostname.a=a.example.com", "scheduler.address.a=a:1", "address.a=a.example.com:8032", "webapp.https.address.a=a.example.com:9090",
			"hostname.b=b.example.com", "scheduler.address.b=b:2", "address.b=b.example.com:8032", "webapp.https.address.b=b.example.com:8090",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := settingsOf(t, tt.text, tt.dir, tt.direct...)
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if missing := clientconfig.Missing(got); len(missing) > 0 {
				t.Errorf("incomplete: %v", missing)
			}
		})
	}
}

// TestSettingsComplete takes every setting away, and holds that its
// absence is found unless Hadoop has a default that will do.
func TestSettingsComplete(t *testing.T) {
	t.Parallel()
	for _, site := range []struct{ text, dir string }{
		{oneHeddle, "single"}, {twoHeddles, "single"}, {oneHeddle, "ha"}, {twoHeddles, "hafull"}, {twoHeddles, "https"},
	} {
		text := site.text
		if site.dir == "https" {
			text += "security: {ccache: /run/krb5cc}\n"
		}
		all := settingsOf(t, text, hadoopDir(site.dir))
		if missing := clientconfig.Missing(all); len(missing) > 0 {
			t.Errorf("%s: %v", site.dir, missing)
		}
		needed := 0
		for i, s := range all {
			optional := strings.HasPrefix(s.Key, "yarn.client.") || strings.HasPrefix(s.Key, admin) || strings.HasPrefix(s.Key, tracker)
			if !optional {
				needed++
			}
			for what, rest := range map[string][]clientconfig.Setting{
				"without": slices.Delete(slices.Clone(all), i, i+1),
				"empty":   slices.Replace(slices.Clone(all), i, i+1, clientconfig.Setting{Key: s.Key}),
			} {
				if found := len(clientconfig.Missing(rest)) > 0; found == optional {
					t.Errorf("%s: %s %s: found %v", site.dir, what, s.Key, clientconfig.Missing(rest))
				}
			}
		}
		if ids := strings.Count(all[1].Value, ",") + 1; needed != 4+4*ids {
			t.Errorf("%s: %d settings that are needed, for %d ids", site.dir, needed, ids)
		}
	}
	good := settingsOf(t, oneHeddle, hadoopDir("single"))
	for key, value := range map[string]string{
		haEnabled: "false", haIDs: "direct,heddle", haID: "heddle", scheduler + "heddle": "10.0.0.5", client + "direct": "rm: 8032", web + "direct": ":8088",
	} {
		bad := slices.Clone(good)
		bad[slices.IndexFunc(bad, func(s clientconfig.Setting) bool { return s.Key == key })].Value = value
		if len(clientconfig.Missing(bad)) == 0 {
			t.Errorf("%s=%s is not found wrong", key, value)
		}
	}
	for _, ids := range []string{"heddle, direct", "heddle", "direct", "heddle,direct,heddle"} {
		bad := slices.Clone(good)
		if bad[1].Value = ids; len(clientconfig.Missing(bad)) == 0 {
			t.Errorf("the ids %q are not found wrong", ids)
		}
	}
	if len(clientconfig.Missing(append(slices.Clone(good), good[4]))) == 0 {
		t.Error("a setting that is there twice is not found")
	}
}

// TestSettingsTwice holds that clients' files that hold the settings
// already, and are the ones heddle reads, give the same settings again.
func TestSettingsTwice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"single", "hafull"} {
		first := settingsOf(t, twoHeddles, hadoopDir(name))
		original, err := os.ReadFile(filepath.Join(hadoopDir(name), "yarn-site.xml"))
		if err != nil {
			t.Fatal(err)
		}
		var added strings.Builder
		for _, s := range first {
			fmt.Fprintf(&added, "<property><name>%s</name><value>%s</value></property>\n", s.Key, s.Value)
		}
		dir := t.TempDir()
		text := strings.Replace(string(original), "</configuration>", added.String()+"</configuration>", 1)
		if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again := map[string]string{}
		for _, s := range settingsOf(t, twoHeddles, dir) {
			again[s.Key] = s.Value
		}
		for _, s := range first {
			if again[s.Key] != s.Value {
				t.Errorf("%s: %s was %s, is %s", name, s.Key, s.Value, again[s.Key])
			}
			delete(again, s.Key)
		}
		for key := range again { // admin and tracker addresses are known of more ids now
			if !strings.HasPrefix(key, admin) && !strings.HasPrefix(key, tracker) {
				t.Errorf("%s: %s is new", name, key)
			}
		}
	}
}
