package amrm

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/yarnproxy/amrm/wire"
)

const (
	journalFiles = 10_000             // attempts that are kept; of more, the oldest go
	journalAge   = 7 * 24 * time.Hour // a file that nobody wrote for longer goes, unless its attempt is known
	journalQueue = 256                // operations that wait for the disk; one more waits for room
	journalWait  = 250 * time.Millisecond
	journalPrune = time.Hour // from one look for old files to the next
	journalEnds  = ".asks"
	journalTemp  = ".tmp"
)

// journal keeps the ask table of each attempt in a file of its own, so that a
// relay that is started again knows what an application asked for and what the
// ResourceManager was sent instead. A file is replaced as a whole by renaming:
// after a kill at any point it is the old one or the new one.
//
// One goroutine touches the disk. Others wait for it no longer than journalWait,
// and once one has waited in vain, not at all until it is back: a disk that hangs
// costs the journal and not the applications. A nil journal keeps nothing.
type journal struct {
	dir   string
	ops   chan journalOp
	lost  *atomic.Int64
	log   hclog.Logger
	now   func() time.Time
	stuck atomic.Bool // somebody waited in vain since the last operation

	files  int             // in dir, about
	behind map[string]bool // whose last save failed: what is there, if anything, is of an earlier call
	pruned time.Time       // when old files were looked for
	failed bool            // the last write failed, and that was said
}

// journalOp is something to do with one file; the kinds are done in the order they come.
type journalOp struct {
	kind journalKind
	name string
	data []byte               // to save
	keep map[string]struct{}  // names that pruning leaves alone
	done chan<- journalResult // with room for the result; nil when nobody waits
}

type journalKind int

const (
	journalSave journalKind = iota
	journalLoad
	journalRemove
	journalTidy
	journalNote  // data is the number of the last call
	journalFlush // nothing: what came before is done
)

type journalResult struct {
	data []byte
	err  error
}

// errJournal says that a journal could not be used in time.
var errJournal = errors.New("the journal is not written in time; look at its disk")

func newJournal(o *Options, lost *atomic.Int64) *journal {
	if o.JournalDir == "" {
		return nil
	}
	return &journal{
		behind: map[string]bool{}, dir: o.JournalDir, ops: make(chan journalOp, journalQueue), lost: lost, log: o.Logger, now: o.Now,
	}
}

// run works until ctx ends, and finishes what was begun by then.
func (j *journal) run(ctx context.Context) {
	if j == nil {
		return
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		j.fail(fmt.Errorf("making the folder of the journal: %w", err))
	}
	j.prune(nil)
	for {
		select {
		case o := <-j.ops:
			j.do(o)
		case <-ctx.Done():
			for {
				select {
				case o := <-j.ops:
					j.do(o)
				default:
					return
				}
			}
		}
	}
}

func (j *journal) do(o journalOp) {
	var res journalResult
	switch o.kind {
	case journalSave:
		res.err = j.write(o.name, o.data)
		delete(j.behind, o.name)
		if res.err != nil {
			j.behind[o.name] = true
		}
	case journalNote:
		if !j.behind[o.name] {
			res.err = j.writeNote(o.name, o.data)
		}
	case journalLoad:
		res.data, res.err = os.ReadFile(j.path(o.name))
	case journalRemove:
		delete(j.behind, o.name)
		if err := os.Remove(j.path(o.name)); err == nil {
			j.files--
		}
	case journalTidy:
		if j.now().Sub(j.pruned) >= journalPrune {
			j.prune(o.keep)
		}
	case journalFlush:
	}
	j.stuck.Store(false)
	if res.err != nil && !errors.Is(res.err, fs.ErrNotExist) {
		j.fail(res.err)
	} else if o.kind == journalSave {
		j.failed = false
	}
	if o.done != nil {
		o.done <- res
	}
}

func (j *journal) path(name string) string { return filepath.Join(j.dir, name+journalEnds) }

func (j *journal) write(name string, data []byte) error {
	path := j.path(name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if j.files >= journalFiles {
			return fmt.Errorf("saving the asks of %s: %d files in %s already; remove those of applications that ended", name, j.files, j.dir)
		}
		j.files++
	}
	if err := os.WriteFile(path+journalTemp, data, 0o600); err != nil {
		return fmt.Errorf("saving the asks of %s: %w", name, err)
	}
	if err := os.Rename(path+journalTemp, path); err != nil {
		return fmt.Errorf("saving the asks of %s: %w", name, err)
	}
	return nil
}

// writeNote puts the number of a call into a file that is there.
func (j *journal) writeNote(name string, note []byte) error {
	f, err := os.OpenFile(j.path(name), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // pruned
	}
	if err == nil {
		_, err = f.WriteAt(note, int64(len(journalMagic)))
		err = cmp.Or(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("noting a call of %s: %w", name, err)
	}
	return nil
}

// prune removes what nobody will ask for: files that were begun and not
// finished, old ones, and the oldest of too many.
func (j *journal) prune(keep map[string]struct{}) {
	j.pruned = j.now()
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		j.fail(fmt.Errorf("looking for old files of the journal: %w", err))
		return
	}
	type file struct {
		name string
		at   time.Time
	}
	var idle []file
	j.files = 0
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), journalEnds)
		info, err := e.Info()
		switch _, kept := keep[name]; {
		case err != nil: // gone meanwhile
		case strings.HasSuffix(e.Name(), journalEnds+journalTemp):
			_ = os.Remove(filepath.Join(j.dir, e.Name())) // tried again next time
		case ours && !kept && j.now().Sub(info.ModTime()) > journalAge:
			_ = os.Remove(j.path(name)) // as above
		case ours:
			j.files++
			if !kept {
				idle = append(idle, file{name, info.ModTime()})
			}
		}
	}
	slices.SortFunc(idle, func(a, b file) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	for i := 0; i < len(idle) && j.files > journalFiles*9/10; i++ {
		if os.Remove(j.path(idle[i].name)) == nil {
			j.files--
		}
	}
}

// fail counts an error, and says it when the write before was none.
func (j *journal) fail(err error) {
	j.lost.Add(1)
	if !j.failed {
		j.log.Error("journal of the relay: going on without; a restart now would not know what was asked", "error", err)
	}
	j.failed = true
}

// submit hands something to the goroutine that writes. When that is too far
// behind for long, it is given up and counted.
func (j *journal) submit(o journalOp) bool {
	select {
	case j.ops <- o:
		return true
	default:
	}
	timer := time.NewTimer(j.patience())
	defer timer.Stop()
	select {
	case j.ops <- o:
		return true
	case <-timer.C:
		j.inVain()
		return false
	}
}

// patience is how long the disk is waited for.
func (j *journal) patience() time.Duration {
	if j.stuck.Load() {
		return 0
	}
	return journalWait
}

func (j *journal) inVain() {
	j.stuck.Store(true)
	j.lost.Add(1)
}

// save begins to write a file. What is returned is closed or sent to when that
// is done; nil means that nobody has to wait.
func (j *journal) save(name string, data []byte) <-chan journalResult {
	if j == nil {
		return nil
	}
	done := make(chan journalResult, 1)
	if !j.submit(journalOp{kind: journalSave, name: name, data: data, done: done}) {
		return nil
	}
	return done
}

// saved waits until a save is done, but not for long.
func (j *journal) saved(done <-chan journalResult) {
	if done == nil {
		return
	}
	timer := time.NewTimer(j.patience())
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		j.inVain()
	}
}

// load reads a file. Without one, the error is fs.ErrNotExist.
func (j *journal) load(name string) ([]byte, error) {
	if j == nil {
		return nil, fs.ErrNotExist
	}
	done := make(chan journalResult, 1)
	if !j.submit(journalOp{kind: journalLoad, name: name, done: done}) {
		return nil, errJournal
	}
	timer := time.NewTimer(j.patience())
	defer timer.Stop()
	select {
	case res := <-done:
		return res.data, res.err
	case <-timer.C:
		j.inVain()
		return nil, errJournal
	}
}

// note begins to write that a table is good as of a call too that changed nothing
// in it. It waits for nothing and leaves half of the room to tables, and reports
// whether there was any for it.
func (j *journal) note(name string, responseID int32) bool {
	if len(j.ops) >= journalQueue/2 {
		return false
	}
	select {
	case j.ops <- journalOp{kind: journalNote, name: name, data: noteOf(responseID)}:
		return true
	default:
		return false
	}
}

func (j *journal) remove(name string) {
	if j != nil {
		j.submit(journalOp{kind: journalRemove, name: name})
	}
}

// tidy removes old files of attempts that are not among those to keep.
func (j *journal) tidy(keep map[string]struct{}) {
	if j != nil {
		j.submit(journalOp{kind: journalTidy, keep: keep})
	}
}

// A file is journalMagic, the response id of the attempt's last call and its
// complement, the CRC-32C of what follows, the attempt's id as three numbers, and
// the table. The response id alone changes in place.
const (
	journalMagic  = "heddle asks 2\n"
	journalNoted  = 4 + 4
	journalHeader = len(journalMagic) + journalNoted + 4
	journalIDs    = 8 + 4 + 4
)

func noteOf(responseID int32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(responseID))  //nolint:gosec // bits
	return binary.BigEndian.AppendUint32(b, ^uint32(responseID)) //nolint:gosec // bits
}

// record is what a file says.
type record struct {
	attempt    wire.Attempt
	responseID int32 // of the last call
	table      []byte
}

func (r *record) encode() []byte {
	b := make([]byte, journalHeader, journalHeader+journalIDs+len(r.table))
	copy(b, journalMagic)
	copy(b[len(journalMagic):], noteOf(r.responseID))
	b = binary.BigEndian.AppendUint64(b, uint64(r.attempt.Cluster)) //nolint:gosec // bits
	b = binary.BigEndian.AppendUint32(b, uint32(r.attempt.App))     //nolint:gosec // bits
	b = binary.BigEndian.AppendUint32(b, uint32(r.attempt.Attempt)) //nolint:gosec // bits
	b = append(b, r.table...)
	binary.BigEndian.PutUint32(b[journalHeader-4:], crc32.Checksum(b[journalHeader:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// errTorn says that a file of the journal was not written to its end, or was changed.
var errTorn = errors.New("not a whole file of the journal")

func decodeRecord(b []byte) (record, error) {
	if len(b) < journalHeader+journalIDs || string(b[:len(journalMagic)]) != journalMagic {
		return record{}, errTorn
	}
	rest := b[journalHeader:]
	noted, again := binary.BigEndian.Uint32(b[len(journalMagic):]), binary.BigEndian.Uint32(b[len(journalMagic)+4:])
	if noted != ^again || crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[journalHeader-4:]) {
		return record{}, errTorn
	}
	return record{
		attempt: wire.Attempt{
			Cluster: int64(binary.BigEndian.Uint64(rest)),      //nolint:gosec // bits
			App:     int32(binary.BigEndian.Uint32(rest[8:])),  //nolint:gosec // bits
			Attempt: int32(binary.BigEndian.Uint32(rest[12:])), //nolint:gosec // bits
		},
		responseID: int32(noted), //nolint:gosec // bits
		table:      rest[journalIDs:],
	}, nil
}
