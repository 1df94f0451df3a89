//go:build linux

package hadoop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/netlab"
)

const (
	// requestVar asks for the tests that need a cluster.
	requestVar = "HEDDLE_INTEGRATION"
	// keepVar keeps a run's directory.
	keepVar = "HEDDLE_KEEP"
	// runPrefix starts the names of run directories below the temporary directory.
	runPrefix = "heddle-hadoop-"
	// lockFile is locked by the process that owns a run directory.
	lockFile = "lock"
	// keptFile marks a run directory that is not removed.
	keptFile = "kept"
	// minMemory is what a cluster of six hosts with its jobs takes, in bytes.
	minMemory = 5 << 30
	// javaFrom and javaTo are the Java releases that Hadoop's options here fit.
	javaFrom, javaTo = 11, 22
	// interrupted is the exit status after an interrupt from the terminal.
	interrupted = 128 + int(syscall.SIGINT)
)

// Main is the body of a TestMain that uses this package; the result is the
// exit status. When the environment asks for a cluster and the machine can
// have one, the tests run in a sandbox, where [Start] works. Otherwise one line
// says why not and the tests run as they are, those with [Require] skipping. The
// extras are what some of the tests need beside Hadoop. They are fetched here,
// because nothing in the sandbox reaches beyond this machine.
func Main(m *testing.M, extras ...Extra) int {
	netlab.Boot()
	if netlab.Inside() {
		return m.Run()
	}
	wish := os.Getenv(requestVar)
	if wish == "" {
		logf(os.Stdout, "skipped: no real cluster unless %s=1", requestVar)
		return m.Run()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	why := MissingPrerequisite(ctx, os.Stdout)
	var without error
	if why == "" {
		without = fetchExtras(ctx, extras, os.Stdout)
	}
	stopped := ctx.Err() != nil
	stop()
	if stopped {
		return interrupted
	}
	if why != "" {
		logf(os.Stdout, "skipped: no real cluster here: %s", why)
		if wish == "require" {
			return 1
		}
		return m.Run()
	}
	if without != nil && wish == "require" {
		return 1
	}
	code, err := runInside()
	if err != nil {
		logf(os.Stdout, "%v", err)
		return 1
	}
	return code
}

// fetchExtras fetches the jars of extras and logs which cannot be had.
func fetchExtras(ctx context.Context, extras []Extra, log io.Writer) error {
	var errs []error
	for _, e := range extras {
		if _, err := e.jars().fetch(ctx, log); err != nil {
			logf(log, "no %s here: %s", e, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Require skips a test that needs a cluster, or extras that were given to [Main],
// where there are none.
func Require(tb testing.TB, extras ...Extra) {
	tb.Helper()
	if !netlab.Inside() {
		tb.Skip("needs a real cluster; the first line of the output says why there is none")
	}
	for _, e := range extras {
		if _, err := e.jars().ready(); err != nil {
			tb.Skipf("needs %s: %v", e, err)
		}
	}
}

// MissingPrerequisite returns one line about what keeps this machine from running a
// cluster, empty if nothing does. It makes Maven fetch the jars on the way, once,
// and reports that to log.
func MissingPrerequisite(ctx context.Context, log io.Writer) string {
	err := checkPrerequisites(ctx, log)
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

func checkPrerequisites(ctx context.Context, log io.Writer) error {
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s (iproute2) is not installed", tool)
		}
	}
	if _, err := exec.LookPath("bash"); err != nil {
		return errors.New("bash, which NodeManagers start containers with, is not installed")
	}
	if _, err := javaHome(ctx); err != nil {
		return err
	}
	if err := enoughMemory(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", runPrefix)
	if err != nil {
		return fmt.Errorf("make a scratch directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // three small files in the temporary directory
	if why := netlab.WhyUnavailable(dir); why != "" {
		return errors.New(why)
	}
	_, err = hadoopJars().fetch(ctx, log)
	return err
}

// javaHome finds the Java to use: JAVA_HOME's if that is set, else the PATH's.
func javaHome(ctx context.Context) (string, error) {
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		var err error
		if java, err = exec.LookPath("java"); err != nil {
			return "", errors.New("java is not installed")
		}
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s -version: %w", java, err)
	}
	if v := javaRelease(out); v < javaFrom || v > javaTo {
		return "", fmt.Errorf("java %d is installed (%s), %d to %d is needed", v, java, javaFrom, javaTo)
	}
	file, err := filepath.EvalSymlinks(java)
	if err != nil {
		return "", fmt.Errorf("find the home of java: %w", err)
	}
	return filepath.Dir(filepath.Dir(file)), nil
}

// javaRelease reads the release from the output of java -version: 17 from
// "17.0.15", 8 from "1.8.0_402", zero when there is none.
func javaRelease(out []byte) int {
	m := regexp.MustCompile(`version "(?:1\.)?(\d+)`).FindSubmatch(out)
	if m == nil {
		return 0
	}
	v, _ := strconv.Atoi(string(m[1])) // too many digits are no release either
	return v
}

// enoughMemory refuses a machine where a cluster would make the kernel kill processes.
func enoughMemory() error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("read the free memory: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 && kib<<10 < minMemory {
			return fmt.Errorf("%d MiB of memory are free, %d are needed", kib>>10, minMemory>>20)
		}
	}
	return lines.Err()
}

// runInside runs this program in a sandbox with a run directory that is
// removed afterwards, unless the tests failed or the user wants it.
func runInside() (int, error) {
	removeAbandonedRuns()
	dir, err := os.MkdirTemp("", runPrefix)
	if err != nil {
		return 0, fmt.Errorf("make a run directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return 0, err
	}
	defer lock.Close() //nolint:errcheck // held for its lock alone
	code, err := netlab.Enter(dir)
	done := []int{0, interrupted, 128 + int(syscall.SIGTERM), 128 + int(syscall.SIGHUP)}
	if err == nil && os.Getenv(keepVar) == "" && slices.Contains(done, code) {
		if err := os.RemoveAll(dir); err != nil {
			return 0, fmt.Errorf("remove the run directory: %w", err)
		}
		return code, nil
	}
	logf(os.Stdout, "logs, configuration and data are kept in %s", dir)
	return code, errors.Join(err, os.WriteFile(filepath.Join(dir, keptFile), nil, 0o600))
}

// lockDir marks a run directory as in use for as long as this process lives.
// The lock is taken before the file has the name that [removeAbandonedRuns] looks for.
func lockDir(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	return f, nil
}

// removeAbandonedRuns removes directories of runs that were killed before they could.
func removeAbandonedRuns() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), runPrefix+"*", lockFile))
	if err != nil {
		return
	}
	for _, lock := range locks {
		removeAbandoned(lock)
	}
}

func removeAbandoned(lock string) {
	dir := filepath.Dir(lock)
	info, err := os.Lstat(dir)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return
	}
	f, err := os.Open(lock)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // held for its lock alone
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // its run goes on
	}
	if _, err := os.Stat(filepath.Join(dir, keptFile)); err == nil {
		return
	}
	_ = os.RemoveAll(dir) // what cannot be removed now is tried again next time
}

// logf writes one line for the person who waits.
func logf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "hadoop: "+format+"\n", args...) // a log that cannot be written is no reason to fail
}
