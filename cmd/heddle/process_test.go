package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/core/model"
	"heddle/core/trace"
	"heddle/integration/fakehadoop"
)

// process is a heddle of its own.
type process struct {
	*running // url, log and web; it has no service in this process
	cmd      *exec.Cmd
	ended    chan error
}

// spawn starts a heddle. It is killed at the end of the test if it still runs.
func spawn(tb testing.TB, args ...string) *process {
	tb.Helper()
	return spawnIn(tb, nil, args...)
}

// spawnIn is spawn with more environment.
func spawnIn(tb testing.TB, env []string, args ...string) *process {
	tb.Helper()
	p := &process{
		running: &running{t: tb, log: &buffer{}, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}},
		cmd:     exec.Command(os.Args[0], args...), ended: make(chan error, 1),
	}
	p.cmd.Env = append(append(os.Environ(), asHeddle+"=1"), env...)
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait(); close(p.ended) }()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended already, or is to
		<-p.ended
		if tb.Failed() {
			tb.Logf("standard error of heddle %v:\n%s", args, p.log)
		}
	})
	return p
}

// serves waits until the process says where it serves, and is ready.
func (p *process) serves() {
	p.t.Helper()
	eventually(p.t, "the address in the log", func() error {
		m := regexp.MustCompile(`url"?[=:]"?(http://[^\s"]+)`).FindStringSubmatch(p.log.String())
		if m == nil {
			return errors.New("not yet")
		}
		p.url = m[1]
		return nil
	})
	eventually(p.t, "ready", p.ready)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends wants the process to end with a code.
func (p *process) ends(code int) {
	p.t.Helper()
	select {
	case <-p.ended:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			p.t.Fatalf("exit %d, want %d", got, code)
		}
	case <-time.After(20 * time.Second):
		p.t.Fatal("it does not end")
	}
}

// records reads a whole recording, strictly.
func records(t *testing.T, path string) (h trace.Header, all []trace.Record) {
	t.Helper()
	r, err := recording.Open(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return r.Header(), all
}

// kinds counts the facts of observations, and decisions as "decision".
func kinds(all []trace.Record) map[string]int {
	n := map[string]int{}
	for _, r := range all {
		switch {
		case r.Observation != nil:
			n[r.Observation.Fact.Kind()]++
		case r.Decision != nil:
			n["decision"]++
		default:
			n["mark "+r.Mark.Name]++
		}
	}
	return n
}

// TestServeStopsInOrder ends a service that records, by each signal: it ends
// well, and all it saw is in the recording.
func TestServeStopsInOrder(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			site := fakehadoop.Start(t)
			site.At(66 * time.Second)
			file := filepath.Join(t.TempDir(), "seen.jsonl.zst")
			p := spawn(t, "serve", "--config", writeFile(t, "heddle.yml", fastConfig(site)+"record: {file: "+file+"}\n"))
			p.serves()
			eventually(t, "a preference", func() error {
				w, err := p.preference("reduce")
				if err == nil && len(w.Racks) != 3 {
					err = fmt.Errorf("%+v", w)
				}
				return err
			})
			var polls float64
			eventually(t, "some polls", func() (err error) {
				if polls, err = p.metric(`heddle_polls_total{result="ok",source="rm"}`); err == nil && polls < 5 {
					err = fmt.Errorf("%v", polls)
				}
				return err
			})
			p.signal(sig)
			p.ends(exit.OK)
			if lines := strings.Split(strings.TrimSpace(p.log.String()), "\n"); !strings.HasSuffix(lines[len(lines)-1], "stopped") {
				t.Errorf("the last line is %s", lines[len(lines)-1])
			}
			if got := p.log.lines("[ERROR]"); len(got) > 0 {
				t.Error(got)
			}
			h, all := records(t, file)
			if h.Policy != "weave" || len(h.ConfigHash) != 64 || h.ToolVersion != version || h.Start == 0 {
				t.Errorf("header %+v", h)
			}
			n := kinds(all)
			ok := 0
			for _, r := range all {
				if o := r.Observation; o != nil && o.Source == model.SourceRM {
					if f, isPoll := o.Fact.(model.PollFact); isPoll && f.Result == model.PollOK {
						ok++
					}
				}
			}
			if float64(ok) < polls || n["nodes"] == 0 || n["counters"] == 0 || n["decision"] == 0 || n["mark dropped"] > 0 {
				t.Errorf("%d of %v polls, %v", ok, polls, n)
			}
		})
	}
}

// TestServePortInUse: a start that fails says so, and leaves no recording that
// the next start would refuse to overwrite.
func TestServePortInUse(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(t.TempDir(), "seen.jsonl.zst")
	p := spawn(t, "serve", "--config", writeFile(t, "heddle.yml", goodConfig+"record: {file: "+file+"}\n"), "--web.listen-address", l.Addr().String())
	p.ends(exit.Failed)
	if got := p.log.String(); !strings.Contains(got, "address already in use") || !strings.Contains(got, "--web.listen-address") {
		t.Error(got)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the recording: %v", err)
	}
}

func TestServeWebConfigFile(t *testing.T) {
	t.Parallel()
	p := spawn(t, "serve", "--config", writeFile(t, "heddle.yml", goodConfig), "--web.listen-address", "127.0.0.1:0",
		"--web.config.file", writeFile(t, "web.yml", "tls_server_config: {cert_file: /no/such.pem, key_file: /no/such.key}\n"))
	p.ends(exit.Failed)
	if got := p.log.String(); !strings.Contains(got, "/no/such.pem") {
		t.Error(got)
	}
}

// TestReload sends SIGHUP with configurations that are good, bad, and partly
// for the next start.
func TestReload(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	file := writeFile(t, "heddle.yml", fastConfig(site))
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := spawn(t, "serve", "--config", file)
	p.serves()
	active := func() string {
		var list struct {
			Policies []struct {
				Name   string
				Active bool
				Params json.RawMessage
			}
		}
		if err := p.read("/v1/policies", &list); err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Policies {
			if one.Active {
				return one.Name + string(one.Params)
			}
		}
		return ""
	}
	hash := func() string {
		_, body, err := p.get("/metrics")
		m := regexp.MustCompile(`heddle_config_info\{hash="(\w+)"\} 1`).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no hash: %v", err)
		}
		return m[1]
	}
	said := func(text string, times int) {
		t.Helper()
		eventually(t, text, func() error {
			if got := len(p.log.lines(text)); got != times {
				return fmt.Errorf("said %d times", got)
			}
			return nil
		})
	}
	first := hash()

	rewrite("mode: [\n")
	p.signal(syscall.SIGHUP)
	said("configuration not reloaded; the one in force stays", 1)
	rewrite(fastConfig(site) + "policy: {name: nosuch}\n")
	p.signal(syscall.SIGHUP)
	said("configuration not reloaded; the one in force stays", 2)
	if got := active(); !strings.HasPrefix(got, "weave") || hash() != first {
		t.Errorf("after bad files: %s", got)
	}

	rewrite(fastConfig(site, "interval: 1s", "interval: 7s") + "policy: {name: shufflewatcher, params: {window_s: 60}}\nnetwork: {saturation: 0.5}\n")
	p.signal(syscall.SIGHUP)
	said("configuration reloaded", 1)
	said("these keys need a restart and stay as they were", 1)
	if line := p.log.lines("need a restart")[0]; !strings.Contains(line, "keys=hdfs.interval") {
		t.Error(line)
	}
	if line := p.log.lines("configuration reloaded")[0]; !strings.Contains(line, "network.saturation") || !strings.Contains(line, "policy.params") || strings.Contains(line, "hdfs.interval") {
		t.Error(line)
	}
	if got := active(); !strings.Contains(got, `"window_s":60`) || hash() == first {
		t.Errorf("after a good file: %s", got)
	}

	rewrite(fastConfig(site) + "policy: {name: fair}\nlog: {format: json, level: debug}\n")
	p.signal(syscall.SIGHUP)
	said("configuration reloaded", 2)
	if got := active(); !strings.HasPrefix(got, "fair") {
		t.Errorf("after another policy: %s", got)
	}
	eventually(t, "decisions of the other policy", func() error {
		_, body, err := p.get("/metrics")
		if !strings.Contains(body, `heddle_round_duration_seconds_count{policy="fair"}`) {
			return errors.Join(err, errors.New("no round yet"))
		}
		return nil
	})
	var line map[string]any
	if err := json.Unmarshal([]byte(p.log.lines("configuration reloaded")[1]), &line); err != nil || line["hash"] == nil || line["@level"] != "info" {
		t.Errorf("the log is not JSON: %v %v", line, err)
	}
	eventually(t, "debug lines", func() error {
		if len(p.log.lines(`"@level":"debug"`)) == 0 {
			return errors.New("none")
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.ends(exit.OK)
}

// TestRecordCommand records until a signal, for a while, and refuses to overwrite.
func TestRecordCommand(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	config := writeFile(t, "heddle.yml", fastConfig(site))
	recordUntil := func(want func(n map[string]int) bool, args ...string) (file string, n map[string]int) {
		t.Helper()
		file = filepath.Join(t.TempDir(), "seen.jsonl.zst")
		p := spawn(t, append([]string{"record", "--config", config, "--out", file}, args...)...)
		eventually(t, "the recording", func() error {
			if n := kinds(recordedSoFar(t, file)); !want(n) {
				return fmt.Errorf("%v", n)
			}
			return nil
		})
		p.signal(syscall.SIGTERM)
		p.ends(exit.OK)
		_, all := records(t, file)
		if want := fmt.Sprintf("%s: %d records, ", file, len(all)); !strings.Contains(p.log.String(), want) {
			t.Errorf("no %q", want)
		}
		return file, kinds(all)
	}
	file, before := recordUntil(func(n map[string]int) bool { return n["poll"] >= 3 && n["nodes"] > 0 && n["decision"] > 0 })
	again := spawn(t, "record", "--config", config, "--out", file, "--duration", "1s")
	again.ends(exit.Failed)
	if !strings.Contains(again.log.String(), "never overwritten") {
		t.Error(again.log)
	}
	_, all := records(t, file)
	if diff := cmp.Diff(before, kinds(all)); diff != "" {
		t.Errorf("the recording after the second try (-before +after):\n%s", diff)
	}
	if _, n := recordUntil(func(n map[string]int) bool { return n["poll"] > 0 && n["nodes"] > 0 }, "--mode", "observe"); n["decision"] > 0 {
		t.Errorf("observed: %v", n)
	}
	limited := filepath.Join(t.TempDir(), "limited.jsonl.zst")
	p := spawn(t, "record", "--config", config, "--out", limited, "--duration", "3s")
	p.ends(exit.OK)
	records(t, limited)
	nowhere := writeFile(t, "nowhere.yml", `resource_manager: {urls: ["http://127.0.0.1:1"]}
hdfs: {name_nodes: ["http://127.0.0.1:1"]}
`)
	p = spawn(t, "record", "--config", nowhere, "--out", filepath.Join(t.TempDir(), "nothing.jsonl.zst"), "--duration", "1s")
	p.ends(exit.Failed)
	if !strings.Contains(p.log.String(), "never answered") {
		t.Error(p.log)
	}
}

// recordedSoFar returns what a recording that is still written holds.
func recordedSoFar(t *testing.T, path string) (all []trace.Record) {
	t.Helper()
	r, err := recording.Open(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil // not begun yet
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if err != nil {
			return all
		}
		all = append(all, rec)
	}
	return all
}
