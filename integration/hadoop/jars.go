//go:build linux

package hadoop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed assets/pom.xml
var hadoopPom []byte

//go:embed assets/spark-pom.xml
var sparkPom []byte

//go:embed assets/tez-pom.xml
var tezPom []byte

// Version is the Apache Hadoop release that is run.
const Version = "3.4.3"

const (
	// cacheVar overrides where the jars are kept.
	cacheVar = "HEDDLE_HADOOP_CACHE"
	// copyGoal is the one Maven goal that is run, at a version, so that no
	// later Maven resolves differently.
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	// downloadLimit ends a Maven that hangs.
	downloadLimit = 15 * time.Minute
	// marker is the file that lists a complete directory of jars.
	marker = "complete"
)

// Extra is software beside Hadoop that some tests need.
type Extra string

// The extras.
const (
	Spark Extra = "Spark" // [SparkVersion], for [Jobs.SparkJob]
	Tez   Extra = "Tez"   // [TezVersion], for [Jobs.TezJob]
)

// jarSet is the jars of one pom.
type jarSet struct {
	name string // for people
	size string // of a first download
	pom  []byte
}

func hadoopJars() jarSet { return jarSet{"Hadoop " + Version, "100 MB", hadoopPom} }

// jars are those of the extra; it has none when there is no such extra.
func (e Extra) jars() jarSet {
	switch e {
	case Spark:
		return jarSet{"Spark " + SparkVersion, "130 MB", sparkPom}
	case Tez:
		return jarSet{"Tez " + TezVersion, "6 MB", tezPom}
	}
	return jarSet{name: string(e)}
}

// dir is where the jars of this very pom are kept. A changed pom has
// another directory, so nothing ever changes under a running cluster.
func (s jarSet) dir() (string, error) {
	root := os.Getenv(cacheVar)
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache directory for the jars, or set %s: %w", cacheVar, err)
		}
		root = filepath.Join(cache, "heddle", "hadoop-"+Version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("find the jar cache: %w", err)
	}
	return filepath.Join(root, fmt.Sprintf("%.6x", sha256.Sum256(s.pom))), nil
}

// jarsComplete checks a jar directory against its marker, which has a line of
// size and name for every jar.
func jarsComplete(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, marker))
	if err != nil || len(text) == 0 {
		return false
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		size, name, ok := strings.Cut(lines.Text(), " ")
		info, err := os.Stat(filepath.Join(dir, name))
		if !ok || err != nil || strconv.FormatInt(info.Size(), 10) != size {
			return false
		}
	}
	return lines.Err() == nil
}

// ready is the directory of the jars, and an error when they are not all there.
func (s jarSet) ready() (string, error) {
	dir, err := s.dir()
	if err == nil && !jarsComplete(dir) {
		err = fmt.Errorf("the jars of %s are not in %s", s.name, dir)
	}
	return dir, err
}

// fetch returns the directory of the jars and lets Maven fill it when
// it is not there. It appears under its name only when it is whole. Of several
// runs that want it at once, one fetches and the others wait.
func (s jarSet) fetch(ctx context.Context, log io.Writer) (string, error) {
	dir, err := s.dir()
	if err != nil || jarsComplete(dir) {
		return dir, err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("mvn (Maven) is not installed and the jars of %s are not cached", s.name)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", fmt.Errorf("make the jar cache, or set %s: %w", cacheVar, err)
	}
	lock, err := waitLock(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // held for its lock alone
	if jarsComplete(dir) {
		return dir, nil
	}
	logf(log, "fetching the jars of %s (about %s, once) into %s", s.name, s.size, dir)
	part := dir + ".part"
	for _, leftover := range []string{part, dir} {
		if err := os.RemoveAll(leftover); err != nil {
			return "", fmt.Errorf("clear an incomplete jar cache: %w", err)
		}
	}
	if err := os.Mkdir(part, 0o750); err != nil {
		return "", fmt.Errorf("make the jar cache: %w", err)
	}
	if err := runMaven(ctx, mvn, part, s.pom); err != nil {
		return "", fmt.Errorf("let Maven fetch the jars of %s: %w", s.name, err)
	}
	if err := writeMarker(part); err != nil {
		return "", err
	}
	if err := os.Rename(part, dir); err != nil {
		return "", fmt.Errorf("move the jars into the cache: %w", err)
	}
	return dir, nil
}

// waitLock locks a file, waiting for another process that has it.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the jar cache: %w", err)
	}
	err = poll(ctx, func(context.Context) error {
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the jar cache: %w", err)
	}
	return f, nil
}

// runMaven copies every jar of the pom into dir.
func runMaven(ctx context.Context, mvn, dir string, pom []byte) error {
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o600); err != nil {
		return fmt.Errorf("write Maven's pom: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "--strict-checksums", "--file", file,
		copyGoal, "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	if home, err := os.UserHomeDir(); err == nil && len(strings.Fields(home)) == 1 {
		// Java asks the password file, which need not agree with HOME.
		cmd.Env = append(os.Environ(), "MAVEN_OPTS=-Duser.home="+home+" "+os.Getenv("MAVEN_OPTS"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the script and its Java
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, firstError(out))
	}
	return nil
}

// firstError is the first line of Maven's output that names an error.
func firstError(out []byte) string {
	text := strings.TrimSpace(string(out))
	for line := range strings.Lines(text) {
		if msg, ok := strings.CutPrefix(strings.TrimSpace(line), "[ERROR] "); ok {
			return msg
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// writeMarker writes the marker of a directory of jars.
func writeMarker(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the fetched jars: %w", err)
	}
	var list bytes.Buffer
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("list the fetched jars: %w", err)
		}
		if strings.HasSuffix(e.Name(), ".jar") {
			fmt.Fprintf(&list, "%d %s\n", info.Size(), e.Name())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, marker), list.Bytes(), 0o600); err != nil {
		return fmt.Errorf("mark the jars complete: %w", err)
	}
	return nil
}
