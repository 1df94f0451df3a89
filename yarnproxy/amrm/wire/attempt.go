package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"heddle/yarnproxy/ipc"
)

// Attempt is an ApplicationAttemptIdProto.
type Attempt struct {
	Cluster int64 // cluster timestamp: when the ResourceManager first started, Unix milliseconds
	App     int32
	Attempt int32
}

// String returns the attempt as Hadoop writes it: appattempt_<cluster>_%04d_%06d.
func (a Attempt) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", a.Cluster, a.App, a.Attempt)
}

// AppID returns the application as Hadoop writes it: application_<cluster>_%04d.
func (a Attempt) AppID() string {
	return fmt.Sprintf("application_%d_%04d", a.Cluster, a.App)
}

// known reports whether all parts are given: Hadoop counts each from 1.
func (a Attempt) known() bool { return a.Cluster > 0 && a.App > 0 && a.Attempt > 0 }

// parse reads an ApplicationAttemptIdProto into what a already has.
func (a *Attempt) parse(b []byte) error {
	c := ipc.NewFields("ApplicationAttemptIdProto", b)
	for c.Next() {
		switch c.Num {
		case 1:
			c.Nested(a.parseApp(c.Bytes()))
		case 2:
			a.Attempt = c.Int32()
		}
	}
	return c.Err()
}

// parseApp reads an ApplicationIdProto.
func (a *Attempt) parseApp(b []byte) error {
	c := ipc.NewFields("ApplicationIdProto", b)
	for c.Next() {
		switch c.Num {
		case 1:
			a.App = c.Int32()
		case 2:
			a.Cluster = c.Int64()
		}
	}
	return c.Err()
}

// ParseAttempt reads an AMRMTokenIdentifierProto, which is what the user name of
// a SASL exchange decodes to: the attempt that the token was given to, and the
// number of the ResourceManager's key that signed it, -1 when absent.
func ParseAttempt(tokenIdentifier []byte) (Attempt, int32, error) {
	var a Attempt
	keyID := int32(-1)
	c := ipc.NewFields("AMRMTokenIdentifierProto", tokenIdentifier)
	for c.Next() {
		switch c.Num {
		case 1:
			c.Nested(a.parse(c.Bytes()))
		case 2:
			keyID = c.Int32()
		}
	}
	err := c.Err()
	if err == nil && !a.known() {
		err = errors.New("it names no application attempt")
	}
	if err != nil {
		return Attempt{}, 0, fmt.Errorf("reading a token identifier of %d bytes as one of an ApplicationMaster: %w", len(tokenIdentifier), err)
	}
	return a, keyID, nil
}

// ParseContext finds the attempt in an RPC caller context that ends in one, such
// as mr_appmaster_appattempt_<cluster>_<app>_<attempt> of MapReduce.
func ParseContext(callerContext []byte) (Attempt, bool) {
	const prefix = "appattempt_"
	at := bytes.LastIndex(callerContext, []byte(prefix))
	if at < 0 {
		return Attempt{}, false
	}
	cluster, rest, ok1 := bytes.Cut(callerContext[at+len(prefix):], []byte("_"))
	app, attempt, ok2 := bytes.Cut(rest, []byte("_"))
	if !ok1 || !ok2 {
		return Attempt{}, false
	}
	var a Attempt
	var ok3 bool
	a.Cluster, ok1 = parseDigits(cluster, 63)
	n, ok2 := parseDigits(app, 31)
	m, ok3 := parseDigits(attempt, 31)
	a.App, a.Attempt = int32(n), int32(m) //nolint:gosec // of 31 bits
	return a, ok1 && ok2 && ok3 && a.known()
}

// parseDigits reads a number of at most that many bits that has no sign.
func parseDigits(b []byte, bits int) (int64, bool) {
	n, err := strconv.ParseUint(string(b), 10, bits)
	return int64(n), err == nil //nolint:gosec // of at most 63 bits
}
