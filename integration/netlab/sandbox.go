//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The program finds out from these variables which of its copies it is.
const (
	phaseVar = "HEDDLE_SANDBOX"
	dirVar   = "HEDDLE_SANDBOX_DIR"
)

// The phases of a sandboxed program. The program the user started has none.
const (
	phaseProbe = "probe" // tries everything once and ends
	phaseInit  = "init"  // process 1 of the sandbox
	phaseMain  = "main"  // the program proper, child of process 1
)

// Boot must be the first call of a program that uses [Enter]. In the copies
// of the program that serve the sandbox itself it does not return.
func Boot() {
	switch os.Getenv(phaseVar) {
	case phaseProbe:
		os.Exit(report(probe(Dir())))
	case phaseInit:
		os.Exit(runInit(Dir()))
	}
}

// Inside reports whether this is the copy of the program that runs in the sandbox.
func Inside() bool { return os.Getenv(phaseVar) == phaseMain }

// Dir is the directory given to [Enter]; empty outside.
func Dir() string { return os.Getenv(dirVar) }

// HostsFile is the file that is /etc/hosts inside the sandbox. Rewriting it in
// place changes what every process in there resolves.
func HostsFile() string { return filepath.Join(Dir(), "hosts") }

// WhyUnavailable tries on a scratch directory whether the sandbox and a network in it
// can be made. The answer is one line, and empty when they can.
func WhyUnavailable(dir string) string {
	if _, err := cloneFlags(dir); err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return ""
}

// Enter runs this program again, with the same arguments, inside a sandbox
// whose files lie in dir, and returns its exit status: 128 plus the number of
// the signal that ended it, if one did. An interrupt, a termination or a hangup of this
// process ends all processes of the sandbox; so does this process being killed.
func Enter(dir string) (int, error) {
	flags, err := cloneFlags(dir)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)

	// The kernel sends the parent-death signal when the thread that started
	// the child ends, so this goroutine stays on one thread until then.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := reexec(phaseInit, dir, flags)
	if err != nil {
		return 0, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the sandbox: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = cmd.Wait()
	}()
	select {
	case <-done:
	case sig := <-signals:
		_ = cmd.Process.Kill() // process 1 of the sandbox: all others go with it
		<-done
		if n, ok := sig.(syscall.Signal); ok {
			return 128 + int(n), nil
		}
		return 1, nil
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for the sandbox: %w", err)
	}
	return exitStatus(cmd.ProcessState.Sys()), nil
}

func exitStatus(sys any) int {
	ws, ok := sys.(syscall.WaitStatus)
	switch {
	case !ok:
		return 1
	case ws.Signaled():
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// cloneFlags finds the namespaces that a sandbox can be made of here: without
// a user namespace when privileged enough, else with one.
func cloneFlags(dir string) (uintptr, error) {
	const all = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	tries := []uintptr{all | unix.CLONE_NEWUSER}
	if os.Geteuid() == 0 {
		tries = []uintptr{all, all | unix.CLONE_NEWUSER}
	}
	var errs []error
	for _, flags := range tries {
		err := tryFlags(dir, flags)
		if err == nil {
			return flags, nil
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

func tryFlags(dir string, flags uintptr) error {
	cmd, err := reexec(phaseProbe, dir, flags)
	if err != nil {
		return err
	}
	kind := "namespaces"
	if flags&unix.CLONE_NEWUSER != 0 {
		kind = "user namespaces"
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) > 0 {
		return fmt.Errorf("%s are refused: %s", kind, strings.TrimSpace(string(out)))
	}
	if err != nil {
		return fmt.Errorf("%s are refused: %w", kind, err)
	}
	return nil
}

// reexec is the command that runs this program again in a phase of the sandbox.
func reexec(phase, dir string, flags uintptr) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	cmd := exec.Command(exe, os.Args[1:]...) // ended by the parent-death signal
	cmd.Env = append(os.Environ(), phaseVar+"="+phase, dirVar+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: flags,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // a terminal's interrupt reaches the outer process alone
	}
	if flags&unix.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd, nil
}

// runInit is process 1: it mounts the files of the sandbox, starts the program proper,
// buries every orphan, and ends with the program; whatever is left then, the
// kernel kills.
func runInit(dir string) int {
	if err := mountFiles(dir); err != nil {
		return report(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	go func() {
		<-signals
		os.Exit(128 + int(unix.SIGTERM))
	}()
	exe, err := os.Executable()
	if err != nil {
		return report(err)
	}
	if err := os.Setenv(phaseVar, phaseMain); err != nil {
		return report(err)
	}
	child, err := os.StartProcess(exe, os.Args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return report(err)
	}
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return report(fmt.Errorf("wait for children: %w", err))
		case pid == child.Pid && (ws.Exited() || ws.Signaled()):
			return exitStatus(ws)
		}
	}
}

func report(err error) int {
	if err == nil {
		return 0
	}
	_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
	return 1
}

// mountFiles gives the sandbox its own /proc and its own name resolution: the
// hosts file and nothing else, so no look-up ever leaves the machine.
func mountFiles(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for name, text := range map[string]string{
		"hosts":         "127.0.0.1 localhost\n",
		"resolv.conf":   "",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		own, etc := filepath.Join(dir, name), filepath.Join("/etc", name)
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the sandbox's %s: %w", name, err)
		}
		err := unix.Mount(own, etc, "", unix.MS_BIND, "")
		if errors.Is(err, unix.ENOENT) && name != "hosts" {
			continue // a system without the file needs no other in its place
		}
		if err != nil {
			return fmt.Errorf("put a file over %s: %w", etc, err)
		}
	}
	return IP("link set dev lo up")
}

// probe does once, small, all that a network needs.
func probe(dir string) error {
	if err := mountFiles(dir); err != nil {
		return err
	}
	router, err := NewHost("router")
	if err != nil {
		return err
	}
	defer router.Close()
	sw, err := NewHost("switch")
	if err != nil {
		return err
	}
	defer sw.Close()
	if err := Join(End{router, "a"}, End{sw, "b"}); err != nil {
		return err
	}
	if err := sw.IP("link add br0 type bridge", "link set dev b master br0"); err != nil {
		return err
	}
	if err := router.Forward(); err != nil {
		return err
	}
	return router.Shape("a", 100)
}
