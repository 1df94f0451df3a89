package fakehadoop

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault answers a request in place of the daemon, which would have sent whole.
type Fault func(w http.ResponseWriter, r *http.Request, whole Answer)

// Status answers with a status and a text.
func Status(status int, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Answer) {
		Answer{Status: status, Type: "text/plain", Body: text}.send(w)
	}
}

// CutOff sends the first half of the body and breaks the connection.
func CutOff() Fault {
	return func(w http.ResponseWriter, _ *http.Request, whole Answer) {
		w.Header().Set("Content-Type", whole.Type)
		w.Header().Set("Content-Length", strconv.Itoa(len(whole.Body)))
		w.WriteHeader(whole.Status)
		_, _ = w.Write([]byte(whole.Body[:len(whole.Body)/2]))
		_ = http.NewResponseController(w).Flush() // or the client gets nothing at all
		panic(http.ErrAbortHandler)
	}
}

// Half sends the first half of the body as if it were all of it, as a proxy
// does that gives up on its own server.
func Half() Fault {
	return Edit(func(body string) string { return body[:len(body)/2] })
}

// Edit changes the body.
func Edit(change func(body string) string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, whole Answer) {
		whole.Body = change(whole.Body)
		whole.send(w)
	}
}

// Replace puts one text in the place of another wherever the body has it.
func Replace(from, to string) Fault {
	return Edit(func(body string) string { return strings.ReplaceAll(body, from, to) })
}

// Large sends the body's beginning and then space until so many bytes are
// sent or the client hangs up. Sent is told how many it took.
func Large(bytes int64, sent func(int64)) Fault {
	return func(w http.ResponseWriter, _ *http.Request, whole Answer) {
		w.Header().Set("Content-Type", whole.Type)
		w.WriteHeader(whole.Status)
		n, err := w.Write([]byte(whole.Body[:len(whole.Body)-1]))
		total, blank := int64(n), []byte(strings.Repeat(" ", 64<<10))
		for err == nil && total < bytes {
			n, err = w.Write(blank)
			total += int64(n)
		}
		sent(total)
	}
}

// Type sends the body under another Content-Type.
func Type(contentType string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, whole Answer) {
		whole.Type = contentType
		whole.send(w)
	}
}

// LoginPage answers as a proxy that wants a login: 200 and HTML.
func LoginPage() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Answer) {
		Answer{Status: http.StatusOK, Type: "text/html", Body: "<html><body>Please sign in</body></html>"}.send(w)
	}
}

// Delay answers late.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, whole Answer) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			whole.send(w)
		case <-r.Context().Done():
		}
	}
}

// Hang answers nothing until the client gives up.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ Answer) { <-r.Context().Done() }
}

// Drop breaks the connection without an answer.
func Drop() Fault {
	return func(http.ResponseWriter, *http.Request, Answer) { panic(http.ErrAbortHandler) }
}

// Redirect sends the client elsewhere.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Answer) {
		redirect(http.StatusTemporaryRedirect, to, "").send(w)
	}
}

// NoActiveRM answers as a ResourceManager that is not the active one and knows
// of no other: 307 with Refresh and without a Location (RMWebAppFilter).
func NoActiveRM() Fault {
	return func(w http.ResponseWriter, r *http.Request, _ Answer) {
		w.Header().Set("Refresh", "3; url="+r.URL.RequestURI())
		Answer{
			Status: http.StatusTemporaryRedirect, Type: "text/plain",
			Body: "Can not find any active RM. Will retry in next 3 seconds.\nHA Zookeeper Connection State: CONNECTED\n",
		}.send(w)
	}
}

// StandbyRMText answers as a ResourceManager that is not the active one and
// has just become so: 200 with a text.
func StandbyRMText() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Answer) {
		Answer{Status: http.StatusOK, Type: "text/plain", Body: "There is no active RM right now\n"}.send(w)
	}
}

// StandbyNameNode answers as a NameNode that is not the active one.
func StandbyNameNode() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Answer) { standbyNameNode().send(w) }
}

func standbyNameNode() Answer {
	return jsonAnswer(http.StatusForbidden, `{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException","message":"Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error"}}`)
}
