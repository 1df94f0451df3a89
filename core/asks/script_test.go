package asks_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/core/asks"
	"heddle/core/model"
)

// The language of the scripts under testdata: a conversation of an
// ApplicationMaster (am), the relay, and the ResourceManager (rm). Times are seconds.
//
//	cluster racks=2 nodes=2 containers=2
//	limits pin=60 trim=20 hold=30 widen=5 full=10 spread=even keys=2 rows=10
//	                                        another attempt, which has just registered
//	plan reduce r1=3 r2=1 [hold [turn] most=2 until=20]   or: plan reduce none; turn: by rank, else by the policy
//	site [lost=(w11)] [full=(r1)]           what the cluster is from now on
//	intent [advise] [pass=stale]
//	am t=3 [id=2] [release=(1)] [deny=(w11)] [allow=(w11)] [scheduling]
//	10 *=4 /r1=1 w11=1                      its rows: ! strict, ~ with a label, ^ of twice the size
//	rm [id=3] [grant=(10@w11,10@w12)] [end=(1:0)] [lost=(w11)]
//	                                        containers are numbered from 1
//	register                                the ApplicationMaster registers again
//	adopt                                   the relay is restarted, takes a call, and is shown what is pending: rows as of am
//	keys                                    what people are told
//	own                                     what the application waits for
//	relayed t=3                             what was done to its asks so far
type script struct {
	*rig
	attempt *asks.Attempt
	limits  asks.Limits
	cluster *asks.Site
}

func TestScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s := &script{limits: limits(), cluster: site(2, 2, 2)}
			s.rig = newRig(s.limits, s.cluster)
			s.begin()
			datadriven.RunTest(t, path, s.run)
		})
	}
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "cluster":
		s.cluster = site(number(t, d, "racks", 2), number(t, d, "nodes", 2), number(t, d, "containers", 2))
		s.intent.Site = s.cluster
	case "limits":
		s.setLimits(t, d)
	case "plan":
		s.plan(t, d)
	case "site":
		full := list(d, "full")
		for i := range full {
			full[i] = "/" + full[i]
		}
		s.intent.Site = without(s.cluster, list(d, "lost"), full)
		s.intent.Site.SoftHeadroom = d.HasArg("soft")
	case "intent":
		s.intent.Advise = d.HasArg("advise")
		s.intent.Pass = model.PassCause(strings.Join(list(d, "pass"), ""))
	case "am":
		return s.am(t, d)
	case "rm":
		s.rm(t, d)
	case "register":
		s.attempt.Register(nil, s.intent.Site)
		s.id = 0
	case "adopt":
		s.adopt(t, d)
	case "keys":
		return s.keys()
	case "relayed":
		r := s.attempt.Table().Relayed(model.Time(number(t, d, "t", 0)) * model.Time(model.Second))
		return fmt.Sprintf("%d granted, %d of them steered, waited %v s\n", r.Granted, r.Steered, r.Waited.Seconds())
	case "own":
		return rowsOf(s.attempt.Table().Own()) + "\n"
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	return ""
}

func list(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return append([]string(nil), a.Vals...)
		}
	}
	return nil
}

func number(t *testing.T, d *datadriven.TestData, key string, otherwise int) int {
	t.Helper()
	if v := list(d, key); len(v) == 1 {
		return integer(t, v[0])
	}
	return otherwise
}

func integer(t *testing.T, v string) int {
	t.Helper()
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *script) setLimits(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	l := &s.limits
	for key, field := range map[string]*model.Duration{
		"pin": &l.PinDeadline, "trim": &l.TrimDeadline, "hold": &l.HoldMax, "widen": &l.WidenAfter, "full": &l.FullAfter, "wait": &l.WaitMax,
	} {
		*field = model.Duration(number(t, d, key, int(*field/model.Second))) * model.Second
	}
	if v := list(d, "spread"); len(v) == 1 {
		l.Spread = asks.Spread(v[0])
	}
	l.MaxKeys, l.MaxRows = number(t, d, "keys", l.MaxKeys), number(t, d, "rows", l.MaxRows)
	s.begin()
}

// begin is another attempt, which has just registered.
func (s *script) begin() {
	s.attempt, s.id = asks.NewAttempt(s.limits), 0
	s.attempt.Register(nil, s.intent.Site)
}

func (s *script) plan(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	stage := model.Stage(d.CmdArgs[0].Key)
	var target asks.Target
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "none":
			delete(s.plans, stage)
			return
		case "uncertain":
			target.Reason = model.ReasonUncertain
		case "hold":
			target.Hold, target.Reason = true, model.ReasonHoldWhileSaturated
		case "turn": // its turn has not come
			target.Reason = model.ReasonMapOutput
		case "most":
			target.MaxRunning = integer(t, a.Vals[0])
		case "until":
			target.Until = model.Time(integer(t, a.Vals[0])) * 1000
		default:
			target.Racks = append(target.Racks, model.RackTarget{Rack: model.RackID("/" + a.Key), Count: integer(t, a.Vals[0])})
		}
	}
	s.plans[stage] = target
}

// rows reads rows as the application would send them.
func rows(t *testing.T, input string) []asks.Row {
	t.Helper()
	var out []asks.Row
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		priority := integer(t, fields[0])
		for _, f := range fields[1:] {
			name, count, _ := strings.Cut(f, "=")
			r := row(int32(priority), name, int32(integer(t, strings.TrimRight(count, "!~^"))))
			r.Relax, r.Labelled = !strings.Contains(count, "!"), strings.Contains(count, "~")
			if strings.Contains(count, "^") {
				r.Capability = size().Times(2)
			}
			out = append(out, r)
		}
	}
	return out
}

func (s *script) am(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.now = model.Time(number(t, d, "t", int(s.now/1000)+1)) * 1000
	s.id = int32(number(t, d, "id", int(s.id)))
	r := asks.Request{
		ResponseID: s.id, Rows: rows(t, d.Input), BlacklistAdd: list(d, "deny"), BlacklistRemove: list(d, "allow"),
		Scheduling: d.HasArg("scheduling"),
	}
	for _, v := range list(d, "release") {
		r.Releases = append(r.Releases, asks.ContainerID{Attempt: 1, ID: int64(integer(t, v))})
	}
	e := s.attempt.Request(s.now, &r, &s.intent)
	s.id++
	return text(e)
}

func (s *script) rm(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	a := asks.Response{ResponseID: int32(number(t, d, "id", int(s.id))), LostHosts: list(d, "lost")}
	if room := list(d, "headroom"); len(room) == 1 { // containers, or MiB
		of := model.Resource{VCores: 1}
		if mib, is := strings.CutSuffix(room[0], "MiB"); is {
			of.MemoryMiB = int64(integer(t, mib))
		} else {
			of = size().Times(int64(integer(t, room[0])))
		}
		a.Headroom = &of
	}
	for _, v := range list(d, "grant") {
		priority, host, _ := strings.Cut(v, "@")
		host, again, repeated := strings.Cut(host, "#")
		id := s.next
		if repeated {
			id = int64(integer(t, again))
		} else {
			s.next++
		}
		a.Granted = append(a.Granted, asks.Grant{ID: asks.ContainerID{Attempt: 1, ID: id}, Key: key(int32(integer(t, priority))), Host: host})
	}
	for _, v := range list(d, "end") {
		id, status, _ := strings.Cut(v, ":")
		a.Ended = append(a.Ended, asks.Ended{ID: asks.ContainerID{Attempt: 1, ID: int64(integer(t, id))}, ExitStatus: int32(integer(t, status))})
	}
	s.attempt.Response(s.now, &a, s.intent.Site)
}

func (s *script) adopt(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	var pending []model.AskRow
	for _, r := range rows(t, d.Input) {
		pending = append(pending, model.AskRow{
			Priority: int(r.Priority), RequestID: r.RequestID, ResourceName: r.Name, Capability: r.Capability,
			Count: int(r.Count), RelaxLocality: r.Relax,
		})
	}
	s.attempt = asks.NewAttempt(s.limits)
	s.attempt.Request(s.now, &asks.Request{ResponseID: s.id}, &s.intent)
	s.id++
	s.attempt.Reconcile(s.now, s.now, pending)
}

func rowsOf(rows []model.AskRow) string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%d/%s=%d", r.Priority, r.ResourceName, r.Count)
		if !r.RelaxLocality {
			b.WriteString("!")
		}
	}
	return b.String()
}

func (s *script) keys() string {
	var b strings.Builder
	for _, k := range s.attempt.Table().Keys() {
		fmt.Fprintf(&b, "%d %s: asked [%s], sent [%s]", k.Priority, k.Stage, rowsOf(k.Asked), rowsOf(k.Sent))
		if k.Action != "" {
			fmt.Fprintf(&b, ", %s since %g s until %g s", k.Action, float64(k.Since)/1000, float64(k.Deadline)/1000)
		}
		if k.Held > 0 {
			fmt.Fprintf(&b, ", %d held", k.Held)
		}
		if k.Cause != "" {
			fmt.Fprintf(&b, ", passed: %s", k.Cause)
		}
		if len(k.Granted) > 0 {
			fmt.Fprintf(&b, ", granted %v", k.Granted)
		}
		if k.Reason != "" {
			fmt.Fprintf(&b, ", %s", k.Reason)
		}
		b.WriteString("\n")
	}
	return b.String()
}
