package ipc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// server answers the calls of one connection.
type server struct {
	t       *testing.T
	conn    net.Conn
	frames  *ipc.Reader
	context ipc.Context
}

// dial returns a client and the server at the other end, which has read the
// preamble and the context when serve begins.
func dial(t *testing.T, o ipc.Options, serve func(*server)) *ipc.Client {
	t.Helper()
	near, far := net.Pipe()
	o.DialContext = func(context.Context, string, string) (net.Conn, error) { return near, nil }
	var done sync.WaitGroup
	done.Go(func() {
		defer far.Close()
		s := &server{t: t, conn: far, frames: ipc.NewReader(far, ipc.MaxFrame)}
		if s.hello() {
			serve(s)
		}
	})
	c, err := ipc.Dial(t.Context(), "nn:8020", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		done.Wait()
	})
	return c
}

func (s *server) hello() bool {
	b, err := s.frames.ReadPreamble()
	if err != nil {
		return false
	}
	if p, err := ipc.ParsePreamble(b); err != nil || p.Version != 9 || p.Auth != ipc.AuthNone {
		s.t.Errorf("preamble %x: %v", b, err)
	}
	frame, err := s.frames.Next()
	if err != nil {
		return false
	}
	h, rest, err := ipc.ParseRequest(frame[4:])
	if err != nil || h.CallID != ipc.CallContext || len(h.ClientID) != 16 {
		s.t.Errorf("context %x: %+v, %v", frame, h, err)
	}
	body, err := ipc.ParseParam(rest)
	if err == nil {
		s.context, err = ipctest.ParseContext(append([]byte(nil), body...))
	}
	if err != nil {
		s.t.Error(err)
	}
	return true
}

// request is one call.
type request struct {
	ipc.RequestHeader
	method, body string
}

// call returns the next call, false at the end.
func (s *server) call() (request, bool) {
	frame, err := s.frames.Next()
	if err != nil {
		return request{}, false
	}
	h, rest, err := ipc.ParseRequest(append([]byte(nil), frame[4:]...))
	if err != nil {
		s.t.Error(err)
	}
	c, b, err := ipc.ParseCall(rest)
	if err != nil || string(c.Protocol) != "P" || c.Version != 1 {
		s.t.Errorf("%+v, %v", c, err)
	}
	return request{h, string(c.Method), string(b)}, true
}

func (s *server) answer(h ipc.ResponseHeader, body []byte) {
	_, _ = s.conn.Write(ipctest.AppendResponse(nil, h, body))
}

// echo answers every call with its own body.
func echo(s *server) {
	for {
		r, ok := s.call()
		if !ok {
			return
		}
		s.answer(ipc.ResponseHeader{CallID: r.CallID, ClientID: r.ClientID}, []byte(r.method+" "+r.body))
	}
}

func TestClientCalls(t *testing.T) {
	t.Parallel()
	users := make(chan string, 1)
	c := dial(t, ipc.Options{User: "heddle", Protocol: "P", MaxCalls: 3}, func(s *server) {
		users <- string(s.context.User) + " " + string(s.context.Protocol)
		echo(s)
	})
	if got := <-users; got != "heddle P" {
		t.Errorf("context of %q", got)
	}
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			body := strings.Repeat("x", i*200)
			got, err := c.Call(t.Context(), "m"+strconv.Itoa(i), []byte(body))
			if err != nil || string(got) != "m"+strconv.Itoa(i)+" "+body {
				t.Errorf("call %d: %d bytes, %v", i, len(got), err)
			}
		})
	}
	calls.Wait()
	if c.Err() != nil {
		t.Error(c.Err())
	}
	_ = c.Close()
	if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, ipc.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestClientOutOfOrder: answers find their calls by id.
func TestClientOutOfOrder(t *testing.T) {
	t.Parallel()
	c := dial(t, ipc.Options{Protocol: "P"}, func(s *server) {
		var all []request
		for range 5 {
			r, _ := s.call()
			all = append(all, r)
		}
		for i := range all {
			a := all[len(all)-1-i]
			s.answer(ipc.ResponseHeader{CallID: 1000 + a.CallID, ClientID: a.ClientID}, []byte("nobody's"))
			s.answer(ipc.ResponseHeader{CallID: a.CallID}, []byte(a.body)) // a client id is not required
		}
		echo(s)
	})
	var calls sync.WaitGroup
	for i := range 5 {
		calls.Go(func() {
			if got, err := c.Call(t.Context(), "m", []byte(strconv.Itoa(i))); err != nil || string(got) != strconv.Itoa(i) {
				t.Errorf("call %d: %q, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func TestClientRemoteErrors(t *testing.T) {
	t.Parallel()
	c := dial(t, ipc.Options{Protocol: "P"}, func(s *server) {
		for {
			r, ok := s.call()
			if !ok {
				return
			}
			status := ipc.StatusError
			if r.method == "fatal" {
				status = ipc.StatusFatal
			}
			s.answer(ipc.ResponseHeader{CallID: r.CallID, ClientID: r.ClientID, Status: status, Exception: []byte("org.apache.hadoop.ipc." + r.method), Message: []byte("why\n\tat x")}, nil)
		}
	})
	for _, method := range []string{"StandbyException", "RetriableException", "OtherException", "fatal"} {
		_, err := c.Call(t.Context(), method, nil)
		remote, ok := errors.AsType[*ipc.RemoteError](err)
		if !ok || remote.Standby() != (method == "StandbyException") || remote.Retriable() != (method == "RetriableException") || remote.Fatal != (method == "fatal") {
			t.Errorf("%s: %v", method, err)
		}
		if want := method + " of nn:8020: org.apache.hadoop.ipc." + method + ": why"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if (c.Err() != nil) != (method == "fatal") {
			t.Errorf("after %s: %v", method, c.Err())
		}
	}
	if _, err := c.Call(t.Context(), "m", nil); err == nil {
		t.Error("a call after a fatal answer")
	}
}

// TestClientBroken: what is not Hadoop RPC ends the connection and every call.
func TestClientBroken(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string][]byte{
		"end":               {},
		"half a frame":      {0, 0, 0, 9, 1},
		"a negative length": {0xFF, 0xFF, 0xFF, 0xFF},
		"too long":          binary.BigEndian.AppendUint32(nil, 2049),
		"no header":         {0, 0, 0, 1, 9},
		"another client":    ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: 0, ClientID: []byte("another")}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, ipc.Options{Protocol: "P", MaxResponse: 2048}, func(s *server) {
				_, _ = s.call()
				_, _ = s.call()
				_, _ = s.conn.Write(sent)
			})
			var calls sync.WaitGroup
			for range 2 {
				calls.Go(func() {
					if _, err := c.Call(t.Context(), "m", nil); err == nil {
						t.Error("an answer")
					}
				})
			}
			calls.Wait()
			if c.Err() == nil {
				t.Error("the client goes on")
			}
		})
	}
}

// TestClientTimeout: a call ends by itself, and its late answer is nobody else's.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, ipc.Options{Protocol: "P", Timeout: 5 * time.Second}, func(s *server) {
			r, _ := s.call()
			time.Sleep(7 * time.Second)
			s.answer(ipc.ResponseHeader{CallID: r.CallID, ClientID: r.ClientID}, []byte("late"))
			echo(s)
		})
		began := time.Now()
		if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if got, err := c.Call(t.Context(), "m", []byte("2")); err != nil || string(got) != "m 2" {
			t.Errorf("the next call: %q, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if _, err := c.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) || c.Err() != nil {
				t.Fatalf("canceled: %v, and the client says %v", err, c.Err())
			}
		}
	})
}

// TestClientWriteTimeout: a server that does not read cannot hold a call, and
// a frame that is cut off ends the connection.
func TestClientWriteTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		c := dial(t, ipc.Options{Protocol: "P", Timeout: 5 * time.Second}, func(*server) { <-end })
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if !errors.Is(c.Err(), context.DeadlineExceeded) {
			t.Errorf("the client says %v", c.Err())
		}
		close(end)
	})
}

// TestClientBound: no more calls are under way than allowed.
func TestClientBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var mu sync.Mutex
		seen := 0
		c := dial(t, ipc.Options{Protocol: "P", MaxCalls: 2}, func(s *server) {
			for {
				r, ok := s.call()
				if !ok {
					return
				}
				mu.Lock()
				seen++
				mu.Unlock()
				go func() {
					<-gate
					s.answer(ipc.ResponseHeader{CallID: r.CallID}, []byte{})
				}()
			}
		})
		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() {
				if _, err := c.Call(t.Context(), "m", nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		if seen != 2 {
			t.Errorf("%d calls under way, want 2", seen)
		}
		mu.Unlock()
		close(gate)
		calls.Wait()
	})
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	_, err := ipc.Dial(t.Context(), "nn:8020", ipc.Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "nn:8020") {
		t.Errorf("got %v", err)
	}
	near, far := net.Pipe()
	_ = far.Close()
	_, err = ipc.Dial(t.Context(), "nn:8020", ipc.Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
	if err == nil {
		t.Error("connected to nobody")
	}
}
