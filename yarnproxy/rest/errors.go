package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"heddle/core/model"
)

// ErrStandby is returned when a daemon answers that it is not the active one, in any
// of the forms that versions of Hadoop use.
var ErrStandby = errors.New("not the active one")

// ErrBudget is returned when the request or byte budget does not admit another
// request before the context ends.
var ErrBudget = errors.New("request or byte budget spent")

// StatusError is an answer with a status other than 2xx.
type StatusError struct {
	URL       string
	Status    int
	Exception string // simple class name of Hadoop's RemoteException, "" if the body held none
	Message   string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Exception != "" {
		return fmt.Sprintf("GET %s: status %d: %s: %s", e.URL, e.Status, e.Exception, e.Message)
	}
	return fmt.Sprintf("GET %s: status %d %s", e.URL, e.Status, e.Message)
}

// InvalidError is an answer that cannot be used: too large, cut off, of the
// wrong content type, or not the JSON that was expected.
type InvalidError struct {
	URL string
	Err error
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("GET %s: %v", e.URL, e.Err) }

// Unwrap implements errors' unwrapping.
func (e *InvalidError) Unwrap() error { return e.Err }

// RedirectError is a redirect that was not followed.
type RedirectError struct {
	URL      string
	Location string
}

// Error implements error.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("GET %s: redirects to %s, which is not allowed", e.URL, e.Location)
}

// AuthError means that no credentials could be made for a request: no ticket,
// an unknown service principal, no KDC. The request was not sent.
type AuthError struct {
	URL string
	Err error
}

// Error implements error.
func (e *AuthError) Error() string { return fmt.Sprintf("authenticate to %s: %v", e.URL, e.Err) }

// Unwrap implements errors' unwrapping.
func (e *AuthError) Unwrap() error { return e.Err }

// FromError returns the poll result an error of this package stands for.
func FromError(err error) model.PollResult {
	var status *StatusError
	var invalid *InvalidError
	var redirect *RedirectError
	var auth *AuthError
	switch {
	case err == nil:
		return model.PollOK
	case errors.Is(err, ErrStandby):
		return model.PollStandby
	case errors.Is(err, ErrBudget):
		return model.PollBudget
	case errors.As(err, &auth):
		return model.PollDenied
	case errors.As(err, &status):
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			return model.PollDenied
		}
		return model.PollError
	case errors.As(err, &invalid), errors.As(err, &redirect):
		return model.PollInvalid
	}
	return model.PollUnreachable
}

// standbyText reports whether the beginning of a plain answer is one of the
// texts of a ResourceManager that is not active (RMWebAppFilter, 2.4 to 3.5).
func standbyText(body []byte) bool {
	head := string(body[:min(len(body), 4096)])
	for _, text := range []string{
		"This is standby RM",
		"There is no active RM right now",
		"Can not find any active RM",
	} {
		if strings.Contains(head, text) {
			return true
		}
	}
	return false
}

// statusError describes an answer that is not 2xx. A NameNode that is not
// active answers 403 with a StandbyException, which becomes ErrStandby.
func statusError(url string, resp *http.Response, body []byte) error {
	e := &StatusError{URL: url, Status: resp.StatusCode}
	var remote struct {
		RemoteException struct {
			Exception Text `json:"exception"`
			Message   Text `json:"message"`
			ClassName Text `json:"javaClassName"`
		} `json:"RemoteException"`
	}
	if Decode(body, &remote) == nil && remote.RemoteException.Exception != "" {
		name := string(remote.RemoteException.Exception)
		e.Exception = name[strings.LastIndexByte(name, '.')+1:]
		e.Message = excerpt([]byte(remote.RemoteException.Message))
	} else {
		e.Message = statusMessage(resp, body)
	}
	if e.Exception == "StandbyException" || standbyText(body) {
		return fmt.Errorf("%w: %w", ErrStandby, e)
	}
	return e
}

func statusMessage(resp *http.Response, body []byte) string {
	if resp.StatusCode == http.StatusUnauthorized && strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Negotiate") {
		if resp.Request != nil && resp.Request.Header.Get("Authorization") != "" {
			return "the Kerberos ticket was refused: compare the service principal with the service's, and the clocks"
		}
		return "it wants SPNEGO: configure a Kerberos principal with a keytab or a ticket cache"
	}
	if isJSON(resp.Header.Get("Content-Type")) && !json.Valid(body) {
		return http.StatusText(resp.StatusCode) + " (the answer was cut off)"
	}
	if text := excerpt(body); text != "" {
		return text
	}
	return http.StatusText(resp.StatusCode)
}

// excerpt returns the beginning of a body on one line, for a message.
func excerpt(body []byte) string {
	const limit = 200
	fields := bytes.Fields(body[:min(len(body), 4*limit)])
	text := strings.ToValidUTF8(string(bytes.Join(fields, []byte(" "))), "?")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// ErrorList collects the errors of the elements of one answer: the first three, and
// how many more there are.
type ErrorList struct {
	first   []error
	omitted int
}

// Add adds an error, unless it is nil.
func (l *ErrorList) Add(err error) {
	switch {
	case err == nil:
	case len(l.first) < 3:
		l.first = append(l.first, err)
	default:
		l.omitted++
	}
}

// Err returns the errors as one, nil for none.
func (l *ErrorList) Err() error {
	if l.omitted > 0 {
		return fmt.Errorf("%w\nand %d more", errors.Join(l.first...), l.omitted)
	}
	return errors.Join(l.first...)
}
