package configs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/configs/strict"
)

// FuzzLoad holds that any text either loads or is refused with problems, and
// that what check config prints of it loads to the same.
func FuzzLoad(f *testing.F) {
	for _, file := range slices.Concat(glob(f, "testdata/*.yml"), glob(f, "examples/*.yml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	dir := f.TempDir() // without Hadoop's files: the fuzzer has no business in other directories
	file := filepath.Join(dir, "heddle.yml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// What every configuration needs comes from flags, so that most texts without a problem load.
		first, err := configs.Load(configs.Options{
			File: file, HadoopConfDir: dir, Flags: map[string]string{"resource_manager.urls": "http://rm:8088", "hdfs.enabled": "false"},
		})
		if err != nil {
			var ps strict.Problems
			if !errors.As(err, &ps) || len(ps) == 0 || ps.Error() == "" {
				t.Fatalf("an error that is no problem: %v", err)
			}
			return
		}
		env := printed(first)
		if slices.ContainsFunc(env, func(v string) bool { return strings.ContainsRune(v, 0) }) {
			return // no environment can hold it
		}
		again, err := configs.Load(configs.Options{Env: env})
		if err != nil {
			t.Fatalf("what was printed does not load: %v\n%q", err, env)
		}
		if diff := cmp.Diff(first.Config, again.Config); diff != "" || first.Hash() != again.Hash() {
			t.Fatalf("what was printed loads to something else:\n%s\n%q", diff, env)
		}
	})
}
