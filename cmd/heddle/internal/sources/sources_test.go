package sources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/configs"
	"heddle/configs/hadoopconf"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// TestAuthorities: paths that name this cluster are looked up here, however
// they name it; paths of another are not.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := `<configuration><property><name>fs.defaultFS</name><value>hdfs://mycluster</value></property></configuration>`
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	hadoop, err := hadoopconf.Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &configs.HDFSConfig{NameNodes: []string{"http://nn1:9870"}, RPCAddresses: []string{"nn1:8020", "nn2:8020"}}
	names := authorities(c, hadoop)
	for _, ours := range []string{"mycluster", "nn1:8020", "nn2", "nn1:9870"} {
		if !slices.Contains(names, ours) {
			t.Errorf("%s is not among %v", ours, names)
		}
	}
	if slices.Contains(names, "other") || len(authorities(&configs.HDFSConfig{NameNodes: c.NameNodes}, hadoop)) != 0 {
		t.Errorf("names %v", names)
	}
	c.Nameservice = "second"
	if names := authorities(c, hadoop); slices.Contains(names, "mycluster") || !slices.Contains(names, "second") {
		t.Errorf("with a nameservice chosen: %v", names)
	}
}

// TestTezSource: the timeline server is a source where one is configured, and none otherwise.
func TestTezSource(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "http://ats:8188"} {
		cfg := configs.Default()
		cfg.ResourceManager.URLs = []string{"http://rm:8088"}
		cfg.HDFS.Enabled = false
		cfg.Tez.TimelineServer = server
		s, err := Build(Options{Config: &cfg, Snapshot: func() *snapshot.Snapshot { return nil }, Log: hclog.NewNullLogger(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(s.Names(), model.SourceTez); got != (server != "") {
			t.Errorf("with the timeline server %q the sources are %v", server, s.Names())
		}
	}
}
