package asks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"heddle/core/model"
)

// journalFormat is the version of what Marshal writes.
const journalFormat = 1

// ErrJournal says that a journal is not one of a table, or of a later version of heddle.
var ErrJournal = errors.New("not a journal of an ask table that this version of heddle reads")

// journal is a table as it is written. Encoded rows are written once and named by their number.
type journal struct {
	Format      int                   `json:"format"`
	Raws        [][]byte              `json:"raws,omitempty"`
	Keys        []journalKey          `json:"keys,omitempty"`
	Running     []journalContainer    `json:"running,omitempty"`
	Denied      []string              `json:"denied,omitempty"`
	Lost        map[string]model.Time `json:"lost,omitempty"`
	Constrained bool                  `json:"constrained,omitempty"`
	Last        *journalCall          `json:"last,omitempty"`
}

type journalKey struct {
	Priority  int32 `json:"priority"`
	RequestID int64 `json:"id"`
	Raw       int   `json:"raw,omitempty"` // 1 is the first; 0 is none
	keyState
}

type journalContainer struct {
	Attempt   int32        `json:"a"`
	ID        int64        `json:"c"`
	Priority  int32        `json:"p"`
	RequestID int64        `json:"i"`
	Host      string       `json:"h"`
	Rack      model.RackID `json:"r,omitempty"`
}

type journalCall struct {
	ID    int32        `json:"id"`
	Print uint64       `json:"print"`
	Same  bool         `json:"same,omitempty"`
	Rows  []journalRow `json:"rows,omitempty"`
}

type journalRow struct {
	Priority   int32          `json:"p"`
	RequestID  int64          `json:"i"`
	Name       string         `json:"n"`
	Count      int32          `json:"c"`
	Relax      bool           `json:"x,omitempty"`
	Labelled   bool           `json:"l,omitempty"`
	Capability model.Resource `json:"s"`
	Raw        int            `json:"raw,omitempty"`
	Verbatim   bool           `json:"v,omitempty"`
}

// raws numbers encoded rows.
type raws struct {
	list  [][]byte
	index map[string]int
}

func (r *raws) number(raw []byte) int {
	if raw == nil {
		return 0
	}
	n, known := r.index[string(raw)]
	if !known {
		r.list = append(r.list, raw)
		n = len(r.list)
		r.index[string(raw)] = n
	}
	return n
}

// Marshal returns the table for the journal.
func (t *Table) Marshal() ([]byte, error) {
	r := raws{index: map[string]int{}}
	j := journal{Format: journalFormat, Lost: t.lost, Constrained: t.constrained}
	for _, k := range t.keys {
		j.Keys = append(j.Keys, journalKey{
			Priority: k.Priority, RequestID: k.RequestID, Raw: r.number(k.Template), keyState: k.keyState,
		})
	}
	for id, c := range t.running { // order-free: sorted below
		j.Running = append(j.Running, journalContainer{
			Attempt: id.Attempt, ID: id.ID, Priority: c.key.Priority, RequestID: c.key.RequestID, Host: c.host, Rack: c.rack,
		})
	}
	slices.SortFunc(j.Running, compareContainers)
	for name := range t.denied { // order-free: sorted below
		j.Denied = append(j.Denied, name)
	}
	slices.Sort(j.Denied)
	if t.last.known {
		j.Last = t.last.write(&r)
	}
	j.Raws = r.list
	data, err := json.Marshal(&j)
	if err != nil {
		return nil, fmt.Errorf("write the ask table: %w", err)
	}
	return data, nil
}

func compareContainers(a, b journalContainer) int {
	return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
}

func (l *lastCall) write(r *raws) *journalCall {
	j := &journalCall{ID: l.ID, Print: l.Print, Same: l.Same}
	for i := range l.Rows {
		w := &l.Rows[i]
		j.Rows = append(j.Rows, journalRow{
			Priority: w.Priority, RequestID: w.RequestID, Name: w.Name, Count: w.Count, Relax: w.Relax,
			Labelled: w.Labelled, Capability: w.Capability, Raw: r.number(w.Raw), Verbatim: w.Verbatim,
		})
	}
	return j
}

// unmarshal restores a table that Marshal wrote, by this version of heddle or an
// earlier one. The limits stay those of New. After an error the table is as it was.
//
// The journal has to be written before a call that changed the table goes on.
// Calls that changed nothing may be missing in it (Version), so that the next call
// is an uncertain one: it may repeat a call that is not known, and what it has is
// sent once more with the call after it.
func (t *Table) unmarshal(data []byte) error {
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read an ask table: %w: %w", ErrJournal, err)
	}
	if j.Format != journalFormat {
		return fmt.Errorf("read an ask table of format %d: %w", j.Format, ErrJournal)
	}
	n := New(t.limits)
	n.version = t.version + 1
	n.constrained, n.uncertain = j.Constrained, true
	keys, err := j.keys()
	if err != nil {
		return err
	}
	n.keys = keys
	for i := range j.Running {
		c := &j.Running[i]
		n.running[ContainerID{Attempt: c.Attempt, ID: c.ID}] = container{
			key: Key{Priority: c.Priority, RequestID: c.RequestID}, host: c.Host, rack: c.Rack,
		}
	}
	for _, name := range j.Denied {
		n.denied[name] = true
	}
	maps.Copy(n.lost, j.Lost)
	if j.Last != nil {
		if err := n.last.read(&j); err != nil {
			return err
		}
	}
	*t = *n
	return nil
}

// keys restores the keys.
func (j *journal) keys() ([]*key, error) {
	var keys []*key
	for i := range j.Keys {
		from := &j.Keys[i]
		k := newKey(Key{Priority: from.Priority, RequestID: from.RequestID})
		if at, found := search(keys, k.Key); found || at != len(keys) {
			return nil, fmt.Errorf("read an ask table: key %v is out of order: %w", k.Key, ErrJournal)
		}
		raw, err := j.raw(from.Raw)
		if err != nil {
			return nil, err
		}
		own, rm, granted := k.Own, k.RM, k.Granted
		maps.Copy(own, from.Own)
		maps.Copy(rm, from.RM)
		maps.Copy(granted, from.Granted)
		k.keyState = from.keyState
		k.Own, k.RM, k.Granted, k.Template = own, rm, granted, raw
		if !k.sound() {
			return nil, fmt.Errorf("read an ask table: the counts of key %v do not add up: %w", k.Key, ErrJournal)
		}
		k.plan.stage = k.Shown.Stage
		keys = append(keys, k)
	}
	return keys, nil
}

// sound reports whether a key could have come about.
func (k *key) sound() bool {
	sum := int64(0)
	for _, b := range k.Batches {
		if b.N <= 0 {
			return false
		}
		sum += int64(b.N)
	}
	for _, r := range k.Own { // order-free: all are looked at
		if r.Count <= 0 || r.Taken < 0 {
			return false
		}
	}
	for _, r := range k.RM { // order-free: all are looked at
		if r.Count < 0 {
			return false
		}
	}
	for _, r := range k.Racks {
		if r.Quota < 0 || r.Extra < 0 {
			return false
		}
	}
	return sum == int64(k.outstanding()) && k.Running >= 0
}

func (j *journal) raw(n int) ([]byte, error) {
	switch {
	case n == 0:
		return nil, nil
	case n < 0 || n > len(j.Raws):
		return nil, fmt.Errorf("read an ask table: no encoded row %d: %w", n, ErrJournal)
	}
	return j.Raws[n-1], nil
}

func (l *lastCall) read(j *journal) error {
	l.known, l.ID, l.Print, l.Same = true, j.Last.ID, j.Last.Print, j.Last.Same
	for i := range j.Last.Rows {
		r := &j.Last.Rows[i]
		raw, err := j.raw(r.Raw)
		if err != nil {
			return err
		}
		l.Rows = append(l.Rows, Row{
			Key: Key{Priority: r.Priority, RequestID: r.RequestID}, Name: r.Name, Count: r.Count, Relax: r.Relax,
			Labelled: r.Labelled, Capability: r.Capability, Raw: raw, Verbatim: r.Verbatim,
		})
	}
	return nil
}
