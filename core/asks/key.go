package asks

import (
	"maps"
	"strings"

	"heddle/core/model"
)

// key is the state of one scheduler key.
type key struct {
	Key
	keyState
	plan     plan     // as last looked at
	callRows callRows // of the call at hand
	ask      int32    // how many containers the call at hand asks for, of those outstanding
	recent   recent
}

// recent is what the application sent and was granted at a key since its attempt is Resyncing.
type recent struct {
	names   map[string]bool // of rows
	granted model.Time      // when one last was; 0 is never
}

// keyState is what is kept of a key.
type keyState struct {
	Own        map[string]ownRow
	RM         map[string]sentRow // at the ResourceManager
	Capability model.Resource
	Template   []byte // the application's last ANY row without a label
	anomalies
	Steered bool // the rows at the ResourceManager may be others than the application's
	Resend  bool // the next call has all rows again: the last one may have been ignored
	Running int  // containers
	Granted map[model.RackID]int
	Batches []batch
	Wait    wait
	// NoHeadroom says that the scheduler would give the application no container now.
	NoHeadroom bool
	Hold       hold
	Racks      []rackState
	Widened    bool
	Shown      shown
}

// anomalies are what is unusual about a key.
type anomalies struct {
	Mixed   bool // the application asks for containers of several sizes
	Large   bool // more rows than are kept: passed until the application drops the key
	Adopted bool // which rows are the application's own is still to be found out
	Rounded bool // Capability is as the ResourceManager rounded it
}

// ownRow is a row as the application last said it.
type ownRow struct {
	Count    int32
	Taken    int32 // granted since, as the ResourceManager counts rows down
	Relax    bool
	Labelled bool
}

func (r ownRow) left() int32 { return max(0, r.Count-r.Taken) }

// sentRow is a row at the ResourceManager. Its count may be lower than that of the
// ResourceManager, which does not report from which rows it took a container, nor
// whether that was before they were replaced: a row of 0 may still be there. The
// next ANY row of the application, with which all rows are sent, corrects it.
type sentRow struct {
	Count int32
	Relax bool
	call  uint32 // that last had the row, or wanted it
}

// callRows is what the call at hand has of a key.
type callRows struct {
	head, tail int32 // its rows, by the links of round.next; -1 is none
	anys       int   // ANY rows
	dropped    bool  // the last ANY row is 0
	rewritten  bool  // the application's rows do not go on
}

// shown is what people are told of a key.
type shown struct {
	Action   model.Action
	Cause    model.PassCause
	Stage    model.Stage
	Reason   model.Reason
	Since    model.Time
	Deadline model.Time
	Held     int32 // of the containers outstanding
}

func newKey(k Key) *key {
	return &key{
		Key: k, callRows: callRows{head: -1, tail: -1},
		keyState: keyState{Own: map[string]ownRow{}, RM: map[string]sentRow{}, Granted: map[model.RackID]int{}},
	}
}

// isRack tells rack names from hosts and ANY: only they start with a slash
// (org.apache.hadoop.net.NetworkTopology).
func isRack(name string) bool { return strings.HasPrefix(name, "/") }

func isHost(name string) bool { return name != model.AnyName && !isRack(name) }

// outstanding is how many containers the application still waits for.
func (k *key) outstanding() int32 { return k.Own[model.AnyName].left() }

// isLocal reports whether the application names hosts or racks.
func (k *key) isLocal() bool {
	for name, r := range k.Own { // order-free: all are looked at
		if name != model.AnyName && r.left() > 0 {
			return true
		}
	}
	return false
}

// isConstrained reports whether the application constrains the key itself.
func (k *key) isConstrained() bool {
	if k.Mixed || k.Large || k.callRows.anys > 1 {
		return true
	}
	for _, r := range k.Own { // order-free: all are looked at
		if !r.Relax || r.Labelled {
			return true
		}
	}
	return false
}

// isEmpty reports whether nothing would be lost with the key but counts of containers that ended.
func (k *key) isEmpty() bool {
	return len(k.Own) == 0 && len(k.RM) == 0 && k.Running == 0 && k.callRows.head < 0
}

// setAsk takes one row of the application.
func (k *key) setAsk(r *Row) {
	if r.Name == model.AnyName {
		k.setAny(r)
		return
	}
	if k.Large {
		return
	}
	if r.Count <= 0 {
		delete(k.Own, r.Name)
		return
	}
	k.checkSize(r)
	k.Own[r.Name] = ownRow{Count: r.Count, Relax: r.Relax, Labelled: r.Labelled}
}

// setAny takes an ANY row, which reflects every answer before it.
func (k *key) setAny(r *Row) {
	k.callRows.anys++
	k.callRows.dropped = r.Count <= 0
	if k.callRows.dropped {
		return
	}
	if _, had := k.Own[model.AnyName]; had && k.outstanding() == 0 && !k.Mixed {
		k.Capability = r.Capability // everything was granted: it may ask for something else now
	}
	k.checkSize(r)
	k.Rounded = false
	for name, own := range k.Own { // order-free: each is changed alone
		if own.Taken != 0 {
			own.Taken = 0
			k.Own[name] = own
		}
	}
	if !r.Labelled {
		k.Template = r.Raw
	}
	k.Own[model.AnyName] = ownRow{Count: r.Count, Relax: r.Relax, Labelled: r.Labelled}
}

// add records that the application sent a row during a resync.
func (n *recent) add(name string) {
	if n.names == nil {
		n.names = map[string]bool{}
	}
	n.names[name] = true
}

// checkSize watches that a key asks for containers of one size. What was adopted has
// the ResourceManager's rounded size until the application says its own.
func (k *key) checkSize(r *Row) {
	if len(k.Own) == 0 || k.Rounded {
		k.Capability = r.Capability
	}
	if r.Capability != k.Capability {
		k.Mixed = true
	}
}

// clearOwn takes an ANY row of 0: the key is dropped, and only what was granted is remembered.
func (k *key) clearOwn() {
	clear(k.Own)
	k.anomalies, k.Widened = anomalies{}, false
	k.Racks = k.Racks[:0]
}

// clearSent ends a key that the ResourceManager drops as well.
func (k *key) clearSent() {
	clear(k.RM)
	k.Steered, k.Resend = false, false
}

// adopt takes a row that the ResourceManager holds. What the application has not
// said meanwhile is its own, until it is found out which rows are not. The count
// may lack containers that were allocated already and are told of later.
func (k *key) adopt(p *model.AskRow) {
	said := k.recent.names[p.ResourceName]
	if said && p.RelaxLocality {
		if _, sent := k.RM[p.ResourceName]; !sent { // taken back in a call that the ResourceManager ignored, if it was a repetition
			k.RM[p.ResourceName] = sentRow{Count: narrow(p.Count), Relax: true}
		}
		return
	}
	k.RM[p.ResourceName] = sentRow{Count: narrow(p.Count), Relax: p.RelaxLocality}
	if !said {
		if len(k.Own) == 0 {
			k.Capability, k.Rounded = p.Capability, true
		}
		k.Own[p.ResourceName] = ownRow{Count: narrow(p.Count), Relax: true}
	}
	if !p.RelaxLocality {
		k.Steered, k.Resend, k.Adopted = true, true, true
	}
}

// dropRows keeps of a key with too many rows only how much is asked for.
func (k *key) dropRows() {
	maps.DeleteFunc(k.Own, func(name string, _ ownRow) bool { return name != model.AnyName })
	if !k.Steered && !k.Resend {
		clear(k.RM)
	}
}

// row makes a row of a key to be sent in place of the application's.
func (k *key) row(name string, count int32, relax bool) Row {
	return Row{Key: k.Key, Name: name, Count: count, Relax: relax, Capability: k.Capability, Raw: k.Template}
}

// strictAny is the ANY row that admits the named racks and hosts only.
func (k *key) strictAny() Row { return k.row(model.AnyName, k.outstanding(), false) }
