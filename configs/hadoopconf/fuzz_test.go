package hadoopconf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzXML holds that any text is read or refused with a place, and that
// looking up whatever was read ends. It reads no file that the text includes.
func FuzzXML(f *testing.F) {
	for _, pattern := range []string{"../testdata/hadoop/*/*.xml", "../testdata/hadoop/xinclude/parts/*.xml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Config{properties: map[string]Property{}, env: map[string]string{"SET": "value", "EMPTY": ""}}
		r := &reader{set: c.set, readFile: func(path string) ([]byte, error) {
			if path == "core-site.xml" {
				return data, nil
			}
			return nil, fs.ErrNotExist
		}}
		located := func(what string, err error) {
			t.Helper()
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.File != "core-site.xml" && e.File != "") {
				t.Fatalf("%s: an error without a place: %v", what, err)
			}
		}
		located("read", r.file("core-site.xml", 0))
		for key := range c.properties {
			p, ok, err := c.Lookup(key)
			located(key, err)
			if ok && (p.Value == "" || len(p.Value) > maxExpanded+len(data)) {
				t.Fatalf("%s expands to %d bytes", key, len(p.Value))
			}
		}
		none := func(find func(string) (Setting, bool, error)) func() (Setting, bool, error) {
			return func() (Setting, bool, error) { return find("") }
		}
		for i, find := range []func() (Setting, bool, error){
			c.ResourceManagerURLs, none(c.NameNodeURLs), none(c.NameNodeRPCAddresses), c.HistoryServer, c.TimelineServer,
			c.TopologyTable, c.DataNodePort, c.NodeManagerHTTPS,
		} {
			s, ok, err := find()
			located(string(rune('0'+i)), err)
			if ok && strings.TrimSpace(s.Value) == "" {
				t.Fatalf("search %d found nothing", i)
			}
		}
		_, _, err := c.Schedulers()
		located("Schedulers", err)
		_, err = c.ResourceManagers()
		located("ResourceManagers", err)
	})
}
