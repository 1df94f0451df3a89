package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/integration/fakehadoop"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// asScheduler makes the test binary be a ResourceManager's scheduler port on an address: BenchmarkBesideHaproxy needs
// more file descriptors than one process has.
const asScheduler = "TEST_BINARY_IS_SCHEDULER"

const schedulerProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// runScheduler accepts every token and every call. It ends with the process.
func runScheduler(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			if err := scheduleFor(c); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

// scheduleFor answers the calls of one connection, one after the other. The response ids count its allocate calls.
func scheduleFor(c net.Conn) error {
	in := ipc.NewReader(c, ipc.MaxFrame)
	if _, err := in.ReadPreamble(); err != nil {
		return err
	}
	var out, body []byte
	responseID := uint64(0)
	for {
		frame, err := in.Next()
		if err != nil {
			return err
		}
		h, rest, err := ipc.ParseRequest(frame[4:])
		if err != nil {
			return err
		}
		head := ipc.ResponseHeader{CallID: h.CallID, ClientID: h.ClientID}
		switch {
		case h.CallID == ipc.CallSASL:
			if body, err = acceptToken(rest); err != nil {
				return err
			}
		case h.CallID < 0:
			continue
		default:
			call, _, err := ipc.ParseCall(rest)
			if err != nil {
				return err
			}
			body = []byte{}
			if string(call.Method) == "allocate" {
				responseID++
				body = protowire.AppendVarint(protowire.AppendTag(body, 2, protowire.VarintType), responseID)
			}
		}
		out = append(out[:0], ipctest.AppendResponse(nil, head, body)...)
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
}

// acceptToken is the server's part of a SASL exchange that believes everything.
func acceptToken(rest []byte) ([]byte, error) {
	param, err := ipc.ParseParam(rest)
	if err != nil {
		return nil, err
	}
	m, err := ipc.ParseSASL(param)
	if err != nil {
		return nil, err
	}
	if m.State == ipc.SASLNegotiate {
		return ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate}), nil
	}
	return ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLSuccess, Token: []byte("rspauth=x")}), nil
}

// loadAM is an ApplicationMaster's connection. It builds frames around rows that all of them share.
type loadAM struct {
	conn       net.Conn
	in         *ipc.Reader
	context    []byte
	call       int32
	responseID uint64
}

// newLoadAM connects, presents a token and registers.
func newLoadAM(address string, app uint64) (*loadAM, error) {
	c, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	number := func(dst []byte, num protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
	}
	nested := func(num protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), m)
	}
	const cluster = 1_700_000_000_000
	attempt := number(nested(1, number(number(nil, 1, app), 2, cluster)), 2, 1)
	am := &loadAM{conn: c, in: ipc.NewReader(c, ipc.MaxFrame), call: 9}
	am.context = fmt.Appendf(nil, "mr_appmaster_appattempt_%d_%04d_000001", cluster, app)
	token := ipctest.AppendDigest(nil, &ipc.Digest{
		Username: base64.StdEncoding.EncodeToString(number(nested(1, attempt), 2, 77)), Nonce: "n", CNonce: "c", NC: "00000001", URI: "/default", QOP: "auth", Response: "r",
	})
	header := ipc.SASLHeader()
	header.CallerContext = am.context
	if _, err := c.Write(ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})); err != nil {
		return nil, err
	}
	for _, m := range []ipc.SASL{{State: ipc.SASLNegotiate}, {State: ipc.SASLInitiate, Token: token}} {
		if err := am.exchange(ipc.AppendRequest(nil, header, nil, ipc.AppendSASL(nil, m))); err != nil {
			return nil, err
		}
	}
	client := []byte("0123456789abcdef")
	if _, err := c.Write(ipc.AppendRequest(nil, ipctest.ContextHeader(client), nil, ipctest.AppendContext(nil, ipc.Context{Protocol: []byte(schedulerProtocol)}))); err != nil {
		return nil, err
	}
	return am, am.exchange(am.frame(nil, "registerApplicationMaster", []byte{}))
}

// frame appends the frame of the next call.
func (am *loadAM) frame(dst []byte, method string, body []byte) []byte {
	am.call++
	h := ipctest.CallHeader(am.call, []byte("0123456789abcdef"))
	h.CallerContext = am.context
	return ipc.AppendRequest(dst, h, &ipc.Call{Method: []byte(method), Protocol: []byte(schedulerProtocol), Version: 1}, body)
}

// exchange sends a frame and waits for the answer.
func (am *loadAM) exchange(frame []byte) error {
	if _, err := am.conn.Write(frame); err != nil {
		return err
	}
	answer, err := am.in.Next()
	if err != nil {
		return err
	}
	h, _, err := ipc.ParseResponse(answer[4:])
	if err == nil && h.Status != ipc.StatusSuccess {
		err = fmt.Errorf("call %d failed: %s", h.CallID, h.Exception)
	}
	return err
}

// hostRows are the asks of a map stage that prefers so many hosts.
func hostRows(n int) []byte {
	row := func(dst []byte, name string, count int) []byte {
		return wire.AppendNewRow(dst, &wire.NewRow{Priority: 20, RequestID: -1, Name: name, Count: int32(count), Relax: true, Memory: 1024, VCores: 1})
	}
	rows := row(nil, "*", n)
	for i := range n {
		rows = row(rows, fmt.Sprintf("worker%04d.example.com", i), 1)
	}
	return rows
}

// way is one way to the scheduler port, with its connections.
type way struct {
	name string
	ams  []*loadAM
	next int // the connection whose turn it is
	pid  int // of the process in between, of the scheduler for the direct way
}

// timings are what calls of one kind took on one way.
type timings struct {
	all []time.Duration
	p99 []time.Duration // of each turn
	cpu time.Duration   // of the process in between
}

// connectAll opens so many connections, several at once.
func (w *way) connectAll(b *testing.B, address string, firstApp, n int) {
	b.Helper()
	w.ams = make([]*loadAM, n)
	var wg sync.WaitGroup
	for worker := range loadWorkers {
		wg.Go(func() {
			for i := worker; i < n; i += loadWorkers {
				am, err := newLoadAM(address, uint64(firstApp+i))
				if err != nil {
					b.Errorf("%s, connection %d: %v", w.name, i, err)
					return
				}
				w.ams[i] = am
			}
		})
	}
	wg.Wait()
	b.Cleanup(func() {
		for _, am := range w.ams {
			if am != nil {
				am.conn.Close()
			}
		}
	})
	if b.Failed() {
		b.FailNow()
	}
}

// calls has the next connections make a call each with some ask rows, at the rate of so many a second.
func (w *way) calls(b *testing.B, n, rate int, rows []byte) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	start := time.Now()
	var wg sync.WaitGroup
	for worker := range loadWorkers {
		wg.Go(func() {
			var body, frame []byte
			for i := worker; i < n; i += loadWorkers {
				am := w.ams[(w.next+i)%len(w.ams)]
				body = append(body[:0], rows...)
				body = protowire.AppendVarint(protowire.AppendTag(body, 4, protowire.VarintType), am.responseID)
				frame = am.frame(frame[:0], "allocate", body)
				am.responseID++
				time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				sent := time.Now()
				if err := am.exchange(frame); err != nil {
					b.Errorf("%s: %v", w.name, err)
					return
				}
				took[i] = time.Since(sent)
			}
		})
	}
	wg.Wait()
	w.next = (w.next + n) % len(w.ams)
	slices.Sort(took)
	return took
}

func (m *timings) add(sorted []time.Duration) {
	m.all = append(m.all, sorted...)
	m.p99 = append(m.p99, sortedQuantile(sorted, 0.99))
}

// loadWorkers is how many connections are opened, and calls made, at once.
const loadWorkers = 16

func sortedQuantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

// startProcess starts a program that is killed at the end of the benchmark.
func startProcess(b *testing.B, cmd *exec.Cmd, address string) (pid int) {
	b.Helper()
	out := &buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); close(ended) }()
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // it runs until then
		<-ended
		if b.Failed() {
			b.Logf("%s: %s", cmd.Path, out)
		}
	})
	eventually(b, address, func() error {
		select {
		case err := <-ended:
			b.Fatalf("%s ended: %v\n%s", cmd.Path, err, out)
		default:
		}
		c, err := net.Dial("tcp", address)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return cmd.Process.Pid
}

// cpuTime is the processor time that a process has had.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // from the third on: proc_pid_stat(5)
	ticks := int64(0)
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}

// residentKiB is the resident memory of a process.
func residentKiB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib
}

// scrapeEverySecond reads the relay's metrics until the benchmark ends.
func scrapeEverySecond(b *testing.B, url string) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				continue // the benchmark has ended
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	b.Cleanup(func() { cancel(); <-done })
}

// BenchmarkBesideHaproxy compares what an allocate call takes directly, through haproxy (TCP mode) and through heddle
// relay, whose metrics are scraped every second. Each of 1,000 or 5,000 applications has asked with 400 host rows. A
// heartbeat asks for nothing, an ask has all 400 rows again. The ways take turns of four seconds in one run, so that other
// work on the machine meets them alike; median-p99 is the median of their p99 in each turn.
//
//	go test -run '^$' -bench BesideHaproxy -benchtime 10x ./cmd/heddle
func BenchmarkBesideHaproxy(b *testing.B) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		b.Skip("haproxy is not installed")
	}
	for _, n := range []int{1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { besideHaproxy(b, haproxy, n) })
	}
}

func besideHaproxy(b *testing.B, haproxy string, n int) {
	b.Helper()
	scheduler, throughHaproxy, throughHeddle := freePort(b), freePort(b), freePort(b)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asScheduler+"="+scheduler)
	schedulerPID := startProcess(b, cmd, scheduler)
	haproxyPID := startProcess(b, exec.Command(haproxy, "-db", "-f", writeFile(b, "haproxy.cfg", fmt.Sprintf(
		"global\n  nbthread 2\n  maxconn 9000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\nlisten relay\n  bind %s\n  server rm %s\n",
		throughHaproxy, scheduler))), throughHaproxy)
	relay := spawn(b, "relay", "--config", writeFile(b, "heddle.yml", fastConfig(fakehadoop.Start(b), "mode: advise", "mode: enforce")+fmt.Sprintf(
		"relay: {listeners: [{address: %q, upstream: %q}], socket: %q, web_listen_address: \"127.0.0.1:0\", max_connections: 9000, max_connections_per_address: 9000}\n",
		throughHeddle, scheduler, filepath.Join(b.TempDir(), "relay.sock"))))
	relay.relays()

	resident := residentKiB(b, relay.cmd.Process.Pid)
	ways := []*way{{name: "direct", pid: schedulerPID}, {name: "haproxy", pid: haproxyPID}, {name: "heddle", pid: relay.cmd.Process.Pid}}
	for i, address := range []string{scheduler, throughHaproxy, throughHeddle} {
		ways[i].connectAll(b, address, 1+i*n, n)
	}
	idle := (residentKiB(b, relay.cmd.Process.Pid) - resident) / float64(n)
	scrapeEverySecond(b, relay.url)
	rows := hostRows(400)
	for _, w := range ways {
		w.calls(b, n, 10_000, rows) // as fast as they go
	}
	kinds := []struct {
		name string
		rate int
		rows []byte
		took [3]timings // by way
	}{{name: "heartbeat", rate: 300}, {name: "ask", rate: 60, rows: rows}}
	for round := 0; b.Loop(); round++ {
		for k := range kinds {
			for i := range ways {
				at := (i + round) % len(ways)
				kind := &kinds[k]
				before := cpuTime(b, ways[at].pid)
				kind.took[at].add(ways[at].calls(b, 4*kind.rate, kind.rate, kind.rows))
				kind.took[at].cpu += cpuTime(b, ways[at].pid) - before
			}
		}
	}
	for k := range kinds {
		var p99, median [3]float64
		for i, w := range ways {
			m := &kinds[k].took[i]
			slices.Sort(m.all)
			slices.Sort(m.p99)
			p99[i], median[i] = float64(sortedQuantile(m.all, 0.99).Microseconds()), float64(sortedQuantile(m.p99, 0.5).Microseconds())
			b.Logf("%-9s %-7s p50 %5v us, p99 %6v us, median p99 of %d turns %6v us, processor time %4v us a call", kinds[k].name, w.name,
				sortedQuantile(m.all, 0.5).Microseconds(), p99[i], len(m.p99), median[i], m.cpu.Microseconds()/int64(len(m.all)))
		}
		b.ReportMetric(p99[2]/p99[1], kinds[k].name+"-p99-ratio")
		b.ReportMetric(median[2]/median[1], kinds[k].name+"-median-p99-ratio")
	}
	b.ReportMetric(idle, "KiB/idle-connection")
	b.ReportMetric(0, "ns/op") // rounds are paced
}
