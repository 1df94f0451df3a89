package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
)

// hadoopDir is a directory of Hadoop's files from the tests of the configuration.
func hadoopDir(name string) string {
	return filepath.Join("..", "..", "configs", "testdata", "hadoop", name)
}

const (
	oneHeddle  = "mode: enforce\nhdfs: {enabled: false}\nmapreduce: {enabled: false}\nrelay: {listen: \"10.0.0.5:7930\"}\n"
	twoHeddles = "mode: enforce\nhdfs: {enabled: false}\nmapreduce: {enabled: false}\nrelay: {listen: \"0.0.0.0:7930\", advertise: heddle1, peers: [\"10.0.0.6:7940\"]}\n"
)

// siteOf loads a configuration and makes a client's view of it.
func siteOf(t *testing.T, text, dir string, direct ...string) (*clientSite, error) {
	t.Helper()
	opts := configs.Options{File: writeFile(t, "heddle.yml", text), KnownPolicy: knownPolicy}
	if dir != "" {
		opts.HadoopConfDir = dir
	}
	loaded, err := configs.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	return newClientSite(loaded, direct)
}

func settingsOf(t *testing.T, text, dir string, direct ...string) []setting {
	t.Helper()
	s, err := siteOf(t, text, dir, direct...)
	if err != nil {
		t.Fatal(err)
	}
	return s.settings()
}

func lines(settings []setting) []string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = strings.TrimPrefix(s.Key, rmPrefix) + "=" + s.Value
	}
	return out
}

func TestClientSettings(t *testing.T) {
	t.Parallel()
	const explicit = "mode: enforce\nhdfs: {enabled: false}\nresource_manager: {urls: [\"https://b.example.com\", \"https://a.example.com:9090\"]}\n" +
		"relay: {listeners: [{rm: a, address: \"10.0.0.5:1\", upstream: \"a.example.com:8030\"}, {rm: b, address: \"10.0.0.5:9\", upstream: \"b.example.com:8030\"}]}\n"
	tests := []struct {
		name, text, dir string
		direct          []string
		want            []string
	}{
		{"one ResourceManager", oneHeddle, hadoopDir("single"), nil, []string{
			"ha.enabled=true", "ha.rm-ids=heddle,direct", "ha.id=direct", "connect.retry-interval.ms=1000",
			"hostname.heddle=master.example.com", "scheduler.address.heddle=10.0.0.5:7930",
			"address.heddle=master.example.com:8032", "webapp.address.heddle=master.example.com:8088",
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
			"ha.enabled=true", "ha.rm-ids=heddle-a,heddle-b,a,b", "ha.id=a", "connect.retry-interval.ms=1000",
			"hostname.heddle-a=a.example.com", "scheduler.address.heddle-a=10.0.0.5:1", "address.heddle-a=a.example.com:8032", "webapp.https.address.heddle-a=a.example.com:9090",
			"hostname.heddle-b=b.example.com", "scheduler.address.heddle-b=10.0.0.5:9", "address.heddle-b=b.example.com:8032", "webapp.https.address.heddle-b=b.example.com:8090",
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
			if missing := incomplete(got); len(missing) > 0 {
				t.Errorf("incomplete: %v", missing)
			}
		})
	}
}

// TestClientSettingsComplete takes every setting away, and holds that its
// absence is found unless Hadoop has a default that will do.
func TestClientSettingsComplete(t *testing.T) {
	t.Parallel()
	for _, site := range []struct{ text, dir string }{
		{oneHeddle, "single"}, {twoHeddles, "single"}, {oneHeddle, "ha"}, {twoHeddles, "hafull"}, {twoHeddles, "https"},
	} {
		text := site.text
		if site.dir == "https" {
			text += "security: {ccache: /run/krb5cc}\n"
		}
		all := settingsOf(t, text, hadoopDir(site.dir))
		if missing := incomplete(all); len(missing) > 0 {
			t.Errorf("%s: %v", site.dir, missing)
		}
		needed := 0
		for i, s := range all {
			optional := strings.HasPrefix(s.Key, "yarn.client.") || strings.HasPrefix(s.Key, keyAdmin) || strings.HasPrefix(s.Key, keyTracker)
			if !optional {
				needed++
			}
			for what, rest := range map[string][]setting{
				"without": slices.Delete(slices.Clone(all), i, i+1),
				"empty":   slices.Replace(slices.Clone(all), i, i+1, setting{Key: s.Key}),
			} {
				if found := len(incomplete(rest)) > 0; found == optional {
					t.Errorf("%s: %s %s: found %v", site.dir, what, s.Key, incomplete(rest))
				}
			}
		}
		if ids := strings.Count(all[1].Value, ",") + 1; needed != 4+4*ids {
			t.Errorf("%s: %d settings that are needed, for %d ids", site.dir, needed, ids)
		}
	}
	good := settingsOf(t, oneHeddle, hadoopDir("single"))
	for key, value := range map[string]string{
		keyHAEnabled: "false", keyHAIDs: "direct,heddle", keyHAID: "heddle", keyScheduler + ".heddle": "10.0.0.5", keyClient + ".direct": "rm: 8032", keyWeb + ".direct": ":8088",
	} {
		bad := slices.Clone(good)
		bad[slices.IndexFunc(bad, func(s setting) bool { return s.Key == key })].Value = value
		if len(incomplete(bad)) == 0 {
			t.Errorf("%s=%s is not found wrong", key, value)
		}
	}
	for _, ids := range []string{"heddle, direct", "heddle", "direct", "heddle,direct,heddle"} {
		bad := slices.Clone(good)
		if bad[1].Value = ids; len(incomplete(bad)) == 0 {
			t.Errorf("the ids %q are not found wrong", ids)
		}
	}
	if len(incomplete(append(slices.Clone(good), good[4]))) == 0 {
		t.Error("a setting that is there twice is not found")
	}
}

// TestClientFormats reads every format back.
func TestClientFormats(t *testing.T) {
	t.Parallel()
	want := settingsOf(t, twoHeddles, hadoopDir("hafull"))
	read := func(format string) string {
		code, out, errs := heddle(t, "client-config", "--config", writeFile(t, "heddle.yml", twoHeddles), "--hadoop-conf-dir", hadoopDir("hafull"), "--format", format)
		if code != exitOK || !strings.Contains(errs, "warning: "+keyRetryInterval+" is final in ") || strings.Count(errs, "\n") != 1 {
			t.Fatalf("%s: exit %d: %s", format, code, errs)
		}
		return out
	}
	for format, prefix := range map[string]string{"flags": "-D", "spark": "--conf spark.hadoop.", "properties": ""} {
		var got []string
		for line := range strings.Lines(read(format)) {
			if format == "properties" && strings.HasPrefix(line, "# ") {
				continue
			}
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
			if !ok {
				t.Errorf("%s: odd line %q", format, line)
			}
			got = append(got, strings.TrimPrefix(rest, rmPrefix))
		}
		if diff := cmp.Diff(lines(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(read("xml")), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := configs.ReadHadoop(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range want {
		if p, ok, err := h.Lookup(s.Key); err != nil || !ok || p.Value != s.Value {
			t.Errorf("XML: %s = %q, %v; want %q", s.Key, p.Value, err, s.Value)
		}
	}
	code, out, _ := heddle(t, "client-config", "--config", writeFile(t, "heddle.yml", twoHeddles), "--hadoop-conf-dir", hadoopDir("hafull"), "-o", "json")
	var got clientConfig
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil {
		t.Fatalf("exit %d: %v", code, err)
	}
	if diff := cmp.Diff(want, got.Settings); diff != "" || len(got.Warnings) != 1 || len(got.Checks) != 0 {
		t.Errorf("JSON %v (-want +got):\n%s", got.Warnings, diff)
	}
}

// TestClientSettingsTwice holds that clients' files that hold the settings
// already, and are the ones heddle reads, give the same settings again.
func TestClientSettingsTwice(t *testing.T) {
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
			if !strings.HasPrefix(key, keyAdmin) && !strings.HasPrefix(key, keyTracker) {
				t.Errorf("%s: %s is new", name, key)
			}
		}
	}
}

func TestClientConfigSimple(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"single": "-Dyarn.resourcemanager.scheduler.address=10.0.0.5:7930\n",
		"ha":     "-Dyarn.resourcemanager.scheduler.address.rm1=10.0.0.5:7930\n-Dyarn.resourcemanager.scheduler.address.rm2=10.0.0.5:7931\n",
	} {
		code, out, errs := heddle(t, "client-config", "--simple", "--format", "flags", "--config", writeFile(t, "heddle.yml", oneHeddle), "--hadoop-conf-dir", hadoopDir(dir))
		if code != exitOK || out != want || errs != "" {
			t.Errorf("%s: exit %d: %s%s", dir, code, out, errs)
		}
	}
}

func TestClientConfigProblems(t *testing.T) {
	t.Parallel()
	const rest = "hdfs: {enabled: false}\nmapreduce: {enabled: false}\n"
	tests := []struct {
		text, args string
		code       int
		says       string
	}{
		{"mode: observe\n", "", exitFailed, "does not run in mode observe"},
		{"mode: advise\n", "", exitFailed, "or advise with relay.listen"},
		{"mode: advise\nrelay: {listen: \"10.0.0.5:7930\"}\n", "", exitOK, ""},
		{"mode: enforce\nrelay: {listen: \":7930\"}\n", "", exitFailed, "say in relay.advertise"},
		{"mode: enforce\nrelay: {listen: \"[::]:7930\"}\n", "", exitFailed, "say in relay.advertise"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:0\"}\n", "", exitFailed, "give relay.listen a port"},
		{"mode: enforce\n", "", exitOK, "warning: the relay is 127.0.0.1:7930, which only applications on this machine reach"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct a:1,b:2", exitUsage, "2 addresses for 1 ResourceManagers; give one for each, in the order of master.example.com"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct a", exitUsage, "want host:port"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct localhost:8030", exitOK, "warning: the ResourceManager's scheduler is localhost:8030"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "-o yaml", exitUsage, "want table or json"},
	}
	for _, tt := range tests {
		args := append([]string{"client-config", "--config", writeFile(t, "heddle.yml", tt.text+rest), "--hadoop-conf-dir", hadoopDir("single")}, strings.Fields(tt.args)...)
		code, out, errs := heddle(t, args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || (code == exitOK) != strings.Contains(out, keyHAIDs) || tt.says == "" && errs != "" {
			t.Errorf("%q %s: exit %d\n%s%s", tt.text, tt.args, code, out, errs)
		}
	}
}
