package configs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addFiles adds the content of files to a fuzz target's corpus.
func addFiles(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
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
}

// loadText loads a configuration from a text. What every configuration needs
// comes from flags, so that most texts without a problem load.
func loadText(data []byte) (*Loaded, error) {
	l := newLoader(Options{File: "fuzz.yml", Flags: map[string]string{"resource_manager.urls": "http://rm:8088", "hdfs.enabled": "false"}})
	l.loadFlags()
	l.decode(data)
	if l.cfg.Hadoop.ConfDir != "" { // the fuzzer has no business in directories
		l.report("hadoop.conf_dir", Origin{}, "not in this test")
		l.cfg.Hadoop.ConfDir = ""
	}
	return l.finish()
}

// FuzzLoad holds that any text either loads or is refused with problems, and
// that what loads prints to a text that loads to the same.
func FuzzLoad(f *testing.F) {
	addFiles(f, "testdata/*.yml", "examples/*.yml")
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := loadText(data)
		if err != nil {
			var ps Problems
			if !errors.As(err, &ps) || len(ps) == 0 || ps.Error() == "" {
				t.Fatalf("an error that is no problem: %v", err)
			}
			return
		}
		text, err := first.Config.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadText(text)
		if err != nil {
			t.Fatalf("what was printed does not load: %v\n%s", err, text)
		}
		if diff := cmp.Diff(first.Config, again.Config); diff != "" || first.Hash() != again.Hash() {
			t.Fatalf("what was printed loads to something else:\n%s\n%s", diff, text)
		}
	})
}

// FuzzHadoopXML holds that any text is read or refused with a place, and that
// looking up whatever was read ends.
func FuzzHadoopXML(f *testing.F) {
	addFiles(f, "testdata/hadoop/*/*.xml", "testdata/hadoop/xinclude/parts/*.xml")
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &Hadoop{props: map[string]Property{}, env: map[string]string{"SET": "value", "EMPTY": ""}}
		r := &xmlReader{set: h.set, read: func(path string) ([]byte, error) {
			if path == "core-site.xml" {
				return data, nil
			}
			return nil, fs.ErrNotExist
		}}
		if err := r.file("core-site.xml", 0); err != nil {
			var p *Problem
			if !errors.As(err, &p) || p.Origin.File != "core-site.xml" {
				t.Fatalf("an error without a place: %v", err)
			}
		}
		for key := range h.props {
			p, ok, err := h.Lookup(key)
			var problem *Problem
			if err != nil && (!errors.As(err, &problem) || problem.Origin.Name == "") {
				t.Fatalf("an error without a place: %v", err)
			}
			if ok && (p.Value == "" || len(p.Value) > maxExpanded+len(data)) {
				t.Fatalf("%s expands to %d bytes", key, len(p.Value))
			}
		}
		c := Default()
		c.Uplinks.Source, c.Mode = UplinkShuffleJMX, ModeEnforce
		for _, path := range discoverable() {
			if path == "topology.table" { // looks into the file system
				continue
			}
			var problem *Problem
			found, ok, err := h.discover(path, &c)
			if err != nil && !errors.As(err, &problem) {
				t.Fatalf("%s: an error without a place: %v", path, err)
			}
			if ok && strings.TrimSpace(found.text) == "" {
				t.Fatalf("%s: found nothing", path)
			}
			if path == "relay.listeners" && ok {
				if err := setText(reflect.ValueOf(&c.Relay.Listeners).Elem(), found.text); err != nil || len(c.Relay.Listeners) == 0 {
					t.Fatalf("what was found cannot be read: %v: %s", err, found.text)
				}
			}
		}
	})
}
