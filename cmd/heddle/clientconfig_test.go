package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/exit"
	"heddle/configs/hadoopconf"
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

// TestClientFormats reads every format back.
func TestClientFormats(t *testing.T) {
	t.Parallel()
	code, out, _ := heddle(t, "client-config", "--config", writeFile(t, "heddle.yml", twoHeddles), "--hadoop-conf-dir", hadoopDir("hafull"), "-o", "json")
	var c clientConfig
	if err := json.Unmarshal([]byte(out), &c); code != exit.OK || err != nil || len(c.Settings) == 0 || len(c.Warnings) != 1 || len(c.Checks) != 0 {
		t.Fatalf("exit %d: %v in %s", code, err, out)
	}
	var want []string
	for _, s := range c.Settings {
		want = append(want, s.Key+"="+s.Value)
	}
	read := func(format string) string {
		code, out, errs := heddle(t, "client-config", "--config", writeFile(t, "heddle.yml", twoHeddles), "--hadoop-conf-dir", hadoopDir("hafull"), "--format", format)
		if code != exit.OK || !strings.Contains(errs, "warning: "+clientconfig.Prefix+"connect.retry-interval.ms is final in ") || strings.Count(errs, "\n") != 1 {
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
			got = append(got, rest)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(read("xml")), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := hadoopconf.Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings {
		if p, ok, err := h.Lookup(s.Key); err != nil || !ok || p.Value != s.Value {
			t.Errorf("XML: %s = %q, %v; want %q", s.Key, p.Value, err, s.Value)
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
		if code != exit.OK || out != want || errs != "" {
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
		{"mode: observe\n", "", exit.Failed, "does not run in mode observe"},
		{"mode: advise\n", "", exit.Failed, "or advise with relay.listen"},
		{"mode: advise\nrelay: {listen: \"10.0.0.5:7930\"}\n", "", exit.OK, ""},
		{"mode: enforce\nrelay: {listen: \":7930\"}\n", "", exit.Failed, "set relay.advertise"},
		{"mode: enforce\nrelay: {listen: \"[::]:7930\"}\n", "", exit.Failed, "set relay.advertise"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:0\"}\n", "", exit.Failed, "set a port in relay.listen"},
		{"mode: enforce\n", "", exit.OK, "warning: the relay is 127.0.0.1:7930, which only applications on this machine reach"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct a:1,b:2", exit.Usage, "2 addresses for 1 ResourceManagers; give one for each, in the order of master.example.com"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct a", exit.Usage, "want host:port"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "--direct localhost:8030", exit.OK, "warning: the ResourceManager's scheduler is localhost:8030"},
		{"mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}\n", "-o yaml", exit.Usage, "want table or json"},
	}
	for _, tt := range tests {
		args := append([]string{"client-config", "--config", writeFile(t, "heddle.yml", tt.text+rest), "--hadoop-conf-dir", hadoopDir("single")}, strings.Fields(tt.args)...)
		code, out, errs := heddle(t, args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || (code == exit.OK) != strings.Contains(out, "ha.rm-ids") || tt.says == "" && errs != "" {
			t.Errorf("%q %s: exit %d\n%s%s", tt.text, tt.args, code, out, errs)
		}
	}
}
