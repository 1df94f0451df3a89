package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/yarnproxy/clientconfig"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// listen serves every connection to a port of its own until the test ends, and
// returns its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// nobody is an address where nothing listens: it is taken until the test ends,
// so that no other test's server gets it meanwhile, but answers no connection.
func nobody(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

func hangUp(net.Conn) {}

// schedulerWith answers the first message of a SASL exchange as the
// ResourceManager's scheduler port does, with what it admits.
func schedulerWith(qop string, methods ...string) func(net.Conn) {
	return func(conn net.Conn) {
		in := ipc.NewReader(conn, ipc.MaxFrame)
		if p, err := in.ReadPreamble(); err != nil || string(p) != "hrpc\x09\x00\xdf" {
			return
		}
		frame, err := in.Next()
		if err != nil {
			return
		}
		header, body, err := ipc.ParseRequest(frame[4:])
		if err != nil || header.CallID != ipc.CallSASL {
			return
		}
		if body, err = ipc.ParseParam(body); err != nil {
			return
		}
		if sasl, err := ipc.ParseSASL(body); err != nil || sasl.State != ipc.SASLNegotiate {
			return
		}
		var auths []ipc.SASLAuth
		for _, m := range methods {
			a := ipc.SASLAuth{Method: []byte(m), Mechanism: []byte("DIGEST-MD5"), Protocol: []byte{}, ServerID: []byte("default")}
			if m == "TOKEN" {
				a.Challenge = []byte(`realm="default",nonce="abc",qop="` + qop + `",charset=utf-8,algorithm=md5-sess`)
			}
			auths = append(auths, a)
		}
		answer := ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate, Auths: auths})
		conn.Write(ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: ipc.CallSASL, ClientID: []byte{}}, answer))
		io.Copy(io.Discard, conn)
	}
}

// checked runs `client-config --check` for one or two ResourceManagers whose
// addresses are given: relay, scheduler, client and web of each.
func checked(t *testing.T, rms [][4]string, args ...string) (code int, results []clientconfig.AddressCheck, table string) {
	t.Helper()
	dir := t.TempDir()
	var site, listeners strings.Builder
	property := func(key, value string) {
		fmt.Fprintf(&site, "<property><name>yarn.resourcemanager.%s</name><value>%s</value></property>\n", key, value)
	}
	property("ha.enabled", strconv.FormatBool(len(rms) > 1))
	property("ha.rm-ids", "rm1,rm2")
	for i, rm := range rms {
		suffix, id := "", ""
		if len(rms) > 1 {
			suffix, id = fmt.Sprintf(".rm%d", i+1), fmt.Sprintf("rm: rm%d, ", i+1)
		}
		property("hostname"+suffix, "127.0.0.1")
		property("scheduler.address"+suffix, rm[1])
		property("address"+suffix, rm[2])
		property("webapp.address"+suffix, rm[3])
		fmt.Fprintf(&listeners, "{%saddress: %q, upstream: %q},", id, rm[0], rm[1])
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte("<configuration>"+site.String()+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "heddle.yml", "mode: enforce\nhdfs: {enabled: false}\nmapreduce: {enabled: false}\nrelay: {listeners: ["+listeners.String()+"]}\n")
	args = append([]string{"client-config", "--check", "--config", file, "--hadoop-conf-dir", dir}, args...)
	code, table, _ = heddle(t, args...)
	_, out, _ := heddle(t, append(args, "-o", "json")...)
	var c clientConfig
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return code, c.Checks, table
}

func TestClientConfigCheck(t *testing.T) {
	t.Parallel()
	good, open, gone := schedulerWith("auth", "TOKEN"), listen(t, hangUp), nobody(t)
	tests := []struct {
		name string
		rms  [][4]string
		want []string // found, of each address that is wrong; none: all is well
		do   string
	}{
		{"all is well", [][4]string{{listen(t, good), listen(t, good), open, open}}, nil, "ok "},
		{"no relay", [][4]string{{gone, listen(t, good), open, open}}, []string{"nothing listens there"}, "is 'heddle relay' running there"},
		{"a relay that reaches nothing", [][4]string{{open, listen(t, good), open, open}}, []string{"the relay is there, but no ResourceManager behind it"}, "heddle's log"},
		{
			"no ResourceManager",
			[][4]string{{open, gone, gone, gone}},
			[]string{"the relay is there, but no ResourceManager behind it", "nothing listens there", "nothing listens there", "nothing listens there"},
			"is this the address of webapp.address.direct in its yarn-site.xml?",
		},
		{"privacy", [][4]string{{listen(t, schedulerWith("auth-conf", "TOKEN")), listen(t, schedulerWith("auth-conf", "TOKEN")), open, open}}, []string{"answers, with hadoop.rpc.protection integrity or privacy"}, "the relay cannot rewrite its calls"},
		{"privacy as one of several", [][4]string{{listen(t, schedulerWith("auth-conf,auth", "TOKEN")), listen(t, good), open, open}}, nil, "ok "},
		{"the port of clients", [][4]string{{listen(t, schedulerWith("auth", "TOKEN", "KERBEROS")), listen(t, good), open, open}}, []string{"it is a Hadoop service, but not a scheduler"}, "another service's"},
		{"a service without tokens", [][4]string{{listen(t, schedulerWith("auth")), listen(t, good), open, open}}, []string{"it is a Hadoop service that takes no tokens"}, "another service's"},
		{"a web server", [][4]string{{listen(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); io.Copy(io.Discard, c) }), listen(t, good), open, open}}, []string{"it does not speak Hadoop RPC"}, "another service's"},
		{"one of two on standby", [][4]string{{listen(t, hangUp), nobody(t), nobody(t), listen(t, hangUp)}, {listen(t, good), listen(t, good), open, open}}, nil, "a ResourceManager on standby"},
		{
			"one web server is missing",
			[][4]string{{listen(t, hangUp), nobody(t), nobody(t), gone}, {listen(t, good), listen(t, good), open, open}},
			[]string{"nothing listens there"},
			"is this the address of webapp.address.rm1",
		},
		{
			"its relay is missing",
			[][4]string{{nobody(t), nobody(t), nobody(t), listen(t, hangUp)}, {listen(t, good), listen(t, good), open, open}},
			[]string{"nothing listens there"},
			"is 'heddle relay' running there",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, results, table := checked(t, tt.rms)
			if len(results) != 4*len(tt.rms) || (code == exit.OK) != (len(tt.want) == 0) || code == exit.Usage || !strings.Contains(table, tt.do) {
				t.Errorf("exit %d, %d addresses:\n%s", code, len(results), table)
			}
			var wrong []clientconfig.AddressCheck
			for _, r := range results {
				if !r.OK {
					wrong = append(wrong, r)
				}
				if !r.OK && r.Do == "" {
					t.Errorf("nothing is said to be done about %+v", r)
				}
			}
			if len(wrong) != len(tt.want) {
				t.Fatalf("wrong are %+v; want %q", wrong, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(wrong[i].Found, want) {
					t.Errorf("%s: found %q, want %q", wrong[i].Key, wrong[i].Found, want)
				}
			}
		})
	}
}

// TestClientConfigCheckSimple holds that only the relay is asked where only the
// relay is printed, and that an address that says nothing ends.
func TestClientConfigCheckSimple(t *testing.T) {
	t.Parallel()
	gone := nobody(t)
	code, results, _ := checked(t, [][4]string{{listen(t, schedulerWith("auth", "TOKEN")), gone, gone, gone}}, "--simple")
	if code != exit.OK || len(results) != 1 || results[0].Key != clientconfig.Prefix+"scheduler.address" || !results[0].OK {
		t.Errorf("exit %d: %+v", code, results)
	}
	mute := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	code, results, _ = checked(t, [][4]string{{mute, gone, gone, gone}}, "--simple", "--timeout", "50ms")
	if code != exit.Failed || len(results) != 1 || results[0].OK || results[0].Do == "" {
		t.Errorf("exit %d: %+v", code, results)
	}
}
